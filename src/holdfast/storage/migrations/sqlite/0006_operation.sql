-- Retention on demand.

-- The audit rows, and what allows it: what of a developer ended before this may be emptied, or what a row names as forgotten,
-- once it has ended; a handoff that was accepted before its end too, which is the recipient's.
create table prunings (
    workspace_id text not null,
    developer_id text not null,
    id text not null,
    before_at text not null,
    found text not null check (json_type(found) = 'object'),  -- how much there was to empty, by kind
    created_at text not null,
    primary key (workspace_id, developer_id, id),
    check (before_at <= created_at)
) strict;

create trigger prunings_are_not_updated before update on prunings
begin select raise(abort, 'prunings is append-only'); end;

create trigger prunings_are_not_deleted before delete on prunings
begin select raise(abort, 'prunings is append-only'); end;

create trigger prunings_are_not_replaced before insert on prunings
when exists (select 1 from prunings where rowid = new.rowid)
  or exists (select 1 from prunings
             where workspace_id = new.workspace_id and developer_id = new.developer_id and id = new.id)
begin select raise(abort, 'prunings is append-only'); end;

alter table session_contexts add column erased_at text;  -- when its words were emptied, after its end
alter table reservations add column erased_at text;
alter table handoffs add column erased_at text;

-- What is erased changes in one way only, which the second trigger of each table checks.
drop trigger session_contexts_keep_what_they_say;
create trigger session_contexts_keep_what_they_say before update on session_contexts
when new.erased_at is old.erased_at
  and ((new.rowid, new.workspace_id, new.id, new.developer_id, new.session_id, new.repo, new.branch, new.title, new.summary,
        new.files_touched, new.next_actions, new.blockers, new.task_ids, new.basis, new.published_at, new.expires_at)
       is not (old.rowid, old.workspace_id, old.id, old.developer_id, old.session_id, old.repo, old.branch, old.title,
               old.summary, old.files_touched, old.next_actions, old.blockers, old.task_ids, old.basis, old.published_at,
               old.expires_at)
       or (old.superseded_by is not null and new.superseded_by is not old.superseded_by)
       or (old.revoked_at is not null and new.revoked_at is not old.revoked_at))
begin select raise(abort, 'session_contexts keep what they say'); end;

create trigger session_contexts_are_only_erased before update on session_contexts
when new.erased_at is not old.erased_at and not (
    old.erased_at is null
    and (new.title, new.summary, new.files_touched, new.next_actions, new.blockers, new.task_ids)
      = ('', '', '[]', '[]', '[]', '[]')
    and new.basis is null
    and (new.rowid, new.workspace_id, new.id, new.developer_id, new.session_id, new.repo, new.branch, new.published_at,
         new.expires_at, new.superseded_by, new.revoked_at)
     is (old.rowid, old.workspace_id, old.id, old.developer_id, old.session_id, old.repo, old.branch, old.published_at,
         old.expires_at, old.superseded_by, old.revoked_at)
    and exists (select 1 from prunings p
                join (select min(old.expires_at, coalesce(old.revoked_at, old.expires_at),
                                 coalesce((select published_at from session_contexts
                                           where workspace_id = old.workspace_id and id = old.superseded_by),
                                          old.expires_at)) as at) ended
                where p.workspace_id = old.workspace_id and p.developer_id = old.developer_id
                  and (p.before_at > ended.at
                       or (json_extract(p.found, '$.forgotten') = old.id and p.created_at >= ended.at)))
)
begin select raise(abort, 'session_contexts keep what they say'); end;

drop trigger reservations_are_only_released;
create trigger reservations_are_only_released before update on reservations
when new.erased_at is old.erased_at
  and ((new.rowid, new.workspace_id, new.id, new.developer_id, new.session_id, new.repo, new.branch, new.paths, new.reason,
        new.reserved_at, new.expires_at)
       is not (old.rowid, old.workspace_id, old.id, old.developer_id, old.session_id, old.repo, old.branch, old.paths,
               old.reason, old.reserved_at, old.expires_at)
       or old.released_at is not null)
begin select raise(abort, 'reservations are only released'); end;

create trigger reservations_are_only_erased before update on reservations
when new.erased_at is not old.erased_at and not (
    old.erased_at is null and (new.paths, new.reason) = ('[]', '')
    and (new.rowid, new.workspace_id, new.id, new.developer_id, new.session_id, new.repo, new.branch, new.reserved_at,
         new.expires_at, new.released_at)
     is (old.rowid, old.workspace_id, old.id, old.developer_id, old.session_id, old.repo, old.branch, old.reserved_at,
         old.expires_at, old.released_at)
    and exists (select 1 from prunings p
                join (select min(old.expires_at, coalesce(old.released_at, old.expires_at)) as at) ended
                where p.workspace_id = old.workspace_id and p.developer_id = old.developer_id
                  and (p.before_at > ended.at
                       or (json_extract(p.found, '$.forgotten') = old.id and p.created_at >= ended.at)))
)
begin select raise(abort, 'reservations are only released'); end;

drop trigger handoffs_go_forward;
create trigger handoffs_go_forward before update on handoffs
when new.erased_at is old.erased_at
  and ((new.rowid, new.workspace_id, new.id, new.developer_id, new.claim_id, new.repo, new.branch, new.paths, new.reason,
        new.note, new.offered_at)
       is not (old.rowid, old.workspace_id, old.id, old.developer_id, old.claim_id, old.repo, old.branch, old.paths,
               old.reason, old.note, old.offered_at)
       or (old.to_developer_id is not null and new.to_developer_id is not old.to_developer_id)
       or (new.taken_claim_id is not old.taken_claim_id and new.status || ' < ' || old.status != 'accepted < offered')
       or old.status || ' > ' || new.status
          not in ('offered > cancelled', 'offered > accepted', 'offered > declined', 'accepted > completed'))
begin select raise(abort, 'handoffs go forward only'); end;

create trigger handoffs_are_only_erased before update on handoffs
when new.erased_at is not old.erased_at and not (
    old.erased_at is null and (new.paths, new.reason, new.note) = ('[]', '', '')
    and (new.rowid, new.workspace_id, new.id, new.developer_id, new.to_developer_id, new.claim_id, new.repo, new.branch,
         new.status, new.offered_at, new.expires_at, new.answered_at, new.completed_at, new.taken_claim_id)
     is (old.rowid, old.workspace_id, old.id, old.developer_id, old.to_developer_id, old.claim_id, old.repo, old.branch,
         old.status, old.offered_at, old.expires_at, old.answered_at, old.completed_at, old.taken_claim_id)
    and exists (select 1 from prunings p
                join (select min(old.expires_at, coalesce(old.completed_at, old.expires_at),
                                 iif(old.status in ('declined', 'cancelled'),
                                     coalesce(old.answered_at, old.expires_at), old.expires_at)) as at) ended
                where p.workspace_id = old.workspace_id and p.developer_id = old.developer_id
                  and (p.before_at > ended.at
                       or (json_extract(p.found, '$.forgotten') in (old.id, old.claim_id)
                           and (p.created_at >= ended.at or old.status = 'accepted'))))
)
begin select raise(abort, 'handoffs go forward only'); end;

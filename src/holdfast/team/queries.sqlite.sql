-- find_me
-- The developer who asks; no row before the first call that writes.
select developer_id, handle, name, visibility, seen_at, false as is_live, null as repo, null as branch
from developers
where workspace_id = ?1 and developer_id = ?2;

-- enter
-- The developer who asks, made known at the first call; an existing one is returned as it is.
insert into developers (workspace_id, developer_id, handle, name, visibility, created_at, seen_at)
select ?1, ?2, ?3, ?3, ?4, now_utc(), now_utc()
where not exists (select 1 from developers where workspace_id = ?1 and developer_id = ?2);
select developer_id, handle, name, visibility, seen_at, false as is_live, null as repo, null as branch
from developers
where workspace_id = ?1 and developer_id = ?2;

-- set_visibility
-- Who may see this developer from now on. The change itself is an event for this developer alone.
update developers set visibility = ?3, seen_at = now_utc() where workspace_id = ?1 and developer_id = ?2;
insert into work_events (workspace_id, stream, id, developer_id, type, subject, repo, branch, created_at)
select ?1, ?2, (select max(coalesce(max(id), 0) + 1, now_microseconds()) from work_events where workspace_id = ?1 and stream = ?2), ?2,
       'developer.visibility_changed', ?2, null, null, now_utc()
where changes() = 1;
select developer_id, handle, name, visibility, seen_at, false as is_live, null as repo, null as branch
from developers
where workspace_id = ?1 and developer_id = ?2;

-- note_usage
-- A call and how it ended; the developer was seen now, to the minute.
insert into usage_events (workspace_id, developer_id, id, operation, outcome, created_at)
select ?1, ?2, ?3, ?4, ?5, now_utc()
where not exists (select 1 from usage_events where workspace_id = ?1 and developer_id = ?2 and id = ?3);
update developers set seen_at = now_utc()
where workspace_id = ?1 and developer_id = ?2 and seen_at < minutes_after(now_utc(), -1);
select ?3 as id;

-- find_developer
-- A developer whom the caller may see, by id or by handle. A private one is not found, as one who does not exist.
select d.developer_id, d.handle, d.name, d.visibility, d.seen_at, false as is_live, null as repo, null as branch
from developers d
where d.workspace_id = ?1 and d.developer_id = ?3 and (d.developer_id = ?2 or d.visibility = 'public');
select d.developer_id, d.handle, d.name, d.visibility, d.seen_at, false as is_live, null as repo, null as branch
from developers d
where d.workspace_id = ?1 and d.handle = ?3 and (d.developer_id = ?2 or d.visibility = 'public')
limit 1;

-- list_developers
-- The developers whom the caller may see, last seen first, each with the branch of its newest live session.
select d.developer_id, d.handle, d.name, d.visibility, max(d.seen_at, coalesce(p.seen_at, '')) as seen_at,
       p.session_id is not null as is_live, p.repo, p.branch
from developers d indexed by developers_by_activity
left join presence p on p.workspace_id = ?1 and p.developer_id = d.developer_id
  and p.session_id = (select x.session_id from presence x indexed by presence_by_time
                      where x.workspace_id = ?1 and x.developer_id = d.developer_id and x.ended_at is null
                        and x.seen_at > minutes_after(now_utc(), -10)
                      order by x.seen_at desc limit 1)
where d.workspace_id = ?1 and d.seen_at > '' and (d.developer_id = ?2 or d.visibility = 'public')
order by d.seen_at desc
limit ?3;

-- publish_context
-- A new published context, which supersedes the active one of the same developer, repo and branch in the same
-- transaction. Published again with the same id, the stored one is returned.
update session_contexts set superseded_by = ?3
where workspace_id = ?1 and developer_id = ?2 and repo = coalesce(?5, '') and branch = coalesce(?6, '')
  and superseded_by is null and revoked_at is null
  and not exists (select 1 from session_contexts where workspace_id = ?1 and id = ?3);
insert into session_contexts (workspace_id, developer_id, id, session_id, repo, branch, title, summary, files_touched,
                              next_actions, blockers, task_ids, basis, published_at, expires_at)
select ?1, ?2, ?3, ?4, coalesce(?5, ''), coalesce(?6, ''), ?7, ?8, ?9, ?10, ?11, ?12, ?13, now_utc(),
       minutes_after(now_utc(), 60 * ?14)
where not exists (select 1 from session_contexts where workspace_id = ?1 and id = ?3);
insert into work_events (workspace_id, stream, id, developer_id, type, subject, repo, branch, created_at)
select ?1, s.stream, (select max(coalesce(max(w.id), 0) + 1, now_microseconds()) from work_events w
                      where w.workspace_id = ?1 and w.stream = s.stream),
       ?2, 'session.context_published', ?3, ?5, ?6, now_utc()
from (select case visibility when 'public' then '' else developer_id end as stream from developers
      where workspace_id = ?1 and developer_id = ?2) s
where changes() = 1;
select c.id, c.developer_id, d.handle, d.name, c.title, c.summary, c.files_touched, c.next_actions, c.blockers, c.task_ids,
       nullif(c.repo, '') as repo, nullif(c.branch, '') as branch, c.session_id, c.basis, c.published_at, c.expires_at, c.superseded_by, c.revoked_at
from session_contexts c
join developers d on d.workspace_id = ?1 and d.developer_id = c.developer_id
where c.workspace_id = ?1 and c.developer_id = ?2 and c.id = ?3;

-- find_own_context
-- One's own, active or not.
select c.id, c.developer_id, d.handle, d.name, c.title, c.summary, c.files_touched, c.next_actions, c.blockers, c.task_ids,
       nullif(c.repo, '') as repo, nullif(c.branch, '') as branch, c.session_id, c.basis, c.published_at, c.expires_at, c.superseded_by, c.revoked_at
from session_contexts c
join developers d on d.workspace_id = ?1 and d.developer_id = c.developer_id
where c.workspace_id = ?1 and c.developer_id = ?2 and c.id = ?3;

-- list_own_contexts
-- One's own, newest first, before a given one: active, expired, superseded and revoked.
select c.id, c.developer_id, d.handle, d.name, c.title, c.summary, c.files_touched, c.next_actions, c.blockers, c.task_ids,
       nullif(c.repo, '') as repo, nullif(c.branch, '') as branch, c.session_id, c.basis, c.published_at, c.expires_at, c.superseded_by, c.revoked_at
from session_contexts c indexed by session_contexts_by_time
join developers d on d.workspace_id = ?1 and d.developer_id = c.developer_id
where c.workspace_id = ?1 and c.developer_id = ?2 and c.published_at > ''
  and (?3 is null or (c.published_at, c.id) < (select x.published_at, x.id from session_contexts x
                                              where x.workspace_id = ?1 and x.developer_id = ?2 and x.id = ?3))
order by c.published_at desc, c.id desc
limit ?4;

-- list_publishers
-- Who has active contexts of which repository, of those that the caller may see.
select distinct c.developer_id, nullif(c.repo, '') as repo
from session_contexts c indexed by session_contexts_by_end
join developers d on d.workspace_id = ?1 and d.developer_id = c.developer_id
  and (d.developer_id = ?2 or d.visibility = 'public')
where c.workspace_id = ?1 and c.superseded_by is null and c.revoked_at is null and c.expires_at > now_utc();

-- list_active_contexts
-- Every active context that the caller may see, newest first; of all repositories, or of those with certain names.
select c.id, c.developer_id, d.handle, d.name, c.title, c.summary, c.files_touched, c.next_actions, c.blockers, c.task_ids,
       nullif(c.repo, '') as repo, nullif(c.branch, '') as branch, c.session_id, c.basis, c.published_at, c.expires_at, c.superseded_by, c.revoked_at
from session_contexts c indexed by session_contexts_by_end
join developers d on d.workspace_id = ?1 and d.developer_id = c.developer_id
  and (d.developer_id = ?2 or d.visibility = 'public')
where c.workspace_id = ?1 and c.superseded_by is null and c.revoked_at is null and c.expires_at > now_utc()
  and (?3 is null or c.repo in (select value from json_each(?3)))
order by c.published_at desc, c.id desc
limit ?4;

-- list_contexts_of
-- The active contexts of one developer, newest first; nothing of one whom the caller may not see.
select c.id, c.developer_id, d.handle, d.name, c.title, c.summary, c.files_touched, c.next_actions, c.blockers, c.task_ids,
       nullif(c.repo, '') as repo, nullif(c.branch, '') as branch, c.session_id, c.basis, c.published_at, c.expires_at, c.superseded_by, c.revoked_at
from session_contexts c indexed by session_contexts_by_owner
join developers d on d.workspace_id = ?1 and d.developer_id = c.developer_id
  and (d.developer_id = ?2 or d.visibility = 'public')
where c.workspace_id = ?1 and c.developer_id = ?3 and c.superseded_by is null and c.revoked_at is null
  and c.expires_at > now_utc()
order by c.published_at desc, c.id desc
limit ?4;

-- list_contexts_below
-- The next page of the active contexts that the caller may see, of everyone or of one developer: older than a place.
select c.id, c.developer_id, d.handle, d.name, c.title, c.summary, c.files_touched, c.next_actions, c.blockers, c.task_ids,
       nullif(c.repo, '') as repo, nullif(c.branch, '') as branch, c.session_id, c.basis, c.published_at, c.expires_at, c.superseded_by, c.revoked_at
from session_contexts c indexed by session_contexts_by_end
join developers d on d.workspace_id = ?1 and d.developer_id = c.developer_id
  and (d.developer_id = ?2 or d.visibility = 'public')
where c.workspace_id = ?1 and c.superseded_by is null and c.revoked_at is null and c.expires_at > now_utc()
  and (?3 is null or c.developer_id = ?3) and (c.published_at, c.id) < (?4, ?5)
order by c.published_at desc, c.id desc
limit ?6;

-- revoke_context
-- Withdraws one's own context; no row where it is missing or another's. Revoked again, it stays as it is.
update session_contexts set revoked_at = now_utc()
where workspace_id = ?1 and developer_id = ?2 and id = ?3 and revoked_at is null;
insert into work_events (workspace_id, stream, id, developer_id, type, subject, repo, branch, created_at)
select ?1, s.stream, (select max(coalesce(max(w.id), 0) + 1, now_microseconds()) from work_events w
                      where w.workspace_id = ?1 and w.stream = s.stream),
       ?2, 'session.context_revoked', ?3, nullif(c.repo, ''), nullif(c.branch, ''), now_utc()
from (select case visibility when 'public' then '' else developer_id end as stream from developers
      where workspace_id = ?1 and developer_id = ?2) s
join session_contexts c on c.workspace_id = ?1 and c.id = ?3
where changes() = 1;
select c.id, c.developer_id, d.handle, d.name, c.title, c.summary, c.files_touched, c.next_actions, c.blockers, c.task_ids,
       nullif(c.repo, '') as repo, nullif(c.branch, '') as branch, c.session_id, c.basis, c.published_at, c.expires_at, c.superseded_by, c.revoked_at
from session_contexts c
join developers d on d.workspace_id = ?1 and d.developer_id = c.developer_id
where c.workspace_id = ?1 and c.developer_id = ?2 and c.id = ?3;

-- reserve
-- A new reservation; with the same id again the stored one is returned.
insert into reservations (workspace_id, developer_id, id, session_id, repo, branch, paths, reason, reserved_at, expires_at)
select ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, now_utc(), minutes_after(now_utc(), ?9)
where not exists (select 1 from reservations where workspace_id = ?1 and id = ?3);
insert into work_events (workspace_id, stream, id, developer_id, type, subject, repo, branch, created_at)
select ?1, s.stream, (select max(coalesce(max(w.id), 0) + 1, now_microseconds()) from work_events w
                      where w.workspace_id = ?1 and w.stream = s.stream),
       ?2, 'coordination.claimed', ?3, ?5, ?6, now_utc()
from (select case visibility when 'public' then '' else developer_id end as stream from developers
      where workspace_id = ?1 and developer_id = ?2) s
where changes() = 1;
select r.id, r.developer_id, d.handle, d.name, r.repo, r.branch, r.paths, r.reason, r.session_id, r.reserved_at,
       r.expires_at, r.released_at, false as is_soft
from reservations r
join developers d on d.workspace_id = ?1 and d.developer_id = r.developer_id
where r.workspace_id = ?1 and r.developer_id = ?2 and r.id = ?3;

-- find_own_reservation
-- One's own, active or not.
select r.id, r.developer_id, d.handle, d.name, r.repo, r.branch, r.paths, r.reason, r.session_id, r.reserved_at,
       r.expires_at, r.released_at, false as is_soft
from reservations r
join developers d on d.workspace_id = ?1 and d.developer_id = r.developer_id
where r.workspace_id = ?1 and r.developer_id = ?2 and r.id = ?3;

-- list_reserved_repos
-- Of which repositories anything is reserved or not committed now, as far as the caller may see it; empty for none.
select distinct coalesce(r.repo, '') as repo
from (
    select developer_id, repo
    from reservations indexed by reservations_by_end
    where workspace_id = ?1 and released_at is null and expires_at > now_utc()
    union all
    select developer_id, repo
    from presence indexed by presence_by_time
    where workspace_id = ?1 and ended_at is null and seen_at > minutes_after(now_utc(), -10) and paths <> '[]'
) r
join developers d on d.workspace_id = ?1 and d.developer_id = r.developer_id
  and (d.developer_id = ?2 or d.visibility = 'public');

-- list_reservations
-- The active reservations that the caller may see, and what live sessions have not committed, newest first: of everyone or
-- of one developer, of all repositories or of those with certain names.
select r.id, r.developer_id, d.handle, d.name, r.repo, r.branch, r.paths, r.reason, r.session_id, r.reserved_at,
       r.expires_at, r.released_at, r.is_soft
from (
    select id, developer_id, repo, branch, paths, reason, session_id, reserved_at, expires_at, released_at, false as is_soft
    from reservations indexed by reservations_by_end
    where workspace_id = ?1 and released_at is null and expires_at > now_utc()
    union all
    select session_id, developer_id, repo, branch, paths, '', session_id, seen_at, minutes_after(seen_at, 10), null, true
    from presence indexed by presence_by_time
    where workspace_id = ?1 and ended_at is null and seen_at > minutes_after(now_utc(), -10) and paths <> '[]'
) r
join developers d on d.workspace_id = ?1 and d.developer_id = r.developer_id
  and (d.developer_id = ?2 or d.visibility = 'public')
where (?3 is null or r.developer_id = ?3) and (?4 is null or coalesce(r.repo, '') in (select value from json_each(?4)))
order by r.reserved_at desc, r.id desc
limit ?5;

-- list_reservations_below
-- The next page of the same: older than a place, or a session's where a reservation is the place.
select r.id, r.developer_id, d.handle, d.name, r.repo, r.branch, r.paths, r.reason, r.session_id, r.reserved_at,
       r.expires_at, r.released_at, r.is_soft
from (
    select id, developer_id, repo, branch, paths, reason, session_id, reserved_at, expires_at, released_at, false as is_soft
    from reservations indexed by reservations_by_end
    where workspace_id = ?1 and released_at is null and expires_at > now_utc()
    union all
    select session_id, developer_id, repo, branch, paths, '', session_id, seen_at, minutes_after(seen_at, 10), null, true
    from presence indexed by presence_by_time
    where workspace_id = ?1 and ended_at is null and seen_at > minutes_after(now_utc(), -10) and paths <> '[]'
) r
join developers d on d.workspace_id = ?1 and d.developer_id = r.developer_id
  and (d.developer_id = ?2 or d.visibility = 'public')
where r.is_soft > ?3 or (r.is_soft = ?3 and (r.reserved_at, r.id) < (?4, ?5))
order by r.is_soft, r.reserved_at desc, r.id desc
limit ?6;

-- release
-- Ends one's own reservation, and the offers of it that are open; no row where it is missing or another's. Released again,
-- it stays as it is. An offer that is hidden, because its recipient became private, ends without an event.
update reservations set released_at = now_utc()
where workspace_id = ?1 and developer_id = ?2 and id = ?3 and released_at is null;
insert into work_events (workspace_id, stream, id, developer_id, type, subject, repo, branch, created_at)
select ?1, s.stream, (select max(coalesce(max(w.id), 0) + 1, now_microseconds()) from work_events w
                      where w.workspace_id = ?1 and w.stream = s.stream),
       ?2, 'coordination.released', ?3, r.repo, r.branch, now_utc()
from (select case visibility when 'public' then '' else developer_id end as stream from developers
      where workspace_id = ?1 and developer_id = ?2) s
join reservations r on r.workspace_id = ?1 and r.id = ?3
where changes() = 1;
insert into work_events (workspace_id, stream, id, developer_id, type, subject, repo, branch, partner_id, created_at)
select ?1, s.stream,
       (select max(coalesce(max(w.id), 0), now_microseconds()) from work_events w
        where w.workspace_id = ?1 and w.stream = s.stream)
           + row_number() over (),
       ?2, 'coordination.handoff_cancelled', h.id, h.repo, h.branch, h.to_developer_id, now_utc()
from handoffs h indexed by handoffs_by_claim
join (select case visibility when 'public' then '' else developer_id end as stream from developers
      where workspace_id = ?1 and developer_id = ?2) s
where h.workspace_id = ?1 and h.claim_id = ?3 and h.developer_id = ?2 and h.status in ('offered', 'accepted')
  and h.status = 'offered' and h.expires_at > now_utc()
  and (h.to_developer_id is null
       or exists (select 1 from developers t
                  where t.workspace_id = ?1 and t.developer_id = h.to_developer_id and t.visibility = 'public'));
update handoffs as h indexed by handoffs_by_claim set status = 'cancelled', answered_at = now_utc()
where h.workspace_id = ?1 and h.claim_id = ?3 and h.developer_id = ?2 and h.status in ('offered', 'accepted')
  and h.status = 'offered' and h.expires_at > now_utc();
select r.id, r.developer_id, d.handle, d.name, r.repo, r.branch, r.paths, r.reason, r.session_id, r.reserved_at,
       r.expires_at, r.released_at, false as is_soft
from reservations r
join developers d on d.workspace_id = ?1 and d.developer_id = r.developer_id
where r.workspace_id = ?1 and r.developer_id = ?2 and r.id = ?3;

-- show_presence
-- A session is live here now, with these paths not committed. Where it begins, those of its developer that have faded end.
update presence set client = ?4, repo = ?5, branch = ?6, paths = ?7, seen_at = now_utc(), ended_at = null
where workspace_id = ?1 and developer_id = ?2 and session_id = ?3
returning session_id;
update presence indexed by presence_by_time set ended_at = now_utc(), paths = '[]', branch = null
where workspace_id = ?1 and developer_id = ?2 and ended_at is null and seen_at <= minutes_after(now_utc(), -10);
insert into presence (workspace_id, developer_id, session_id, client, repo, branch, paths, began_at, seen_at)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, now_utc(), now_utc())
returning session_id;

-- find_presence
-- One's own session that was shown and has not ended.
select session_id
from presence
where workspace_id = ?1 and developer_id = ?2 and session_id = ?3 and ended_at is null;

-- end_presence
-- A session is not live any more, and what it reserved is released. What has ended keeps no path and no branch.
insert into work_events (workspace_id, stream, id, developer_id, type, subject, repo, branch, created_at)
select ?1, s.stream,
       (select max(coalesce(max(w.id), 0), now_microseconds()) from work_events w
        where w.workspace_id = ?1 and w.stream = s.stream)
           + row_number() over (order by r.id),
       ?2, 'coordination.released', r.id, r.repo, r.branch, now_utc()
from reservations r
join (select case visibility when 'public' then '' else developer_id end as stream from developers
      where workspace_id = ?1 and developer_id = ?2) s
where r.workspace_id = ?1 and r.developer_id = ?2 and r.session_id = ?3 and r.released_at is null
  and r.session_id is not null;
update reservations set released_at = now_utc()
where workspace_id = ?1 and developer_id = ?2 and session_id = ?3 and released_at is null and session_id is not null;
update presence set ended_at = now_utc(), paths = '[]', branch = null
where workspace_id = ?1 and developer_id = ?2 and session_id = ?3 and ended_at is null;
select ?3 as session_id;

-- leave
-- No session of this developer is shown any more; what they reserved stays until it ends.
update presence indexed by presence_by_time set ended_at = now_utc(), paths = '[]', branch = null
where workspace_id = ?1 and developer_id = ?2 and ended_at is null and seen_at > minutes_after(now_utc(), -10)
returning session_id;

-- offer_handoff
-- Offers an active reservation of one's own to a developer, or to all; no row where there is nothing to offer. A private
-- developer offers nothing, and to a private one nothing is offered: an offer to one who became private is none, and ends
-- without an event when there is another.
insert into handoffs (workspace_id, developer_id, id, to_developer_id, claim_id, repo, branch, paths, reason, note, status,
                      offered_at, expires_at)
select ?1, ?2, ?3, ?5, r.id, r.repo, r.branch, r.paths, r.reason, ?6, 'offered', now_utc(), minutes_after(now_utc(), 1440)
from reservations r
join developers g on g.workspace_id = ?1 and g.developer_id = ?2 and g.visibility = 'public'
where r.workspace_id = ?1 and r.developer_id = ?2 and r.id = ?4 and r.released_at is null and r.expires_at > now_utc()
  and (?5 is null or exists (select 1 from developers t
                             where t.workspace_id = ?1 and t.developer_id = ?5 and t.visibility = 'public'))
  and not exists (select 1 from handoffs h indexed by handoffs_by_claim
                  where h.workspace_id = ?1 and h.claim_id = r.id and h.status in ('offered', 'accepted')
                    and h.expires_at > now_utc()
                    and (h.to_developer_id is null
                         or exists (select 1 from developers t where t.workspace_id = ?1 and t.developer_id = h.to_developer_id
                                    and t.visibility = 'public')))
  and not exists (select 1 from handoffs h where h.workspace_id = ?1 and h.id = ?3);
insert into work_events (workspace_id, stream, id, developer_id, type, subject, repo, branch, partner_id, created_at)
select ?1, '', (select max(coalesce(max(w.id), 0) + 1, now_microseconds()) from work_events w
                where w.workspace_id = ?1 and w.stream = ''),
       ?2, 'coordination.handoff_offered', ?3, h.repo, h.branch, h.to_developer_id, now_utc()
from handoffs h
where h.workspace_id = ?1 and h.id = ?3 and changes() = 1;
update handoffs as h indexed by handoffs_by_claim set status = 'cancelled', answered_at = now_utc()
where h.workspace_id = ?1 and h.claim_id = ?4 and h.developer_id = ?2 and h.status in ('offered', 'accepted')
  and h.status = 'offered' and h.expires_at > now_utc() and h.id <> ?3
  and exists (select 1 from handoffs n where n.workspace_id = ?1 and n.id = ?3 and n.offered_at = now_utc());
select id from handoffs where workspace_id = ?1 and developer_id = ?2 and id = ?3;

-- answer_handoff
-- The recipient accepts or declines; no row where it is not open for this developer. Who accepts has the reservation from
-- then on, under the id ?5, without the giver's words. A claim is taken over once; what is offered to all, nobody declines.
update handoffs
set status = ?4, to_developer_id = ?2, answered_at = now_utc(), taken_claim_id = case ?4 when 'accepted' then ?5 end,
    expires_at = case ?4 when 'accepted' then minutes_after(now_utc(), 10080) else expires_at end
where workspace_id = ?1 and id = ?3 and status = 'offered' and expires_at > now_utc() and developer_id <> ?2
  and (to_developer_id = ?2 or (to_developer_id is null and ?4 = 'accepted'))
  and exists (select 1 from developers d
              where d.workspace_id = ?1 and d.developer_id = handoffs.developer_id and d.visibility = 'public')
  and exists (select 1 from developers d
              where d.workspace_id = ?1 and d.developer_id = ?2 and d.visibility = 'public')
  and not (?4 = 'accepted'
           and exists (select 1 from handoffs x
                       where x.workspace_id = ?1 and x.claim_id = handoffs.claim_id and x.status in ('accepted', 'completed')));
insert into reservations (workspace_id, developer_id, id, session_id, repo, branch, paths, reason, reserved_at, expires_at)
select ?1, ?2, ?5, ?6, h.repo, h.branch, h.paths, '', now_utc(), minutes_after(now_utc(), 60)
from handoffs h
where h.workspace_id = ?1 and h.id = ?3 and h.to_developer_id = ?2 and h.status = 'accepted' and ?4 = 'accepted'
  and h.answered_at = now_utc()
  and not exists (select 1 from reservations where workspace_id = ?1 and id = ?5);
update reservations set released_at = now_utc()
where workspace_id = ?1 and released_at is null
  and id = (select h.claim_id from handoffs h
            where h.workspace_id = ?1 and h.id = ?3 and h.to_developer_id = ?2 and h.status = 'accepted'
              and ?4 = 'accepted' and h.answered_at = now_utc());
insert into work_events (workspace_id, stream, id, developer_id, type, subject, repo, branch, partner_id, created_at)
select ?1, '', (select max(coalesce(max(w.id), 0) + 1, now_microseconds()) from work_events w
                where w.workspace_id = ?1 and w.stream = ''),
       ?2, 'coordination.handoff_' || ?4, ?3, h.repo, h.branch, h.developer_id, now_utc()
from handoffs h
where h.workspace_id = ?1 and h.id = ?3 and h.to_developer_id = ?2 and h.status = ?4 and h.answered_at = now_utc();
select id from handoffs
where workspace_id = ?1 and id = ?3 and to_developer_id = ?2 and status = ?4 and answered_at = now_utc();

-- complete_handoff
-- Who accepted has done it, and holds its reservation no longer; no row where there is nothing to complete.
update handoffs set status = 'completed', completed_at = now_utc()
where workspace_id = ?1 and id = ?3 and to_developer_id = ?2 and status = 'accepted';
update reservations set released_at = now_utc()
where workspace_id = ?1 and developer_id = ?2 and released_at is null
  and id = (select h.taken_claim_id from handoffs h
            where h.workspace_id = ?1 and h.id = ?3 and h.to_developer_id = ?2 and h.status = 'completed'
              and h.completed_at = now_utc());
insert into work_events (workspace_id, stream, id, developer_id, type, subject, repo, branch, created_at)
select ?1, s.stream, (select max(coalesce(max(w.id), 0) + 1, now_microseconds()) from work_events w
                      where w.workspace_id = ?1 and w.stream = s.stream),
       ?2, 'coordination.released', h.taken_claim_id, h.repo, h.branch, now_utc()
from (select case visibility when 'public' then '' else developer_id end as stream from developers
      where workspace_id = ?1 and developer_id = ?2) s
join handoffs h on h.workspace_id = ?1 and h.id = ?3
where changes() = 1;
insert into work_events (workspace_id, stream, id, developer_id, type, subject, repo, branch, partner_id, created_at)
select ?1, s.stream,
       (select max(coalesce(max(w.id), 0), now_microseconds()) from work_events w
        where w.workspace_id = ?1 and w.stream = s.stream)
           + row_number() over (),
       ?2, 'coordination.handoff_cancelled', h.id, h.repo, h.branch, h.to_developer_id, now_utc()
from handoffs h indexed by handoffs_by_claim
join (select case visibility when 'public' then '' else developer_id end as stream from developers
      where workspace_id = ?1 and developer_id = ?2) s
where h.workspace_id = ?1 and h.claim_id = (select d.taken_claim_id from handoffs d
                  where d.workspace_id = ?1 and d.id = ?3 and d.to_developer_id = ?2 and d.completed_at = now_utc()) and h.developer_id = ?2 and h.status in ('offered', 'accepted')
  and h.status = 'offered' and h.expires_at > now_utc()
  and (h.to_developer_id is null
       or exists (select 1 from developers t
                  where t.workspace_id = ?1 and t.developer_id = h.to_developer_id and t.visibility = 'public'));
update handoffs as h indexed by handoffs_by_claim set status = 'cancelled', answered_at = now_utc()
where h.workspace_id = ?1 and h.claim_id = (select d.taken_claim_id from handoffs d
                  where d.workspace_id = ?1 and d.id = ?3 and d.to_developer_id = ?2 and d.completed_at = now_utc()) and h.developer_id = ?2 and h.status in ('offered', 'accepted')
  and h.status = 'offered' and h.expires_at > now_utc();
insert into work_events (workspace_id, stream, id, developer_id, type, subject, repo, branch, partner_id, created_at)
select ?1, s.stream, (select max(coalesce(max(w.id), 0) + 1, now_microseconds()) from work_events w
                      where w.workspace_id = ?1 and w.stream = s.stream),
       ?2, 'coordination.handoff_completed', ?3, h.repo, h.branch, h.developer_id, now_utc()
from (select case visibility when 'public' then '' else developer_id end as stream from developers
      where workspace_id = ?1 and developer_id = ?2) s
join handoffs h on h.workspace_id = ?1 and h.id = ?3 and h.to_developer_id = ?2 and h.completed_at = now_utc();
select id from handoffs
where workspace_id = ?1 and id = ?3 and to_developer_id = ?2 and status = 'completed' and completed_at = now_utc();

-- cancel_handoff
-- The giver withdraws an offer that is still open; no row where there is none.
update handoffs set status = 'cancelled', answered_at = now_utc()
where workspace_id = ?1 and id = ?3 and developer_id = ?2 and status = 'offered'
  and (to_developer_id is null
       or exists (select 1 from developers t
                  where t.workspace_id = ?1 and t.developer_id = to_developer_id and t.visibility = 'public'));
insert into work_events (workspace_id, stream, id, developer_id, type, subject, repo, branch, partner_id, created_at)
select ?1, s.stream, (select max(coalesce(max(w.id), 0) + 1, now_microseconds()) from work_events w
                      where w.workspace_id = ?1 and w.stream = s.stream),
       ?2, 'coordination.handoff_cancelled', ?3, h.repo, h.branch, h.to_developer_id, now_utc()
from (select case visibility when 'public' then '' else developer_id end as stream from developers
      where workspace_id = ?1 and developer_id = ?2) s
join handoffs h on h.workspace_id = ?1 and h.id = ?3
where changes() = 1;
select id from handoffs
where workspace_id = ?1 and id = ?3 and developer_id = ?2 and status = 'cancelled' and answered_at = now_utc();

-- find_handoff
-- One handoff that concerns the caller, with its giver's active context as it is now: that of the same repo and branch
-- first, then of the same repo, then the newest.
select h.id, h.developer_id, g.handle, g.name, h.to_developer_id, t.handle as to_handle, t.name as to_name, h.claim_id,
       h.repo, h.branch, h.paths, h.reason, h.note,
       case when h.status = 'offered' and h.expires_at <= now_utc() then 'expired' else h.status end as status,
       c.id as context_id, c.title as context_title, c.summary as context_summary, h.offered_at, h.expires_at,
       h.answered_at, h.completed_at, h.taken_claim_id
from handoffs h
join developers g on g.workspace_id = ?1 and g.developer_id = h.developer_id
  and (g.developer_id = ?2 or g.visibility = 'public')
left join developers t on t.workspace_id = ?1 and t.developer_id = h.to_developer_id
left join session_contexts c on c.workspace_id = ?1 and h.status in ('offered', 'accepted')
  and c.id = (select x.id from session_contexts x indexed by session_contexts_by_owner
              where x.workspace_id = ?1 and x.developer_id = h.developer_id and x.superseded_by is null
                and x.revoked_at is null and x.expires_at > now_utc()
              order by x.repo = coalesce(h.repo, '') and x.branch = coalesce(h.branch, '') desc, x.repo = coalesce(h.repo, '') desc,
                       x.published_at desc, x.id desc
              limit 1)
where h.workspace_id = ?1 and h.id = ?3
  and (h.developer_id = ?2 or h.to_developer_id = ?2 or h.to_developer_id is null)
  and (h.to_developer_id is null or t.developer_id = ?2 or t.visibility = 'public');

-- find_handoff_of
-- The newest handoff of one's own reservation that is offered, or was accepted.
select h.id
from handoffs h indexed by handoffs_by_claim
where h.workspace_id = ?1 and h.developer_id = ?2 and h.claim_id = ?3 and h.status in ('offered', 'accepted')
  and h.expires_at > now_utc()
  and (h.to_developer_id is null
       or exists (select 1 from developers t
                  where t.workspace_id = ?1 and t.developer_id = h.to_developer_id and t.visibility = 'public'))
order by h.offered_at desc, h.id desc
limit 1;

-- list_handoffs
-- What is open: the offers to the caller, to all, and the caller's own, and what was accepted and is not completed.
select h.id, h.developer_id, g.handle, g.name, h.to_developer_id, t.handle as to_handle, t.name as to_name, h.claim_id,
       h.repo, h.branch, h.paths, h.reason, h.note, h.status,
       c.id as context_id, c.title as context_title, c.summary as context_summary, h.offered_at, h.expires_at,
       h.answered_at, h.completed_at, h.taken_claim_id
from (
    select * from handoffs indexed by handoffs_by_giver
    where workspace_id = ?1 and developer_id = ?2 and status in ('offered', 'accepted') and expires_at > now_utc()
    union all
    select * from handoffs indexed by handoffs_by_recipient
    where workspace_id = ?1 and to_developer_id = ?2 and status in ('offered', 'accepted') and expires_at > now_utc()
    union all
    select * from handoffs indexed by handoffs_by_recipient
    where workspace_id = ?1 and to_developer_id is null and developer_id <> ?2 and status in ('offered', 'accepted')
      and expires_at > now_utc()
) h
join developers g on g.workspace_id = ?1 and g.developer_id = h.developer_id
  and (g.developer_id = ?2 or g.visibility = 'public')
left join developers t on t.workspace_id = ?1 and t.developer_id = h.to_developer_id
left join session_contexts c on c.workspace_id = ?1
  and c.id = (select x.id from session_contexts x indexed by session_contexts_by_owner
              where x.workspace_id = ?1 and x.developer_id = h.developer_id and x.superseded_by is null
                and x.revoked_at is null and x.expires_at > now_utc()
              order by x.repo = coalesce(h.repo, '') and x.branch = coalesce(h.branch, '') desc, x.repo = coalesce(h.repo, '') desc,
                       x.published_at desc, x.id desc
              limit 1)
where h.to_developer_id is null or t.developer_id = ?2 or t.visibility = 'public'
order by h.offered_at desc, h.id desc
limit ?3;

-- newest_work_events
-- What the team did last, and what a private developer did, for that developer alone. One reader for each developer, so
-- that the events of one who became private are not passed through.
with recursive heads (number, stream, developer_id) as (
    select (select max(w.id) from work_events w indexed by work_events_by_developer
            where w.workspace_id = ?1 and w.stream = '' and w.developer_id = d.developer_id
              and (w.partner_id is null or ?2 in (w.partner_id, w.developer_id)
                   or exists (select 1 from developers p
                              where p.workspace_id = ?1 and p.developer_id = w.partner_id and p.visibility = 'public'))),
           '', d.developer_id
    from developers d
    where d.workspace_id = ?1 and (d.developer_id = ?2 or d.visibility = 'public')
    union all
    select (select max(w.id) from work_events w indexed by work_events_by_developer
            where w.workspace_id = ?1 and w.stream = ?2 and w.developer_id = ?2),
           ?2, ?2
    union all
    select (select max(w.id) from work_events w indexed by work_events_by_developer
            where w.workspace_id = ?1 and w.stream = h.stream and w.developer_id = h.developer_id and w.id < h.number
              and (w.partner_id is null or ?2 in (w.partner_id, w.developer_id)
                   or exists (select 1 from developers p
                              where p.workspace_id = ?1 and p.developer_id = w.partner_id and p.visibility = 'public'))),
           h.stream, h.developer_id
    from heads h
    where h.number is not null
    order by 1 desc
    limit ?3
)
select w.stream <> '' as is_own, w.id as number, w.type, w.developer_id, d.handle, d.name, w.subject, w.repo, w.branch,
       w.created_at
from heads h
cross join work_events w on w.workspace_id = ?1 and w.stream = h.stream and w.id = h.number
cross join developers d on d.workspace_id = ?1 and d.developer_id = w.developer_id
order by w.id desc;

-- work_events_after
-- The events after a cursor, which is one number for the team's and one for the developer's own, in the order of the
-- commits.
with recursive heads (number, stream, developer_id) as (
    select (select min(w.id) from work_events w indexed by work_events_by_developer
            where w.workspace_id = ?1 and w.stream = '' and w.developer_id = d.developer_id and w.id > ?3
              and (w.partner_id is null or ?2 in (w.partner_id, w.developer_id)
                   or exists (select 1 from developers p
                              where p.workspace_id = ?1 and p.developer_id = w.partner_id and p.visibility = 'public'))),
           '', d.developer_id
    from developers d
    where d.workspace_id = ?1 and (d.developer_id = ?2 or d.visibility = 'public')
    union all
    select (select min(w.id) from work_events w indexed by work_events_by_developer
            where w.workspace_id = ?1 and w.stream = ?2 and w.developer_id = ?2 and w.id > ?4),
           ?2, ?2
    union all
    select (select min(w.id) from work_events w indexed by work_events_by_developer
            where w.workspace_id = ?1 and w.stream = h.stream and w.developer_id = h.developer_id and w.id > h.number
              and (w.partner_id is null or ?2 in (w.partner_id, w.developer_id)
                   or exists (select 1 from developers p
                              where p.workspace_id = ?1 and p.developer_id = w.partner_id and p.visibility = 'public'))),
           h.stream, h.developer_id
    from heads h
    where h.number is not null
    order by 1 asc nulls last
    limit ?5
)
select w.stream <> '' as is_own, w.id as number, w.type, w.developer_id, d.handle, d.name, w.subject, w.repo, w.branch,
       w.created_at
from heads h
cross join work_events w on w.workspace_id = ?1 and w.stream = h.stream and w.id = h.number
cross join developers d on d.workspace_id = ?1 and d.developer_id = w.developer_id
order by w.id;

-- work_events_end
-- The cursor of a listener that wants only what comes: the last event that it may see.
select coalesce((select max((select max(w.id) from work_events w indexed by work_events_by_developer
                             where w.workspace_id = ?1 and w.stream = '' and w.developer_id = d.developer_id
                               and (w.partner_id is null or ?2 in (w.partner_id, w.developer_id)
                                    or exists (select 1 from developers p
                                               where p.workspace_id = ?1 and p.developer_id = w.partner_id and p.visibility = 'public'))))
                 from developers d
                 where d.workspace_id = ?1 and (d.developer_id = ?2 or d.visibility = 'public')), 0) as team,
       coalesce((select max(id) from work_events where workspace_id = ?1 and stream = ?2), 0) as own;

-- count_work_events
-- How much happened lately: the events that the caller may see, by the number of whole hours since. Their numbers are times.
select max(now_microseconds() - w.id, 0) / 3600000000 as hours_ago, count(*) as events
from work_events w
join developers d on d.workspace_id = ?1 and d.developer_id = w.developer_id
  and (d.developer_id = ?2 or d.visibility = 'public')
where w.workspace_id = ?1 and w.stream in ('', ?2) and w.id > now_microseconds() - ?3 * 3600000000
  and (w.partner_id is null or ?2 in (w.partner_id, w.developer_id)
       or exists (select 1 from developers p
                  where p.workspace_id = ?1 and p.developer_id = w.partner_id and p.visibility = 'public'))
group by hours_ago;

-- find_exchange
-- Whether any developer has used the exchange of this workspace: then it is offered.
select exists (select 1 from developers
               where workspace_id = ?1 and (developer_id = ?2 or visibility = 'public')) as is_used;

-- list_stored_contexts
-- For the audit: all that was ever published here, newest first, for the person who owns the file. What another developer
-- has revoked has no words here either, and a private developer is not listed.
select c.id, c.developer_id, d.handle, d.name, iif(c.has_words, c.title, ''), iif(c.has_words, c.summary, ''),
       iif(c.has_words, c.files_touched, '[]'), iif(c.has_words, c.next_actions, '[]'), iif(c.has_words, c.blockers, '[]'),
       iif(c.has_words, c.task_ids, '[]'), c.repo, c.branch, c.session_id, iif(c.has_words, c.basis, null), c.published_at,
       c.expires_at, c.superseded_by, c.revoked_at
from (select *, revoked_at is null or developer_id = ?2 as has_words from session_contexts where workspace_id = ?1) c
join developers d on d.workspace_id = ?1 and d.developer_id = c.developer_id
  and (d.developer_id = ?2 or d.visibility = 'public')
order by c.published_at desc, c.id desc
limit ?3;

-- list_usage
-- For the audit: the calls of every developer who is not private, newest first, for the person who owns the file.
select u.developer_id, d.handle, u.operation, u.outcome, u.created_at
from usage_events u
left join developers d on d.workspace_id = ?1 and d.developer_id = u.developer_id
where u.workspace_id = ?1 and (u.developer_id = ?2 or coalesce(d.visibility, 'public') = 'public')
order by u.created_at desc, u.id desc
limit ?3;

-- count_ended
-- How much of a developer ended before a time and still has words.
select (select count(*) from session_contexts c
        where c.workspace_id = ?1 and c.developer_id = ?2 and c.erased_at is null
        and min(c.expires_at, coalesce(c.revoked_at, c.expires_at),
             coalesce((select published_at from session_contexts n where n.workspace_id = ?1 and n.id = c.superseded_by),
                      c.expires_at)) < ?3) as contexts,
       (select count(*) from reservations c
        where c.workspace_id = ?1 and c.developer_id = ?2 and c.erased_at is null
        and min(c.expires_at, coalesce(c.released_at, c.expires_at)) < ?3) as claims,
       (select count(*) from handoffs c
        where c.workspace_id = ?1 and c.developer_id = ?2 and c.erased_at is null
        and min(c.expires_at, coalesce(c.completed_at, c.expires_at),
             iif(c.status in ('declined', 'cancelled'), coalesce(c.answered_at, c.expires_at), c.expires_at)) < ?3) as handoffs,
       (select count(*) from presence c
        where c.workspace_id = ?1 and c.developer_id = ?2 and (c.paths <> '[]' or c.branch is not null)
        and min(minutes_after(c.seen_at, 10), coalesce(c.ended_at, minutes_after(c.seen_at, 10))) < ?3) as presences;

-- erase_ended
-- Empties it; an audit row must allow it.
update session_contexts as c
set title = '', summary = '', files_touched = '[]', next_actions = '[]', blockers = '[]', task_ids = '[]', basis = null,
    erased_at = now_utc()
where c.workspace_id = ?1 and c.developer_id = ?2 and c.erased_at is null
        and min(c.expires_at, coalesce(c.revoked_at, c.expires_at),
             coalesce((select published_at from session_contexts n where n.workspace_id = ?1 and n.id = c.superseded_by),
                      c.expires_at)) < ?3;
update handoffs as c set paths = '[]', reason = '', note = '', erased_at = now_utc()
where c.workspace_id = ?1 and c.developer_id = ?2 and c.erased_at is null
        and min(c.expires_at, coalesce(c.completed_at, c.expires_at),
             iif(c.status in ('declined', 'cancelled'), coalesce(c.answered_at, c.expires_at), c.expires_at)) < ?3;
update reservations as c set paths = '[]', reason = '', erased_at = now_utc()
where c.workspace_id = ?1 and c.developer_id = ?2 and c.erased_at is null
        and min(c.expires_at, coalesce(c.released_at, c.expires_at)) < ?3;
update presence as c set paths = '[]', branch = null
where c.workspace_id = ?1 and c.developer_id = ?2 and (c.paths <> '[]' or c.branch is not null)
        and min(minutes_after(c.seen_at, 10), coalesce(c.ended_at, minutes_after(c.seen_at, 10))) < ?3;
select ?3 as before_at;

-- find_words
-- What of one's own has this id: a context, a claim or a handoff, and whether it still has words.
select id, 'context' as kind, erased_at is null as has_words from session_contexts
where workspace_id = ?1 and developer_id = ?2 and id = ?3
union all
select id, 'claim', erased_at is null from reservations
where workspace_id = ?1 and developer_id = ?2 and id = ?3
union all
select h.id, 'handoff', h.erased_at is null
from handoffs h
left join developers t on t.workspace_id = ?1 and t.developer_id = h.to_developer_id
where h.workspace_id = ?1 and h.developer_id = ?2 and h.id = ?3
  and (h.to_developer_id is null or t.visibility = 'public');

-- words_with_text
-- A page of one's own contexts, claims, handoffs and shown sessions that contain an exact text, given as it is and as it is
-- written in JSON; all pages read every row of the developer, to miss none.
select w.id, w.kind
from (
    select c.id, 'context' as kind, c.title || char(10) || c.summary as words,
           c.files_touched || c.next_actions || c.blockers || c.task_ids || coalesce(c.basis, '') as lists
    from session_contexts c
    where c.workspace_id = ?1 and c.developer_id = ?2 and c.erased_at is null
    union all
    select r.id, 'claim', r.reason, r.paths from reservations r
    where r.workspace_id = ?1 and r.developer_id = ?2 and r.erased_at is null
    union all
    select h.id, 'handoff', h.reason || char(10) || h.note, h.paths
    from handoffs h
    left join developers t on t.workspace_id = ?1 and t.developer_id = h.to_developer_id
    where h.workspace_id = ?1 and h.developer_id = ?2 and h.erased_at is null
      and (h.to_developer_id is null or t.visibility = 'public')
    union all
    select p.session_id, 'presence', coalesce(p.branch, ''), p.paths from presence p
    where p.workspace_id = ?1 and p.developer_id = ?2
) w
where w.id > ?5 and (instr(w.words, ?3) > 0 or instr(w.lists, ?4) > 0)
order by w.id, w.kind
limit ?6;

-- erase_words
-- Empties one's own context or handoff, a claim with its handoffs, or what is shown of a session; an audit row must allow it.
update session_contexts
set title = '', summary = '', files_touched = '[]', next_actions = '[]', blockers = '[]', task_ids = '[]', basis = null,
    erased_at = now_utc()
where workspace_id = ?1 and developer_id = ?2 and id = ?3 and erased_at is null;
update handoffs set paths = '[]', reason = '', note = '', erased_at = now_utc()
where workspace_id = ?1 and developer_id = ?2 and ?3 in (id, claim_id) and erased_at is null;
update reservations set paths = '[]', reason = '', erased_at = now_utc()
where workspace_id = ?1 and developer_id = ?2 and id = ?3 and erased_at is null;
update presence set paths = '[]', branch = null
where workspace_id = ?1 and developer_id = ?2 and session_id = ?3;
select ?3 as id;

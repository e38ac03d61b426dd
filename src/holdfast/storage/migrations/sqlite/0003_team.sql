-- The team exchange: the same tables as on PostgreSQL. There the policies hide private developers; here every query joins
-- `developers` with the same rule.

create table developers (
    workspace_id text not null,
    developer_id text not null,
    handle text not null,
    name text not null,
    visibility text not null default 'public' check (visibility in ('public', 'private')),
    created_at text not null,
    seen_at text not null,
    primary key (workspace_id, developer_id)
) strict;

create index developers_by_handle on developers (workspace_id, handle);
create index developers_by_activity on developers (workspace_id, seen_at desc);

create trigger developers_keep_their_id before update on developers
when (new.rowid, new.workspace_id, new.developer_id, new.handle, new.created_at)
     != (old.rowid, old.workspace_id, old.developer_id, old.handle, old.created_at)
begin select raise(abort, 'developers keep their id'); end;

create trigger developers_are_not_deleted before delete on developers
begin select raise(abort, 'developers are not deleted'); end;

create trigger developers_are_not_replaced before insert on developers
when exists (select 1 from developers where rowid = new.rowid)
  or exists (select 1 from developers where workspace_id = new.workspace_id and developer_id = new.developer_id)
begin select raise(abort, 'developers are not deleted'); end;

-- What developers publish about their work: metadata, with an end.
create table session_contexts (
    workspace_id text not null,
    id text not null,
    developer_id text not null,
    session_id text,
    repo text not null,
    branch text not null,
    title text not null,
    summary text not null,
    files_touched text not null check (json_type(files_touched) = 'array'),
    next_actions text not null check (json_type(next_actions) = 'array'),
    blockers text not null check (json_type(blockers) = 'array'),
    task_ids text not null check (json_type(task_ids) = 'array'),
    basis text check (basis is null or json_type(basis) = 'object'),
    published_at text not null,
    expires_at text not null check (expires_at > published_at),
    superseded_by text,
    revoked_at text,
    primary key (workspace_id, id),
    foreign key (workspace_id, developer_id) references developers (workspace_id, developer_id)
) strict;

-- At most one is active, also one that has expired meanwhile. No repo and no branch are an empty text: one value each.
create unique index session_contexts_active on session_contexts (workspace_id, developer_id, repo, branch)
    where superseded_by is null and revoked_at is null;
create index session_contexts_by_end on session_contexts (workspace_id, expires_at)
    where superseded_by is null and revoked_at is null;
create index session_contexts_by_owner on session_contexts (workspace_id, developer_id, expires_at)
    where superseded_by is null and revoked_at is null;
create index session_contexts_by_time on session_contexts (workspace_id, developer_id, published_at desc, id desc);

create trigger session_contexts_keep_what_they_say before update on session_contexts
when (new.rowid, new.workspace_id, new.id, new.developer_id, new.session_id, new.repo, new.branch, new.title, new.summary,
      new.files_touched, new.next_actions, new.blockers, new.task_ids, new.basis, new.published_at, new.expires_at)
     is not (old.rowid, old.workspace_id, old.id, old.developer_id, old.session_id, old.repo, old.branch, old.title,
             old.summary, old.files_touched, old.next_actions, old.blockers, old.task_ids, old.basis, old.published_at,
             old.expires_at)
  or (old.superseded_by is not null and new.superseded_by is not old.superseded_by)
  or (old.revoked_at is not null and new.revoked_at is not old.revoked_at)
begin select raise(abort, 'session_contexts keep what they say'); end;

create trigger session_contexts_are_not_deleted before delete on session_contexts
begin select raise(abort, 'session_contexts are not deleted'); end;

create trigger session_contexts_are_not_replaced before insert on session_contexts
when exists (select 1 from session_contexts where rowid = new.rowid)
  or exists (select 1 from session_contexts where workspace_id = new.workspace_id and id = new.id)
  or exists (select 1 from session_contexts
             where workspace_id = new.workspace_id and developer_id = new.developer_id
               and repo = new.repo and branch = new.branch and superseded_by is null and revoked_at is null)
begin select raise(abort, 'session_contexts are not deleted'); end;

-- Paths that a developer works on; told to others, and never enforced.
create table reservations (
    workspace_id text not null,
    id text not null,
    developer_id text not null,
    session_id text,
    repo text,
    branch text,
    paths text not null check (json_type(paths) = 'array'),
    reason text not null,
    reserved_at text not null,
    expires_at text not null,
    released_at text,
    primary key (workspace_id, id),
    unique (workspace_id, id, developer_id),
    foreign key (workspace_id, developer_id) references developers (workspace_id, developer_id)
) strict;

create index reservations_by_end on reservations (workspace_id, expires_at) where released_at is null;
create index reservations_by_session on reservations (workspace_id, developer_id, session_id)
    where released_at is null and session_id is not null;

create trigger reservations_are_only_released before update on reservations
when (new.rowid, new.workspace_id, new.id, new.developer_id, new.session_id, new.repo, new.branch, new.paths, new.reason,
      new.reserved_at, new.expires_at)
     is not (old.rowid, old.workspace_id, old.id, old.developer_id, old.session_id, old.repo, old.branch, old.paths,
             old.reason, old.reserved_at, old.expires_at)
  or old.released_at is not null
begin select raise(abort, 'reservations are only released'); end;

create trigger reservations_are_not_deleted before delete on reservations
begin select raise(abort, 'reservations are not deleted'); end;

create trigger reservations_are_not_replaced before insert on reservations
when exists (select 1 from reservations where rowid = new.rowid)
  or exists (select 1 from reservations where workspace_id = new.workspace_id and id = new.id)
begin select raise(abort, 'reservations are not deleted'); end;

-- What live sessions have not committed: soft reservations, without a word of their owners.
create table presence (
    workspace_id text not null,
    developer_id text not null,
    session_id text not null,
    began_at text not null,
    client text,
    repo text,
    branch text,
    paths text not null check (json_type(paths) = 'array'),
    seen_at text not null,
    ended_at text,
    primary key (workspace_id, developer_id, session_id),
    foreign key (workspace_id, developer_id) references developers (workspace_id, developer_id)
) strict;

create index presence_by_time on presence (workspace_id, seen_at) where ended_at is null;

create trigger presence_keeps_its_session before update on presence
when (new.rowid, new.workspace_id, new.developer_id, new.session_id, new.began_at)
     != (old.rowid, old.workspace_id, old.developer_id, old.session_id, old.began_at)
begin select raise(abort, 'presence keeps its session'); end;

create trigger presence_is_not_deleted before delete on presence
begin select raise(abort, 'presence is not deleted'); end;

create trigger presence_is_not_replaced before insert on presence
when exists (select 1 from presence where rowid = new.rowid)
  or exists (select 1 from presence
             where workspace_id = new.workspace_id and developer_id = new.developer_id and session_id = new.session_id)
begin select raise(abort, 'presence is not deleted'); end;

-- Reservations that a developer offers to a colleague, or to whoever takes them.
create table handoffs (
    workspace_id text not null,
    id text not null,
    developer_id text not null,
    to_developer_id text,
    claim_id text not null,
    repo text,
    branch text,
    paths text not null check (json_type(paths) = 'array'),
    reason text not null,
    note text not null,
    status text not null check (status in ('offered', 'accepted', 'completed', 'declined', 'cancelled')),
    offered_at text not null,
    expires_at text not null,
    answered_at text,
    completed_at text,
    taken_claim_id text,
    primary key (workspace_id, id),
    foreign key (workspace_id, developer_id) references developers (workspace_id, developer_id),
    foreign key (workspace_id, claim_id, developer_id) references reservations (workspace_id, id, developer_id)
) strict;

create index handoffs_by_claim on handoffs (workspace_id, claim_id) where status in ('offered', 'accepted');
-- A claim is taken over once, also through two offers of which one was hidden from its giver for a while.
create unique index handoffs_are_taken_over_once on handoffs (workspace_id, claim_id)
    where status in ('accepted', 'completed');
create index handoffs_by_giver on handoffs (workspace_id, developer_id, expires_at)
    where status in ('offered', 'accepted');
create index handoffs_by_recipient on handoffs (workspace_id, to_developer_id, expires_at)
    where status in ('offered', 'accepted');

create trigger handoffs_go_forward before update on handoffs
when (new.rowid, new.workspace_id, new.id, new.developer_id, new.claim_id, new.repo, new.branch, new.paths, new.reason,
      new.note, new.offered_at)
     is not (old.rowid, old.workspace_id, old.id, old.developer_id, old.claim_id, old.repo, old.branch, old.paths,
             old.reason, old.note, old.offered_at)
  or (old.to_developer_id is not null and new.to_developer_id is not old.to_developer_id)
  or (new.taken_claim_id is not old.taken_claim_id and new.status || ' < ' || old.status != 'accepted < offered')
  or old.status || ' > ' || new.status
     not in ('offered > cancelled', 'offered > accepted', 'offered > declined', 'accepted > completed')
begin select raise(abort, 'handoffs go forward only'); end;

create trigger handoffs_are_not_deleted before delete on handoffs
begin select raise(abort, 'handoffs are not deleted'); end;

create trigger handoffs_are_not_replaced before insert on handoffs
when exists (select 1 from handoffs where rowid = new.rowid)
  or exists (select 1 from handoffs where workspace_id = new.workspace_id and id = new.id)
begin select raise(abort, 'handoffs are not deleted'); end;

-- That something changed, and never what it said. Events of public developers are numbered together; those of a
-- developer who is private are numbered apart. A number is a time, so that no gap tells of what became hidden later.
create table work_events (
    workspace_id text not null,
    stream text not null,
    id integer not null,
    developer_id text not null,
    type text not null check (length(type) <= 60 and type not glob '*[^a-z_.]*'),
    subject text not null check (length(subject) <= 64 and subject not glob '*[^0-9A-Za-z_-]*'),
    repo text,
    branch text,
    partner_id text, -- the other developer of a handoff, if it has one
    created_at text not null,
    primary key (workspace_id, stream, id),
    check (stream in ('', developer_id)),
    foreign key (workspace_id, developer_id) references developers (workspace_id, developer_id)
) strict;
create index work_events_by_developer on work_events (workspace_id, stream, developer_id, id, partner_id);

create trigger work_events_are_not_updated before update on work_events
begin select raise(abort, 'work_events is append-only'); end;

create trigger work_events_are_not_deleted before delete on work_events
begin select raise(abort, 'work_events is append-only'); end;

create trigger work_events_are_not_replaced before insert on work_events
when exists (select 1 from work_events where rowid = new.rowid)
  or exists (select 1 from work_events where workspace_id = new.workspace_id and stream = new.stream and id = new.id)
begin select raise(abort, 'work_events is append-only'); end;

-- Every call of the exchange, reads and refused ones too: which, and how it ended.
create table usage_events (
    workspace_id text not null,
    developer_id text not null,
    id text not null,
    operation text not null,
    outcome text not null,
    created_at text not null,
    primary key (workspace_id, developer_id, id)
) strict;

create trigger usage_events_are_not_updated before update on usage_events
begin select raise(abort, 'usage_events is append-only'); end;

create trigger usage_events_are_not_deleted before delete on usage_events
begin select raise(abort, 'usage_events is append-only'); end;

create trigger usage_events_are_not_replaced before insert on usage_events
when exists (select 1 from usage_events where rowid = new.rowid)
  or exists (select 1 from usage_events
             where workspace_id = new.workspace_id and developer_id = new.developer_id and id = new.id)
begin select raise(abort, 'usage_events is append-only'); end;

-- The reservations of a session end with it, whichever way it ends. No function of ours is called: a trigger may not.
create trigger sessions_release_their_reservations after update of ended_at on sessions
when new.ended_at is not null and old.ended_at is null
begin
    insert into work_events (workspace_id, stream, id, developer_id, type, subject, repo, branch, created_at)
    select r.workspace_id, s.stream,
           (select max(coalesce(max(w.id), 0), unixepoch(new.ended_at) * 1000000 + substr(new.ended_at, 21, 6))
            from work_events w where w.workspace_id = r.workspace_id and w.stream = s.stream)
               + row_number() over (order by r.id),
           r.developer_id, 'coordination.released', r.id, r.repo, r.branch, new.ended_at
    from reservations r
    join (select case visibility when 'public' then '' else developer_id end as stream from developers
          where workspace_id = new.workspace_id and developer_id = new.developer_id) s
    where r.workspace_id = new.workspace_id and r.developer_id = new.developer_id and r.session_id = new.id
      and r.released_at is null and r.session_id is not null;
    update reservations set released_at = new.ended_at
    where workspace_id = new.workspace_id and developer_id = new.developer_id and session_id = new.id
      and released_at is null and session_id is not null;
    update presence set ended_at = new.ended_at, paths = '[]', branch = null
    where workspace_id = new.workspace_id and developer_id = new.developer_id and session_id = new.id and ended_at is null;
end;

-- --- the outbox ------------------------------------------------------------------------------------------------------

-- Its numbers counted what everyone does, so that a cursor told a developer of others; from now on each developer has
-- numbers of their own. Notices that are there keep theirs: a listener goes on where it was.
create table outbox_before as select id, workspace_id, developer_id, topic, data, created_at from outbox;
drop table outbox;

-- There is one writer at a time, so ids are assigned in the order of the commits and a reader that has seen n misses none.
create table outbox (
    workspace_id text not null,
    id integer not null,
    developer_id text not null,
    topic text not null,
    data text not null check (json_valid(data)),
    created_at text not null,
    primary key (workspace_id, developer_id, id)
) strict;

insert into outbox (workspace_id, id, developer_id, topic, data, created_at)
select workspace_id, id, developer_id, topic, data, created_at from outbox_before order by id;
drop table outbox_before;

-- Forgetting a session empties its notifications; no other change is allowed.
create trigger outbox_is_only_emptied before update on outbox
when not (new.data = '{}' and (new.rowid, new.id, new.workspace_id, new.developer_id, new.topic, new.created_at)
                            = (old.rowid, old.id, old.workspace_id, old.developer_id, old.topic, old.created_at))
begin select raise(abort, 'outbox is append-only'); end;

create trigger outbox_is_not_deleted before delete on outbox
begin select raise(abort, 'outbox is append-only'); end;

create trigger outbox_is_not_replaced before insert on outbox
when exists (select 1 from outbox where rowid = new.rowid)
  or exists (select 1 from outbox
             where workspace_id = new.workspace_id and developer_id = new.developer_id and id = new.id)
begin select raise(abort, 'outbox is append-only'); end;

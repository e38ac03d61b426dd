create table sessions (
    workspace_id text not null,
    id text not null,
    developer_id text not null,
    user_id text not null,
    chatmode text not null,
    workflow text,
    skill text,
    git_branch text,
    started_at text not null,
    ended_at text,
    metadata text not null default '{}' check (json_type(metadata) = 'object'),
    client text,
    native_id text,
    repo text,
    worktree text,
    name text generated always as (json_extract(metadata, '$.name')) virtual,
    resumed_from text,
    revision integer not null default 1,
    last_sequence integer not null default 0,
    head_hash blob not null,
    primary key (workspace_id, id),
    unique (workspace_id, developer_id, id),
    foreign key (workspace_id, developer_id, resumed_from) references sessions (workspace_id, developer_id, id)
) strict;

create index sessions_by_start on sessions (workspace_id, developer_id, started_at desc, id desc);
create index sessions_by_name on sessions (workspace_id, developer_id, name, started_at desc, id desc) where name is not null;
create index sessions_by_origin on sessions (workspace_id, developer_id, resumed_from) where resumed_from is not null;
create index sessions_open_by_chatmode on sessions (workspace_id, developer_id, chatmode, user_id, started_at desc, id desc)
    where ended_at is null;
create index sessions_open_by_worktree on sessions (workspace_id, developer_id, worktree, started_at desc, id desc)
    where ended_at is null;
create unique index sessions_open_by_native_id on sessions (workspace_id, developer_id, client, native_id)
    where ended_at is null and native_id is not null;

create table session_events (
    workspace_id text not null,
    id text not null,
    developer_id text not null,
    session_id text not null,
    sequence integer not null check (sequence > 0),
    type text not null,
    role text not null,
    content text not null,
    parts text check (json_valid(parts)),
    created_at text not null,
    content_hash blob not null,
    chain_hash blob not null,
    erased_at text,
    primary key (workspace_id, id),
    unique (workspace_id, session_id, sequence),
    foreign key (workspace_id, developer_id, session_id) references sessions (workspace_id, developer_id, id)
) strict;

create index session_events_turns on session_events (workspace_id, session_id, sequence) where type = 'user_message';

create table session_state (
    workspace_id text not null,
    session_id text not null,
    developer_id text not null,
    scratchpad text not null default '{}' check (json_type(scratchpad) = 'object'),
    updated_at text not null,
    primary key (workspace_id, session_id),
    foreign key (workspace_id, developer_id, session_id) references sessions (workspace_id, developer_id, id)
) strict;

-- The tombstone of an erased event, and the audit row of its erasure: the hash stays, the content is gone.
create table erasures (
    workspace_id text not null,
    event_id text not null,
    developer_id text not null,
    session_id text not null,
    content_hash blob not null,
    reason text not null,
    created_at text not null,
    primary key (workspace_id, event_id),
    foreign key (workspace_id, event_id) references session_events (workspace_id, id)
) strict;

create index erasures_by_session on erasures (workspace_id, session_id);

-- Every row has a hidden key as well, the rowid: whoever writes with REPLACE can push a row out by any key it has.
create trigger session_events_are_only_erased before update on session_events
when not (
    new.rowid = old.rowid and old.erased_at is null and new.erased_at is not null and new.content = '' and new.parts is null
    and exists (select 1 from erasures x where x.workspace_id = old.workspace_id and x.event_id = old.id)
    and (new.workspace_id, new.id, new.developer_id, new.session_id, new.sequence, new.type, new.role, new.created_at,
         new.content_hash, new.chain_hash)
      = (old.workspace_id, old.id, old.developer_id, old.session_id, old.sequence, old.type, old.role, old.created_at,
         old.content_hash, old.chain_hash)
)
begin select raise(abort, 'session_events is append-only'); end;

create trigger session_events_are_not_deleted before delete on session_events
begin select raise(abort, 'session_events is append-only'); end;

-- REPLACE would delete a row without firing the trigger above on a connection that does not ask for it.
-- A rowid that nobody gave is -1 here.
create trigger session_events_are_not_replaced before insert on session_events
when new.rowid <> -1 and exists (select 1 from session_events where rowid = new.rowid)
  or exists (select 1 from session_events where workspace_id = new.workspace_id and id = new.id)
  or exists (select 1 from session_events
             where workspace_id = new.workspace_id and session_id = new.session_id and sequence = new.sequence)
begin select raise(abort, 'session_events is append-only'); end;

create trigger sessions_keep_their_past before update on sessions
when (new.rowid, new.workspace_id, new.id, new.developer_id, new.started_at)
     != (old.rowid, old.workspace_id, old.id, old.developer_id, old.started_at)
  or new.last_sequence < old.last_sequence
  or new.resumed_from is not old.resumed_from
  or (old.ended_at is not null and (new.ended_at is not old.ended_at or new.last_sequence != old.last_sequence))
begin select raise(abort, 'sessions keep their past'); end;

-- A trigger of its own, so that an append, which changes none of these, does not pay for it.
create trigger sessions_stay_what_they_are
before update of user_id, chatmode, workflow, skill, git_branch, client, native_id, repo, worktree on sessions
begin select raise(abort, 'sessions keep their past'); end;

create trigger sessions_are_not_deleted before delete on sessions
begin select raise(abort, 'sessions are not deleted'); end;

create trigger sessions_are_not_replaced before insert on sessions
when exists (select 1 from sessions where rowid = new.rowid)
  or exists (select 1 from sessions where workspace_id = new.workspace_id and id = new.id)
  or exists (select 1 from sessions
             where workspace_id = new.workspace_id and developer_id = new.developer_id and client = new.client
               and native_id = new.native_id and ended_at is null and new.ended_at is null)
begin select raise(abort, 'sessions are not deleted'); end;

create trigger session_state_is_not_deleted before delete on session_state
begin select raise(abort, 'session_state is not deleted'); end;

create trigger session_state_is_not_replaced before insert on session_state
when exists (select 1 from session_state where rowid = new.rowid)
  or exists (select 1 from session_state where workspace_id = new.workspace_id and session_id = new.session_id)
begin select raise(abort, 'session_state is not deleted'); end;

create trigger session_state_keeps_its_session before update on session_state
when (new.rowid, new.workspace_id, new.session_id, new.developer_id)
     != (old.rowid, old.workspace_id, old.session_id, old.developer_id)
begin select raise(abort, 'session_state keeps its session'); end;

-- A tombstone stands on an event of one's own: a colleague's would keep that colleague from erasing it.
create trigger erasures_name_an_own_event before insert on erasures
when not exists (select 1 from session_events
                 where workspace_id = new.workspace_id and id = new.event_id
                   and developer_id = new.developer_id and session_id = new.session_id)
begin select raise(abort, 'erasures name no event of this developer'); end;

create trigger erasures_are_not_updated before update on erasures
begin select raise(abort, 'erasures is append-only'); end;

create trigger erasures_are_not_deleted before delete on erasures
begin select raise(abort, 'erasures is append-only'); end;

create trigger erasures_are_not_replaced before insert on erasures
when exists (select 1 from erasures where rowid = new.rowid)
  or exists (select 1 from erasures where workspace_id = new.workspace_id and event_id = new.event_id)
begin select raise(abort, 'erasures is append-only'); end;

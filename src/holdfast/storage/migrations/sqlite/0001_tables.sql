-- Every table, with its keys, indexes and triggers: the same names as on PostgreSQL. Every key begins with the workspace,
-- and every row belongs to one developer.

-- --- what belongs to no room -----------------------------------------------------------------------------------------

-- The outbox: notifications for listeners, written in the transaction of the change itself. There is one writer at a
-- time, so ids are assigned in the order of the commits and a reader that has seen n misses none.
create table outbox (
    id integer primary key autoincrement,
    workspace_id text not null,
    developer_id text not null,
    topic text not null,
    data text not null check (json_valid(data)),
    created_at text not null
) strict;

create index outbox_by_owner on outbox (workspace_id, developer_id, id);

-- Forgetting a session empties its notifications; no other change is allowed.
create trigger outbox_is_only_emptied before update on outbox
when not (new.data = '{}' and (new.id, new.workspace_id, new.developer_id, new.topic, new.created_at)
                            = (old.id, old.workspace_id, old.developer_id, old.topic, old.created_at))
begin select raise(abort, 'outbox is append-only'); end;

create trigger outbox_is_not_deleted before delete on outbox
begin select raise(abort, 'outbox is append-only'); end;

create trigger outbox_is_not_replaced before insert on outbox
when exists (select 1 from outbox where id = new.id)
begin select raise(abort, 'outbox is append-only'); end;

-- Requests that were executed. A repeated request finds its key and its subject here. The answer itself is read again,
-- so that forgotten content does not remain here. Keys do not expire: a late repeat must not be executed a second time.
create table idempotency_keys (
    workspace_id text not null,
    developer_id text not null,
    operation text not null,
    key text not null,
    request_hash blob not null,
    subject text not null,
    created_at text not null,
    primary key (workspace_id, developer_id, operation, key)
) strict;

create trigger idempotency_keys_are_not_updated before update on idempotency_keys
begin select raise(abort, 'idempotency_keys is append-only'); end;

create trigger idempotency_keys_are_not_deleted before delete on idempotency_keys
begin select raise(abort, 'idempotency_keys is append-only'); end;

create trigger idempotency_keys_are_not_replaced before insert on idempotency_keys
when exists (select 1 from idempotency_keys where rowid = new.rowid)
  or exists (select 1 from idempotency_keys
             where workspace_id = new.workspace_id and developer_id = new.developer_id and operation = new.operation
               and key = new.key)
begin select raise(abort, 'idempotency_keys is append-only'); end;

-- A row that the health check writes, to test whether writing works.
create table heartbeats (
    workspace_id text not null,
    developer_id text not null,
    beats integer not null,
    primary key (workspace_id, developer_id)
) strict;

create trigger heartbeats_keep_their_owner before update on heartbeats
when (new.rowid, new.workspace_id, new.developer_id) != (old.rowid, old.workspace_id, old.developer_id)
  or new.beats <= old.beats
begin select raise(abort, 'heartbeats only go on'); end;

create trigger heartbeats_are_not_deleted before delete on heartbeats
begin select raise(abort, 'heartbeats only go on'); end;

create trigger heartbeats_are_not_replaced before insert on heartbeats
when exists (select 1 from heartbeats where rowid = new.rowid)
  or exists (select 1 from heartbeats where workspace_id = new.workspace_id and developer_id = new.developer_id)
begin select raise(abort, 'heartbeats only go on'); end;

-- Documents that rooms store as they were at one moment: saved repo contexts, proofs, receipts, rounds. Append-only.
-- Numbers increase, so the newest document of a subject is the last in the index, independent of the clock.
create table journal (
    number integer primary key autoincrement,
    workspace_id text not null,
    developer_id text not null,
    id text not null,
    kind text not null,
    subject text not null,
    content text not null,
    created_at text not null,
    erased_at text,
    unique (workspace_id, id)
) strict;

create index journal_by_subject on journal (workspace_id, developer_id, kind, subject, number desc);
create index journal_by_kind on journal (workspace_id, developer_id, kind, number desc);

create trigger journal_is_only_erased before update on journal
when not (
    old.erased_at is null and new.erased_at is not null and new.content = ''
    and (new.number, new.workspace_id, new.developer_id, new.id, new.kind, new.subject, new.created_at)
      = (old.number, old.workspace_id, old.developer_id, old.id, old.kind, old.subject, old.created_at)
)
begin select raise(abort, 'journal is append-only'); end;

create trigger journal_is_not_deleted before delete on journal
begin select raise(abort, 'journal is append-only'); end;

create trigger journal_is_not_replaced before insert on journal
when exists (select 1 from journal where number = new.number)
  or exists (select 1 from journal where workspace_id = new.workspace_id and id = new.id)
begin select raise(abort, 'journal is append-only'); end;

-- --- sessions --------------------------------------------------------------------------------------------------------

-- Session lifecycle tracking.
create table sessions (
    workspace_id text not null,
    id text not null,
    developer_id text not null,
    user_id text not null,           -- namespace (e.g., 'pt2_architect')
    chatmode text not null,          -- 'architect', 'service-engineer', etc.
    workflow text,                   -- 'create-service', 'write-migration', etc.
    skill text,                      -- 'backend-service-builder', etc.
    git_branch text,                 -- current working branch
    started_at text not null,
    ended_at text,                   -- set when session closes
    metadata text not null default '{}' check (json_type(metadata) = 'object'),
    client text,
    native_id text,
    repo text,
    worktree text,
    name text generated always as (json_extract(metadata, '$.name')) virtual,
    folded_name text generated always as (lower(name)) virtual,  -- ASCII letters only
    resumed_from text,
    revision integer not null default 1,
    last_sequence integer not null default 0,
    head_hash blob not null,
    active_at text,                  -- the last write or resume; events move it once a minute
    noted_at text,                   -- when the scratchpad was last written
    hidden_active_at text,           -- both times, of a session that is kept out of everything
    hidden_noted_at text,
    primary key (workspace_id, id),
    unique (workspace_id, developer_id, id),
    foreign key (workspace_id, developer_id, resumed_from) references sessions (workspace_id, developer_id, id)
) strict;

create index idx_sessions_started_at on sessions (workspace_id, developer_id, started_at desc, id desc);
create index idx_sessions_active
    on sessions (workspace_id, developer_id, chatmode, user_id, started_at desc, id desc)
    where ended_at is null;
create index sessions_by_name on sessions (workspace_id, developer_id, folded_name, name, started_at desc, id desc)
    where name is not null;
create index sessions_with_name on sessions (workspace_id, developer_id, started_at desc, id desc, name)
    where name is not null;
create index sessions_by_origin on sessions (workspace_id, developer_id, resumed_from) where resumed_from is not null;
create index sessions_open_by_worktree on sessions (workspace_id, developer_id, worktree, started_at desc, id desc)
    where ended_at is null and worktree is not null;
create index sessions_by_native_id
    on sessions (workspace_id, developer_id, client, native_id, started_at desc, id desc)
    where native_id is not null;
create index sessions_by_worktree on sessions (workspace_id, developer_id, worktree, started_at desc, id desc)
    where worktree is not null;
create index sessions_with_context on sessions (workspace_id, developer_id, started_at desc, id desc)
    where json_extract(metadata, '$.context') <> '{}' or json_extract(metadata, '$.envHint') <> '';
create index sessions_with_context_by_worktree on sessions (workspace_id, developer_id, worktree, started_at desc, id desc)
    where json_extract(metadata, '$.context') <> '{}' or json_extract(metadata, '$.envHint') <> '';
create index sessions_by_activity on sessions (workspace_id, developer_id, active_at desc, id desc)
    where active_at is not null;
create index sessions_by_activity_in_worktree
    on sessions (workspace_id, developer_id, worktree, active_at desc, id desc)
    where active_at is not null and worktree is not null;
create index sessions_with_notes on sessions (workspace_id, developer_id, worktree, noted_at desc, id desc)
    where noted_at is not null and worktree is not null;
create unique index sessions_open_by_native_id on sessions (workspace_id, developer_id, client, native_id)
    where ended_at is null and native_id is not null;

-- Append-only conversation event log.
create table session_events (
    workspace_id text not null,
    id text not null,
    developer_id text not null,
    session_id text not null,
    sequence integer not null check (sequence > 0),  -- strict ordering within session
    type text not null,              -- event type enum
    role text not null,              -- 'user', 'assistant', 'tool', 'system'
    content text not null,           -- message text or JSON
    -- structured data, as the canonical text that was hashed; SQLite 3.40 reports a check that is null as damage
    parts text check (parts is null or json_valid(parts)),
    created_at text not null,
    content_hash blob not null,
    chain_hash blob not null,
    erased_at text,
    primary key (workspace_id, id),
    foreign key (workspace_id, developer_id, session_id) references sessions (workspace_id, developer_id, id)
) strict;

create unique index idx_session_events_session on session_events (workspace_id, session_id, sequence);
create index idx_session_events_type on session_events (workspace_id, session_id, sequence)
    where type = 'user_message';

-- Mutable scratchpad/working memory.
create table session_state (
    workspace_id text not null,
    session_id text not null,
    developer_id text not null,
    scratchpad text not null default '{}' check (json_type(scratchpad) = 'object'),
    cleared text not null default '{}' check (json_type(cleared) = 'object'),  -- names that were set to null
    updated_at text not null,
    primary key (workspace_id, session_id),
    foreign key (workspace_id, developer_id, session_id) references sessions (workspace_id, developer_id, id)
) strict;

-- How far the transcripts of a client's session were read, and what it was handed. Nothing of its content.
create table captures (
    workspace_id text not null,
    developer_id text not null,
    client text not null,
    native_id text not null,
    source text not null,            -- the file of a transcript; '' for what is known of the session itself
    state text not null check (json_type(state) = 'object'),
    revision integer not null,
    updated_at text not null,
    primary key (workspace_id, developer_id, client, native_id, source)
) strict;

-- The tombstone of an erased event, and the audit row of its erasure: the hash stays, the content is erased.
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

-- Every row also has a hidden key, the rowid: a write with REPLACE can remove a row through any of its keys.
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

-- REPLACE would delete a row without firing the trigger above, unless the connection enables that. A rowid that was not
-- given is -1 here.
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
  or (new.resumed_from is not old.resumed_from and (old.resumed_from is not null or old.ended_at is not null))
  or (old.ended_at is not null and (new.ended_at is not old.ended_at or new.last_sequence != old.last_sequence))
begin select raise(abort, 'sessions keep their past'); end;

-- A separate trigger: an append changes none of these columns and does not pay for it.
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

create trigger captures_are_not_deleted before delete on captures
begin select raise(abort, 'captures are not deleted'); end;

create trigger captures_are_not_replaced before insert on captures
when exists (select 1 from captures where rowid = new.rowid)
  or exists (select 1 from captures
             where workspace_id = new.workspace_id and developer_id = new.developer_id and client = new.client
               and native_id = new.native_id and source = new.source)
begin select raise(abort, 'captures are not deleted'); end;

create trigger captures_keep_their_session before update on captures
when (new.rowid, new.workspace_id, new.developer_id, new.client, new.native_id, new.source)
     != (old.rowid, old.workspace_id, old.developer_id, old.client, old.native_id, old.source)
  or new.revision <= old.revision
begin select raise(abort, 'captures keep their session'); end;

-- A developer writes tombstones only for own events: a tombstone for another developer's event would keep that
-- developer from erasing it.
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

-- --- memories --------------------------------------------------------------------------------------------------------

-- Statements with their source, found by their words. `number` identifies a row in the full-text index: SQLite may
-- renumber rows without such a column.
create table memories (
    workspace_id text not null,
    id text not null,
    developer_id text not null,
    user_id text not null,
    content text not null,
    content_tsv text not null,  -- the words for the search, which our rule takes from the content
    category text,
    metadata text not null default '{}' check (json_type(metadata) = 'object'),
    -- explicit|implicit|bootstrap|tool_output
    source_type text not null check (source_type in ('explicit', 'implicit', 'bootstrap', 'tool_output')),
    -- Belief strength, updated on corroboration/contradiction
    confidence real not null default 0.80 check (confidence between 0 and 1),
    -- Array of session_ids that contributed
    lineage text not null default '[]' check (json_type(lineage) = 'array'),
    last_used_at text,
    use_count integer not null default 0,
    expires_at text,
    created_at text not null,
    updated_at text not null,
    content_hash blob not null,
    erased_at text,
    number integer primary key,
    unique (workspace_id, developer_id, id)
) strict;

create unique index memories_by_content on memories (workspace_id, developer_id, content_hash) where erased_at is null;
create index memories_by_time on memories (workspace_id, developer_id, created_at, id) where erased_at is null;

-- This tokenizer treats every non-ASCII character as part of a word, so the index keeps words unchanged.
create virtual table memory_words using fts5 (content_tsv, content = 'memories', content_rowid = 'number', tokenize = 'ascii');

-- Forgotten text is removed from the index immediately, not at a later merge of the index.
insert into memory_words (memory_words, rank) values ('secure-delete', 1);

create trigger memories_get_indexed after insert on memories
begin
    insert into memory_words (rowid, content_tsv) values (new.number, new.content_tsv);
end;

create trigger memories_leave_the_index after update of content_tsv on memories
begin
    insert into memory_words (memory_words, rowid, content_tsv) values ('delete', old.number, old.content_tsv);
    insert into memory_words (rowid, content_tsv) values (new.number, new.content_tsv);
end;

-- The hash of a forgotten text, so that no import and no extraction stores it again.
create table memory_tombstones (
    workspace_id text not null,
    developer_id text not null,
    content_hash blob not null,
    memory_id text not null,
    reason text not null,
    created_at text not null,
    primary key (workspace_id, developer_id, content_hash)
) strict;

-- Confidence and use may change, and a tombstone allows erasing the text; text and source never change otherwise.
create trigger memories_keep_what_they_say before update on memories
when (new.number, new.workspace_id, new.id, new.developer_id, new.user_id, new.source_type, new.created_at, new.content_hash)
     is not (old.number, old.workspace_id, old.id, old.developer_id, old.user_id, old.source_type, old.created_at, old.content_hash)
  or old.erased_at is not null
  or (new.erased_at is null
      and (new.content, new.content_tsv, new.category, new.metadata) is not (old.content, old.content_tsv, old.category, old.metadata))
  or (new.erased_at is not null
      and ((new.content, new.content_tsv, new.category, new.metadata) is not ('', '', null, '{}')
           or not exists (select 1 from memory_tombstones t
                          where t.workspace_id = old.workspace_id and t.developer_id = old.developer_id
                            and t.content_hash = old.content_hash)))
begin select raise(abort, 'memories keep what they say'); end;

create trigger memories_are_not_deleted before delete on memories
begin select raise(abort, 'memories are not deleted'); end;

create trigger memories_are_not_replaced before insert on memories
when exists (select 1 from memories where number = new.number)
  or exists (select 1 from memories where workspace_id = new.workspace_id and developer_id = new.developer_id and id = new.id)
  or exists (select 1 from memories
             where workspace_id = new.workspace_id and developer_id = new.developer_id
               and content_hash = new.content_hash and erased_at is null and new.erased_at is null)
begin select raise(abort, 'memories are not deleted'); end;

create trigger memory_tombstones_are_not_updated before update on memory_tombstones
begin select raise(abort, 'memory_tombstones is append-only'); end;

create trigger memory_tombstones_are_not_deleted before delete on memory_tombstones
begin select raise(abort, 'memory_tombstones is append-only'); end;

create trigger memory_tombstones_are_not_replaced before insert on memory_tombstones
when exists (select 1 from memory_tombstones where rowid = new.rowid)
  or exists (select 1 from memory_tombstones
             where workspace_id = new.workspace_id and developer_id = new.developer_id and content_hash = new.content_hash)
begin select raise(abort, 'memory_tombstones is append-only'); end;

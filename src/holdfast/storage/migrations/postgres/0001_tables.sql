-- Every table, with its keys, indexes, triggers, policies and grants. The caller is set for the transaction only
-- (holdfast.workspace, holdfast.developer); unset means no rows. Every key begins with the workspace, and every row
-- belongs to one developer. The current functions are in the rooms: guards.postgres.sql is installed before this
-- migration, and queries.postgres.sql after it.
--
-- Only keys have an index of all rows. Every other index has a condition that is true for all the rows that it is
-- about, and that only its own statements repeat. Without statistics PostgreSQL expects one row from any index that
-- begins with the workspace, and takes the one that was made last: a look-up by key must not have the choice.

-- --- who may do what -------------------------------------------------------------------------------------------------

-- A block, so that a role without the right to create roles can apply this if the role already exists.
do $$
begin
    if not exists (select from pg_roles where rolname = 'holdfast_runtime') then
        create role holdfast_runtime nologin nosuperuser nobypassrls nocreatedb nocreaterole;
    end if;
exception
    -- Another database of this server may be migrated at the same time.
    when duplicate_object or unique_violation then null;
end
$$;

grant usage on schema holdfast, context, memori to holdfast_runtime;
grant select on holdfast.migrations, holdfast.functions to holdfast_runtime;

create trigger migrations_are_not_truncated before truncate on holdfast.migrations
    for each statement execute function holdfast.refuse();
create trigger functions_are_not_truncated before truncate on holdfast.functions
    for each statement execute function holdfast.refuse();

-- Two procedures for migrations. They are here and not among the functions, because the effect of an applied migration
-- must not depend on later changes.

-- Policies and triggers for every table with rows of developers. Later migrations call it, so that no part is
-- forgotten. p_verb is the verb in the names of the triggers: `is` or `are`.
create procedure holdfast.put_walls(p_schema text, p_table text, p_verb text)
language plpgsql as $$
declare
    mine text := $mine$workspace_id = nullif(current_setting('holdfast.workspace', true), '')
        and developer_id = nullif(current_setting('holdfast.developer', true), '')$mine$;
begin
    execute format('alter table %I.%I enable row level security', p_schema, p_table);
    execute format('alter table %I.%I force row level security', p_schema, p_table);
    execute format('create policy owner_only on %I.%I for all using (%s) with check (%s)',
                   p_schema, p_table, mine, mine);
    execute format('create trigger %I before delete on %I.%I for each row execute function holdfast.refuse()',
                   format('%s_%s_not_deleted', p_table, p_verb), p_schema, p_table);
    execute format('create trigger %I before truncate on %I.%I for each statement execute function holdfast.refuse()',
                   format('%s_%s_not_truncated', p_table, p_verb), p_schema, p_table);
end
$$;

-- Only the runtime role may call these functions. They are selected by name: an adopted schema may contain others.
create procedure holdfast.grant_functions(p_names text[])
language plpgsql as $$
declare
    found_function regprocedure;
begin
    for found_function in
        select p.oid::regprocedure from pg_proc p join pg_namespace n on n.oid = p.pronamespace
        where n.nspname || '.' || p.proname = any (p_names)
    loop
        execute format('revoke all on function %s from public', found_function);
        execute format('grant execute on function %s to holdfast_runtime', found_function);
    end loop;
end
$$;

comment on procedure holdfast.put_walls(text, text, text) is
    'Policies and triggers that every table of one developer''s rows needs; called by migrations.';
comment on procedure holdfast.grant_functions(text[]) is
    'Only the program may call these functions; called when functions are installed.';
revoke all on procedure holdfast.put_walls(text, text, text), holdfast.grant_functions(text[]) from public;

-- --- what belongs to no room -----------------------------------------------------------------------------------------

create table holdfast.outbox (
    workspace_id text collate "C" not null,
    id bigint not null,
    developer_id text collate "C" not null,
    topic text not null,
    data jsonb not null,
    created_at timestamptz not null,
    primary key (workspace_id, developer_id, id)
);
comment on table holdfast.outbox is 'Notices for listeners, written in the transaction of the change itself';
comment on column holdfast.outbox.id is 'counts the notices of one developer, so that a cursor says nothing about others';

call holdfast.put_walls('holdfast', 'outbox', 'is');
create trigger outbox_is_only_emptied before update on holdfast.outbox
    for each row execute function holdfast.only_empty();
grant select, insert, update (data) on holdfast.outbox to holdfast_runtime;

-- A repeated request finds its key and its subject here. The answer itself is read again, so that forgotten content
-- does not remain here. Keys do not expire: a late repeat must not be executed a second time.
create table holdfast.idempotency_keys (
    workspace_id text collate "C" not null,
    developer_id text collate "C" not null,
    operation text collate "C" not null,
    key text collate "C" not null,
    request_hash bytea not null,
    subject text not null,
    created_at timestamptz not null,
    primary key (workspace_id, developer_id, operation, key)
);
comment on table holdfast.idempotency_keys is 'Requests that were done already, and what each was about';

call holdfast.put_walls('holdfast', 'idempotency_keys', 'are');
create trigger idempotency_keys_are_not_updated before update on holdfast.idempotency_keys
    for each row execute function holdfast.refuse();
grant select, insert on holdfast.idempotency_keys to holdfast_runtime;

create table holdfast.heartbeats (
    workspace_id text collate "C" not null,
    developer_id text collate "C" not null,
    beats bigint not null,
    primary key (workspace_id, developer_id)
) with (fillfactor = 60);
comment on table holdfast.heartbeats is 'A row that health writes to, to see whether writing works';

call holdfast.put_walls('holdfast', 'heartbeats', 'are');
create trigger heartbeats_keep_their_owner before update on holdfast.heartbeats
    for each row
    when ((new.workspace_id, new.developer_id) <> (old.workspace_id, old.developer_id) or new.beats <= old.beats)
    execute function holdfast.refuse();
grant select, insert, update (beats) on holdfast.heartbeats to holdfast_runtime;

-- Append-only. Numbers increase, so the newest document of a subject is the last in the index, independent of the
-- clock.
create table holdfast.journal (
    workspace_id text collate "C" not null,
    developer_id text collate "C" not null,
    id uuid not null,
    kind text collate "C" not null,
    subject text collate "C" not null,
    content text not null,
    created_at timestamptz not null,
    erased_at timestamptz,
    number bigint generated always as identity,
    primary key (workspace_id, id)
);
comment on table holdfast.journal is
    'Documents that rooms keep as they were at one moment: repo contexts as they were saved, proofs, receipts, rounds';

create index journal_by_subject on holdfast.journal (workspace_id, developer_id, kind, subject, number desc)
    where subject >= '';
create index journal_by_kind on holdfast.journal (workspace_id, developer_id, kind, number desc) where number > 0;

call holdfast.put_walls('holdfast', 'journal', 'is');
create trigger journal_is_only_erased before update on holdfast.journal
    for each row
    when (not (
        old.erased_at is null and new.erased_at is not null and new.content = ''
        and (new.workspace_id, new.developer_id, new.id, new.kind, new.subject, new.created_at, new.number)
          = (old.workspace_id, old.developer_id, old.id, old.kind, old.subject, old.created_at, old.number)
    ))
    execute function holdfast.refuse();
grant select, insert, update (content, erased_at) on holdfast.journal to holdfast_runtime;

-- --- sessions --------------------------------------------------------------------------------------------------------

create table context.sessions (
    workspace_id text collate "C" not null,
    id uuid not null default gen_random_uuid(),
    developer_id text collate "C" not null,
    user_id text not null,
    chatmode text not null,
    workflow text,
    skill text,
    git_branch text,
    started_at timestamptz not null default now(),
    ended_at timestamptz,
    metadata jsonb not null default '{}' check (jsonb_typeof(metadata) = 'object'),
    client text,
    native_id text,
    repo text,
    worktree text,
    name text collate "C" generated always as (metadata ->> 'name') stored,
    folded_name text collate "C" generated always as (lower((metadata ->> 'name') collate "C")) stored,
    resumed_from uuid,
    revision bigint not null default 1,
    last_sequence bigint not null default 0,
    head_hash bytea not null,
    active_at timestamptz,
    noted_at timestamptz,
    hidden_active_at timestamptz,
    hidden_noted_at timestamptz,
    primary key (workspace_id, id),
    unique (workspace_id, developer_id, id),
    foreign key (workspace_id, developer_id, resumed_from) references context.sessions (workspace_id, developer_id, id)
) with (fillfactor = 60);  -- every append increments the counter in place
comment on table context.sessions is 'Session lifecycle tracking';
comment on column context.sessions.user_id is 'namespace (e.g., ''pt2_architect'')';
comment on column context.sessions.chatmode is '''architect'', ''service-engineer'', etc.';
comment on column context.sessions.workflow is '''create-service'', ''write-migration'', etc.';
comment on column context.sessions.skill is '''backend-service-builder'', etc.';
comment on column context.sessions.git_branch is 'current working branch';
comment on column context.sessions.ended_at is 'set when session closes';
comment on column context.sessions.native_id is 'the id that the client gives its own session';
comment on column context.sessions.folded_name is 'the name without the case of ASCII letters, as on SQLite';
comment on column context.sessions.revision is 'counts changes of metadata';
comment on column context.sessions.last_sequence is 'the number of the newest event';
comment on column context.sessions.head_hash is 'the newest link of the hash chain';
comment on column context.sessions.active_at is 'the last write or resume; events move it once a minute';
comment on column context.sessions.noted_at is 'when the scratchpad was last written';
comment on column context.sessions.hidden_active_at is 'active_at of a session that is kept out of everything';
comment on column context.sessions.hidden_noted_at is 'noted_at of a session that is kept out of everything';

create index idx_sessions_started_at on context.sessions (workspace_id, developer_id, started_at desc, id desc)
    where started_at > '-infinity';
create index idx_sessions_active
    on context.sessions (workspace_id, developer_id, chatmode, user_id, started_at desc, id desc)
    where ended_at is null and chatmode >= '';
create index sessions_by_name
    on context.sessions (workspace_id, developer_id, folded_name, name, started_at desc, id desc)
    where name is not null;
create index sessions_with_name on context.sessions (workspace_id, developer_id, started_at desc, id desc)
    include (name) where name is not null and user_id >= '';
create index sessions_by_origin on context.sessions (workspace_id, developer_id, resumed_from, started_at, id)
    where resumed_from is not null;
create index sessions_open_by_worktree
    on context.sessions (workspace_id, developer_id, worktree, started_at desc, id desc)
    where ended_at is null and worktree >= '';
create index sessions_by_native_id
    on context.sessions (workspace_id, developer_id, client, native_id, started_at desc, id desc)
    where native_id >= '' and user_id >= '';
create index sessions_by_worktree
    on context.sessions (workspace_id, developer_id, worktree, started_at desc, id desc)
    where worktree >= '' and user_id >= '';
create index sessions_with_context on context.sessions (workspace_id, developer_id, started_at desc, id desc)
    where user_id >= '' and (metadata -> 'context' <> '{}' or metadata ->> 'envHint' <> '');
create index sessions_with_context_by_worktree
    on context.sessions (workspace_id, developer_id, worktree, started_at desc, id desc)
    where worktree >= '' and (metadata -> 'context' <> '{}' or metadata ->> 'envHint' <> '');
create index sessions_by_activity on context.sessions (workspace_id, developer_id, active_at desc, id desc)
    where active_at > '-infinity';
create index sessions_by_activity_in_worktree
    on context.sessions (workspace_id, developer_id, worktree, active_at desc, id desc)
    where active_at > '-infinity' and worktree >= '';
create index sessions_with_notes on context.sessions (workspace_id, developer_id, worktree, noted_at desc, id desc)
    where noted_at > '-infinity' and worktree >= '';
create unique index sessions_open_by_native_id on context.sessions (workspace_id, developer_id, client, native_id)
    where ended_at is null and native_id is not null;

call holdfast.put_walls('context', 'sessions', 'are');
create trigger sessions_keep_their_past before update on context.sessions
    for each row
    when ((new.workspace_id, new.id, new.developer_id, new.started_at)
              <> (old.workspace_id, old.id, old.developer_id, old.started_at)
          or new.last_sequence < old.last_sequence
          or (new.resumed_from is distinct from old.resumed_from
              and (old.resumed_from is not null or old.ended_at is not null))
          or (old.ended_at is not null
              and (new.ended_at is distinct from old.ended_at or new.last_sequence <> old.last_sequence)))
    execute function holdfast.refuse();
-- A separate trigger: an append changes none of these columns and does not pay for it.
create trigger sessions_stay_what_they_are
    before update of user_id, chatmode, workflow, skill, git_branch, client, native_id, repo, worktree
    on context.sessions
    for each row execute function holdfast.refuse();
grant select, insert, update (ended_at, resumed_from, metadata, revision, last_sequence, head_hash, active_at,
                              noted_at, hidden_active_at, hidden_noted_at)
    on context.sessions to holdfast_runtime;

create table context.session_events (
    workspace_id text collate "C" not null,
    id uuid not null default gen_random_uuid(),
    developer_id text collate "C" not null,
    session_id uuid not null,
    sequence bigint not null check (sequence > 0),
    type text not null,
    role text not null,
    content text not null,
    parts_text text,
    parts jsonb generated always as (parts_text::jsonb) stored,
    created_at timestamptz not null default now(),
    content_hash bytea not null,
    chain_hash bytea not null,
    erased_at timestamptz,
    primary key (workspace_id, id),
    foreign key (workspace_id, developer_id, session_id) references context.sessions (workspace_id, developer_id, id)
);
comment on table context.session_events is 'Append-only conversation event log';
comment on column context.session_events.sequence is 'strict ordering within session';
comment on column context.session_events.type is 'event type enum';
comment on column context.session_events.role is '''user'', ''assistant'', ''tool'', ''system''';
comment on column context.session_events.content is 'message text or JSON';
comment on column context.session_events.parts is 'structured data';
comment on column context.session_events.parts_text is 'the canonical text that was hashed; jsonb would reorder it';

create unique index idx_session_events_session on context.session_events (workspace_id, session_id, sequence)
    where sequence > 0;
create index idx_session_events_type on context.session_events (workspace_id, session_id, sequence)
    where type = 'user_message';

call holdfast.put_walls('context', 'session_events', 'are');
-- The conditions are in the triggers, not in functions: an append must not pay for a function call that always passes.
create trigger session_events_are_only_erased before update on context.session_events
    for each row
    when (not (
        old.erased_at is null and new.erased_at is not null and new.content = '' and new.parts_text is null
        and (new.workspace_id, new.id, new.developer_id, new.session_id, new.sequence, new.type, new.role,
             new.created_at, new.content_hash, new.chain_hash)
          = (old.workspace_id, old.id, old.developer_id, old.session_id, old.sequence, old.type, old.role,
             old.created_at, old.content_hash, old.chain_hash)
    ))
    execute function holdfast.refuse();
create trigger session_events_need_a_tombstone before update on context.session_events
    for each row execute function context.need_tombstone();
grant select, insert, update (content, parts_text, erased_at) on context.session_events to holdfast_runtime;

create table context.session_state (
    workspace_id text collate "C" not null,
    session_id uuid not null,
    developer_id text collate "C" not null,
    scratchpad jsonb not null default '{}' check (jsonb_typeof(scratchpad) = 'object'),
    cleared jsonb not null default '{}' check (jsonb_typeof(cleared) = 'object'),
    updated_at timestamptz not null default now(),
    primary key (workspace_id, session_id),
    foreign key (workspace_id, developer_id, session_id) references context.sessions (workspace_id, developer_id, id)
) with (fillfactor = 60);
comment on table context.session_state is 'Mutable scratchpad/working memory';
comment on column context.session_state.cleared is 'names that were set to null';

call holdfast.put_walls('context', 'session_state', 'is');
create trigger session_state_keeps_its_session before update on context.session_state
    for each row
    when ((new.workspace_id, new.session_id, new.developer_id) <> (old.workspace_id, old.session_id, old.developer_id))
    execute function holdfast.refuse();
grant select, insert, update (scratchpad, cleared, updated_at) on context.session_state to holdfast_runtime;

create table context.captures (
    workspace_id text collate "C" not null,
    developer_id text collate "C" not null,
    client text collate "C" not null,
    native_id text collate "C" not null,
    source text collate "C" not null,
    state jsonb not null check (jsonb_typeof(state) = 'object'),
    revision bigint not null,
    updated_at timestamptz not null,
    primary key (workspace_id, developer_id, client, native_id, source)
) with (fillfactor = 60);
comment on table context.captures is
    'How far the transcripts of a client''s session were read, and what it was handed; nothing of its content';
comment on column context.captures.source is 'the file of a transcript; empty for what is known of the session itself';

call holdfast.put_walls('context', 'captures', 'are');
create trigger captures_keep_their_session before update on context.captures
    for each row
    when ((new.workspace_id, new.developer_id, new.client, new.native_id, new.source)
          <> (old.workspace_id, old.developer_id, old.client, old.native_id, old.source)
          or new.revision <= old.revision)
    execute function holdfast.refuse();
grant select, insert, update (state, revision, updated_at) on context.captures to holdfast_runtime;

create table context.erasures (
    workspace_id text collate "C" not null,
    event_id uuid not null,
    developer_id text collate "C" not null,
    session_id uuid not null,
    content_hash bytea not null,
    reason text not null,
    created_at timestamptz not null,
    primary key (workspace_id, event_id),
    foreign key (workspace_id, event_id) references context.session_events (workspace_id, id)
);
comment on table context.erasures is
    'The tombstone of an erased event, and the audit row of its erasure: the hash stays, the content is gone';

create index erasures_by_session on context.erasures (workspace_id, session_id, created_at)
    where created_at > '-infinity';

call holdfast.put_walls('context', 'erasures', 'are');
create trigger erasures_are_not_updated before update on context.erasures
    for each row execute function holdfast.refuse();
create trigger erasures_name_an_own_event before insert on context.erasures
    for each row execute function context.own_event();
grant select, insert on context.erasures to holdfast_runtime;

-- One row type for every function that returns sessions, and one for events.
create type context.session_row as (
    id text, user_id text, chatmode text, workflow text, skill text, git_branch text, started_at timestamptz,
    ended_at timestamptz, metadata text, client text, native_id text, repo text, worktree text, name text,
    resumed_from text, revision bigint, last_sequence bigint, head_hash bytea
);

create type context.event_row as (
    id text, session_id text, sequence bigint, type text, role text, content text, parts text, created_at timestamptz,
    content_hash bytea, chain_hash bytea, erased_at timestamptz
);

-- --- memories --------------------------------------------------------------------------------------------------------

create table memori.memory_tombstones (
    workspace_id text collate "C" not null,
    developer_id text collate "C" not null,
    content_hash bytea not null,
    memory_id text not null,
    reason text not null,
    created_at timestamptz not null,
    primary key (workspace_id, developer_id, content_hash)
);
comment on table memori.memory_tombstones is
    'The hash of what was forgotten, so that no import and no extraction brings it back';

call holdfast.put_walls('memori', 'memory_tombstones', 'are');
create trigger memory_tombstones_are_not_updated before update on memori.memory_tombstones
    for each row execute function holdfast.refuse();
grant select, insert on memori.memory_tombstones to holdfast_runtime;

-- An existing table `memori.memories` is adopted: adoption.postgres.sql adds what is missing, and it keeps its own
-- rights. So it has no policies of ours and serves one workspace. The function memori.is_adopted() records which case
-- was found.
do $migration$
declare
    there regclass := to_regclass('memori.memories');
begin
    if there is not null and (
        (select c.relkind from pg_class c where c.oid = there) <> 'r'
        or (select count(*) from pg_attribute a
            where a.attrelid = there and a.attname in ('id', 'user_id', 'content') and not a.attisdropped) < 3
    ) then
        raise exception 'memori.memories is no table with id, user_id and content' using errcode = 'duplicate_schema';
    end if;
    execute format('create function memori.is_adopted() returns boolean language sql immutable as $$ select %s $$',
                   case when there is null then 'false' else 'true' end);
end
$migration$;
comment on function memori.is_adopted() is
    'Whether the table of memories is another program''s, as the first migration found it.';
call holdfast.grant_functions(array['memori.is_adopted']);

-- Our own table.
do $migration$
begin
    if memori.is_adopted() then
        return;
    end if;
    create table memori.memories (
        workspace_id text collate "C" not null,
        id text collate "C" not null,
        developer_id text collate "C" not null,
        user_id text not null,
        content text not null,
        content_tsv tsvector not null,
        category text,
        metadata jsonb not null default '{}' check (jsonb_typeof(metadata) = 'object'),
        source_type text not null check (source_type in ('explicit', 'implicit', 'bootstrap', 'tool_output')),
        confidence numeric(3,2) not null default 0.80 check (confidence between 0 and 1),
        lineage jsonb not null default '[]' check (jsonb_typeof(lineage) = 'array'),
        last_used_at timestamptz,
        use_count integer not null default 0,
        expires_at timestamptz,
        created_at timestamptz not null,
        updated_at timestamptz not null,
        content_hash bytea not null,
        erased_at timestamptz,
        primary key (workspace_id, developer_id, id)
    ) with (fillfactor = 80);
    comment on table memori.memories is 'Statements with their provenance, found by their words';
    comment on column memori.memories.content_tsv is
        'the words that it is found by, as our own rule takes them from the content';
    comment on column memori.memories.source_type is 'explicit|implicit|bootstrap|tool_output';
    comment on column memori.memories.confidence is 'Belief strength, updated on corroboration/contradiction';
    comment on column memori.memories.lineage is 'Array of session_ids that contributed';

    create unique index memories_by_content on memori.memories (workspace_id, developer_id, content_hash)
        where erased_at is null and content_hash >= '';
    create index memories_by_time on memori.memories (workspace_id, developer_id, created_at, id)
        where erased_at is null and created_at > '-infinity';
    create index memories_by_words on memori.memories using gin (content_tsv);

    call holdfast.put_walls('memori', 'memories', 'are');
    create policy searched on memori.memories for select to current_user using (memori.is_searching());
    -- Confidence and use may change, and a tombstone allows erasing the text; text and source never change otherwise.
    create trigger memories_keep_what_they_say before update on memori.memories
        for each row
        when ((new.workspace_id, new.id, new.developer_id, new.user_id, new.source_type, new.created_at,
               new.content_hash)
                  is distinct from
              (old.workspace_id, old.id, old.developer_id, old.user_id, old.source_type, old.created_at,
               old.content_hash)
              or old.erased_at is not null
              or (new.erased_at is null
                  and (new.content, new.content_tsv, new.category, new.metadata)
                      is distinct from (old.content, old.content_tsv, old.category, old.metadata))
              or (new.erased_at is not null
                  and (new.content, new.content_tsv, new.category, new.metadata)
                      is distinct from (''::text, ''::tsvector, null::text, '{}'::jsonb)))
        execute function holdfast.refuse();
    create trigger memories_need_a_tombstone before update on memori.memories
        for each row when (new.erased_at is not null)
        execute function memori.need_tombstone();
    grant select, insert on memori.memories to holdfast_runtime;
    grant update (content, content_tsv, category, metadata, confidence, lineage, last_used_at, use_count, expires_at,
                  updated_at, erased_at) on memori.memories to holdfast_runtime;
end
$migration$;

create type memori.memory_row as (
    id text, user_id text, content text, category text, metadata text, source_type text, confidence double precision,
    lineage text, last_used_at timestamptz, use_count bigint, expires_at timestamptz, created_at timestamptz,
    updated_at timestamptz, erased_at timestamptz, words text
);

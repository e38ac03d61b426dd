-- Sessions, their append-only events, their scratchpads, and the tombstones of erased events.
-- Every key begins with the workspace; every row belongs to one developer, and only that developer sees it.
create schema if not exists context;
grant usage on schema context to holdfast_runtime;

create table context.sessions (
    workspace_id text collate "C" not null,
    id uuid not null,
    developer_id text collate "C" not null,
    user_id text not null,
    chatmode text not null,
    workflow text,
    skill text,
    git_branch text,
    started_at timestamptz not null,
    ended_at timestamptz,
    metadata jsonb not null default '{}' check (jsonb_typeof(metadata) = 'object'),
    client text,
    native_id text,
    repo text,
    worktree text,
    name text generated always as (metadata ->> 'name') stored,
    resumed_from uuid,
    revision bigint not null default 1,
    last_sequence bigint not null default 0,
    head_hash bytea not null,
    primary key (workspace_id, id),
    unique (workspace_id, developer_id, id),
    foreign key (workspace_id, developer_id, resumed_from) references context.sessions (workspace_id, developer_id, id)
) with (fillfactor = 60);  -- the counter is bumped in place by every append

create index sessions_by_start on context.sessions (workspace_id, developer_id, started_at desc, id desc);
create index sessions_by_name on context.sessions (workspace_id, developer_id, name, started_at desc, id desc)
    where name is not null;
create index sessions_by_origin on context.sessions (workspace_id, developer_id, resumed_from) where resumed_from is not null;
create index sessions_open_by_chatmode on context.sessions (workspace_id, developer_id, chatmode, user_id, started_at desc, id desc)
    where ended_at is null;
create index sessions_open_by_worktree on context.sessions (workspace_id, developer_id, worktree, started_at desc, id desc)
    where ended_at is null;
create unique index sessions_open_by_native_id on context.sessions (workspace_id, developer_id, client, native_id)
    where ended_at is null and native_id is not null;

create table context.session_events (
    workspace_id text collate "C" not null,
    id uuid not null,
    developer_id text collate "C" not null,
    session_id uuid not null,
    sequence bigint not null check (sequence > 0),
    type text not null,
    role text not null,
    content text not null,
    parts_text text,  -- the canonical text that was hashed; jsonb would reorder it
    parts jsonb generated always as (parts_text::jsonb) stored,
    created_at timestamptz not null,
    content_hash bytea not null,
    chain_hash bytea not null,
    erased_at timestamptz,
    primary key (workspace_id, id),
    unique (workspace_id, session_id, sequence),
    foreign key (workspace_id, developer_id, session_id) references context.sessions (workspace_id, developer_id, id)
);

create index session_events_turns on context.session_events (workspace_id, session_id, sequence) where type = 'user_message';

create table context.session_state (
    workspace_id text collate "C" not null,
    session_id uuid not null,
    developer_id text collate "C" not null,
    scratchpad jsonb not null default '{}' check (jsonb_typeof(scratchpad) = 'object'),
    updated_at timestamptz not null,
    primary key (workspace_id, session_id),
    foreign key (workspace_id, developer_id, session_id) references context.sessions (workspace_id, developer_id, id)
) with (fillfactor = 60);

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

create index erasures_by_session on context.erasures (workspace_id, session_id);

do $$
declare
    one text;
begin
    foreach one in array array['sessions', 'session_events', 'session_state', 'erasures'] loop
        execute format('alter table context.%I enable row level security', one);
        execute format('alter table context.%I force row level security', one);
        execute format($policy$
            create policy owner_only on context.%I for all
            using (workspace_id = nullif(current_setting('holdfast.workspace', true), '')
                   and developer_id = nullif(current_setting('holdfast.developer', true), ''))
            with check (workspace_id = nullif(current_setting('holdfast.workspace', true), '')
                        and developer_id = nullif(current_setting('holdfast.developer', true), ''))
        $policy$, one);
        execute format('create trigger %I before delete on context.%I for each row execute function holdfast.refuse()',
                       one || '_are_not_deleted', one);
        execute format('create trigger %I before truncate on context.%I for each statement execute function holdfast.refuse()',
                       one || '_are_not_truncated', one);
    end loop;
end
$$;

create trigger erasures_are_not_updated before update on context.erasures
    for each row execute function holdfast.refuse();

-- A tombstone stands on an event of one's own: a colleague's would keep that colleague from erasing it.
create function context.own_event() returns trigger
language plpgsql as $$
begin
    if exists (select from context.session_events e
               where e.workspace_id = new.workspace_id and e.id = new.event_id
                 and e.developer_id = new.developer_id and e.session_id = new.session_id)
    then
        return new;
    end if;
    raise exception 'context.erasures name no event of this developer' using errcode = 'foreign_key_violation';
end
$$;

create trigger erasures_name_an_own_event before insert on context.erasures
    for each row execute function context.own_event();

-- The conditions stand in the triggers, not in functions: an append must not pay for a call that says yes.
create trigger session_events_are_only_erased before update on context.session_events
    for each row
    when (not (
        old.erased_at is null and new.erased_at is not null and new.content = '' and new.parts_text is null
        and (new.workspace_id, new.id, new.developer_id, new.session_id, new.sequence, new.type, new.role, new.created_at,
             new.content_hash, new.chain_hash)
          = (old.workspace_id, old.id, old.developer_id, old.session_id, old.sequence, old.type, old.role, old.created_at,
             old.content_hash, old.chain_hash)
    ))
    execute function holdfast.refuse();

create function context.need_tombstone() returns trigger
language plpgsql as $$
begin
    if not exists (select from context.erasures x where x.workspace_id = old.workspace_id and x.event_id = old.id) then
        raise exception 'context.session_events is append-only' using errcode = 'restrict_violation';
    end if;
    return new;
end
$$;

create trigger session_events_need_a_tombstone before update on context.session_events
    for each row execute function context.need_tombstone();

create trigger sessions_keep_their_past before update on context.sessions
    for each row
    when ((new.workspace_id, new.id, new.developer_id, new.started_at)
              <> (old.workspace_id, old.id, old.developer_id, old.started_at)
          or new.last_sequence < old.last_sequence
          or new.resumed_from is distinct from old.resumed_from
          or (old.ended_at is not null
              and (new.ended_at is distinct from old.ended_at or new.last_sequence <> old.last_sequence)))
    execute function holdfast.refuse();

-- A trigger of its own, so that an append, which changes none of these, does not pay for it.
create trigger sessions_stay_what_they_are
    before update of user_id, chatmode, workflow, skill, git_branch, client, native_id, repo, worktree on context.sessions
    for each row execute function holdfast.refuse();

create trigger session_state_keeps_its_session before update on context.session_state
    for each row
    when ((new.workspace_id, new.session_id, new.developer_id) <> (old.workspace_id, old.session_id, old.developer_id))
    execute function holdfast.refuse();

-- JSON goes in and out as text: a pool may have its own codec for jsonb.
-- One row type for every function that answers with sessions, and one for events.
create type context.session_row as (
    id text, user_id text, chatmode text, workflow text, skill text, git_branch text, started_at timestamptz,
    ended_at timestamptz, metadata text, client text, native_id text, repo text, worktree text, name text,
    resumed_from text, revision bigint, last_sequence bigint, head_hash bytea
);

create type context.event_row as (
    id text, session_id text, sequence bigint, type text, role text, content text, parts text, created_at timestamptz,
    content_hash bytea, chain_hash bytea, erased_at timestamptz
);

create function context.as_row(s context.sessions) returns context.session_row
language sql stable as $$
    select row(s.id::text, s.user_id, s.chatmode, s.workflow, s.skill, s.git_branch, s.started_at, s.ended_at,
               s.metadata::text, s.client, s.native_id, s.repo, s.worktree, s.name, s.resumed_from::text, s.revision,
               s.last_sequence, s.head_hash)::context.session_row
$$;

create function context.create_session(
    p_workspace text, p_developer text, p_id uuid, p_user_id text, p_chatmode text, p_workflow text, p_skill text,
    p_git_branch text, p_client text, p_native_id text, p_repo text, p_worktree text, p_resumed_from uuid,
    p_metadata text, p_scratchpad text, p_head_hash bytea
) returns setof context.session_row
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    insert into context.sessions (workspace_id, developer_id, id, user_id, chatmode, workflow, skill, git_branch, client,
                                  native_id, repo, worktree, resumed_from, metadata, head_hash, started_at)
    values (p_workspace, p_developer, p_id, p_user_id, p_chatmode, p_workflow, p_skill, p_git_branch, p_client,
            p_native_id, p_repo, p_worktree, p_resumed_from, p_metadata::jsonb, p_head_hash, clock_timestamp())
    on conflict do nothing;
    if found then
        insert into context.session_state (workspace_id, developer_id, session_id, scratchpad, updated_at)
        values (p_workspace, p_developer, p_id, p_scratchpad::jsonb, clock_timestamp());
        perform holdfast.tell(p_workspace, p_developer, 'session.started', jsonb_build_object('session_id', p_id));
    end if;
    return query
        select (context.as_row(s)).*
        from context.sessions s
        where s.workspace_id = p_workspace and s.developer_id = p_developer
          and (s.id = p_id or (s.client = p_client and s.native_id = p_native_id and s.ended_at is null))
        order by s.id = p_id desc
        limit 1;
    if not found then
        -- The id is somebody else's; or the open session of that native id ended between the insert that it stopped and
        -- the look at it, and then the caller, who tries once more after this error, starts a new one.
        raise exception 'session % is taken', p_id using errcode = 'unique_violation';
    end if;
end
$$;

create function context.find_session(p_workspace text, p_developer text, p_id uuid) returns setof context.session_row
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select (context.as_row(s)).* from context.sessions s
        where s.workspace_id = p_workspace and s.developer_id = p_developer and s.id = p_id;
end
$$;

create function context.lock_session(p_workspace text, p_developer text, p_id uuid) returns setof context.session_row
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    -- Where a transaction of several statements begins; a verb on its own is limited by its caller.
    if current_setting('lock_timeout') = '0' then  -- the administrator's own limit stays
        perform set_config('lock_timeout', '5s', true), set_config('idle_in_transaction_session_timeout', '30s', true);
    end if;
    return query
        select (context.as_row(s)).* from context.sessions s
        where s.workspace_id = p_workspace and s.developer_id = p_developer and s.id = p_id
        for no key update;
end
$$;

create function context.active_session(p_workspace text, p_developer text, p_chatmode text, p_user_id text)
returns setof context.session_row
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select (context.as_row(s)).* from context.sessions s
        where s.workspace_id = p_workspace and s.developer_id = p_developer
          and s.chatmode = p_chatmode and s.user_id = p_user_id and s.ended_at is null
        order by s.started_at desc, s.id desc
        limit 1;
end
$$;

create function context.open_sessions(p_workspace text, p_developer text, p_worktree text, p_client text)
returns setof context.session_row
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select (context.as_row(s)).* from context.sessions s
        where s.workspace_id = p_workspace and s.developer_id = p_developer and s.worktree = p_worktree
          and s.ended_at is null and (p_client is null or s.client = p_client)
        order by s.started_at desc, s.id desc
        limit 2;
end
$$;

create function context.native_session(p_workspace text, p_developer text, p_client text, p_native_id text)
returns setof context.session_row
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select (context.as_row(s)).* from context.sessions s
        where s.workspace_id = p_workspace and s.developer_id = p_developer
          and s.client = p_client and s.native_id = p_native_id and s.ended_at is null;
end
$$;

create function context.list_sessions(p_workspace text, p_developer text, p_below uuid, p_limit int)
returns setof context.session_row
language plpgsql as $$
declare
    edge timestamptz;
    below uuid := coalesce(p_below, 'ffffffff-ffff-ffff-ffff-ffffffffffff');
begin
    perform holdfast.act_for(p_workspace, p_developer);
    select s.started_at into edge from context.sessions s
    where s.workspace_id = p_workspace and s.developer_id = p_developer and s.id = p_below;
    -- Not in the statement: under row-level security PostgreSQL does not look up a `coalesce` in an index.
    edge := coalesce(edge, 'infinity');
    return query
        select (context.as_row(s)).* from context.sessions s
        where s.workspace_id = p_workspace and s.developer_id = p_developer and (s.started_at, s.id) < (edge, below)
        order by s.started_at desc, s.id desc
        limit p_limit;
end
$$;

create function context.named_sessions(p_workspace text, p_developer text, p_name text, p_limit int)
returns setof context.session_row
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select (context.as_row(s)).* from context.sessions s
        where s.workspace_id = p_workspace and s.developer_id = p_developer and s.name = p_name
        order by s.started_at desc, s.id desc
        limit p_limit;
end
$$;

create function context.thread_sessions(p_workspace text, p_developer text, p_id uuid) returns setof context.session_row
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        with recursive
        up (id, resumed_from) as (
            select s.id, s.resumed_from from context.sessions s
            where s.workspace_id = p_workspace and s.developer_id = p_developer and s.id = p_id
            union
            select s.id, s.resumed_from from up join context.sessions s
              on s.workspace_id = p_workspace and s.developer_id = p_developer and s.id = up.resumed_from
        ),
        thread (id) as (
            select up.id from up where up.resumed_from is null
            union
            select s.id from thread join context.sessions s
              on s.workspace_id = p_workspace and s.developer_id = p_developer and s.resumed_from = thread.id
        )
        select (context.as_row(s)).*
        from thread join context.sessions s
          on s.workspace_id = p_workspace and s.developer_id = p_developer and s.id = thread.id
        order by s.started_at, s.id;
end
$$;

create function context.end_session(p_workspace text, p_developer text, p_id uuid) returns table (ended_at timestamptz)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    -- First the scratchpad's row, which every update of it locks: whatever was acknowledged is in it, and nothing comes
    -- after. It is written and not only locked, so that a repeatable read of an update that waits fails and is repeated.
    update context.session_state st set updated_at = st.updated_at
    where st.workspace_id = p_workspace and st.developer_id = p_developer and st.session_id = p_id
      and exists (select from context.sessions s
                  where s.workspace_id = p_workspace and s.id = p_id and s.ended_at is null);
    update context.sessions s set ended_at = clock_timestamp()
    where s.workspace_id = p_workspace and s.developer_id = p_developer and s.id = p_id and s.ended_at is null;
    if found then
        perform holdfast.tell(p_workspace, p_developer, 'session.ended', jsonb_build_object('session_id', p_id));
    end if;
    return query
        select s.ended_at from context.sessions s
        where s.workspace_id = p_workspace and s.developer_id = p_developer and s.id = p_id;
end
$$;

create function context.save_metadata(
    p_workspace text, p_developer text, p_id uuid, p_metadata text, p_topic text, p_data text
) returns table (revision bigint)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    update context.sessions s set metadata = p_metadata::jsonb, revision = s.revision + 1
    where s.workspace_id = p_workspace and s.developer_id = p_developer and s.id = p_id
    returning s.revision into save_metadata.revision;
    if found and p_topic is not null then
        perform holdfast.tell(p_workspace, p_developer, p_topic, p_data::jsonb);
    end if;
    if save_metadata.revision is not null then
        return next;
    end if;
end
$$;

-- The next link of the hash chain: the same bytes as the Python rule gives. Plain SQL, so that it is inlined.
create function context.link(p_head bytea, p_session uuid, p_sequence bigint, p_id uuid, p_at timestamptz, p_hash bytea)
returns bytea
language sql immutable as $$
    select sha256(p_head || uuid_send(p_session) || int8send(p_sequence) || uuid_send(p_id)
                  || int8send((extract(epoch from p_at) * 1000000)::bigint) || p_hash)
$$;

-- Several events of several calls on one session, in one round trip. A call is all or nothing: its rows are looked at
-- first, then written; if one is refused, it carries the reason and none is written. The session's row is locked from
-- the look to the commit, which is what makes the sequence strict.
create function context.append_events(
    p_workspace text, p_developer text, p_session uuid, p_call int[], p_expected bigint[], p_id uuid[], p_type text[],
    p_role text[], p_content text[], p_parts text[], p_hash bytea[]
) returns table (
    refused text, sequence bigint, created_at timestamptz, chain_hash bytea, erased_at timestamptz, last_sequence bigint,
    ended_at timestamptz
)
language plpgsql as $$
declare
    head bytea;
    before bigint;
    now_at timestamptz;
    anything_known boolean;
    guilty int;
    ahead int;
    reason text;
    i int;
    j int;
begin
    perform set_config('holdfast.workspace', p_workspace, true), set_config('holdfast.developer', p_developer, true);
    select s.last_sequence, s.head_hash, s.ended_at into last_sequence, head, ended_at
    from context.sessions s
    where s.workspace_id = p_workspace and s.developer_id = p_developer and s.id = p_session
    for no key update;
    before := last_sequence;
    anything_known := exists (select from context.session_events e where e.workspace_id = p_workspace and e.id = any (p_id));
    now_at := clock_timestamp();
    for i in 1 .. coalesce(cardinality(p_id), 0) loop
        if i = 1 or p_call[i] <> p_call[i - 1] then
            guilty := null;
            ahead := 0;  -- how many of the call's events before this one are new
            j := i;
            while guilty is null and p_call[j] = p_call[i] loop
                reason := context.refusal(p_workspace, p_developer, p_session, p_id[j], p_hash[j], p_expected[j],
                                          anything_known, last_sequence + ahead, ended_at);
                guilty := case when reason is not null then j end;
                if not (anything_known and exists (select from context.session_events e
                                                   where e.workspace_id = p_workspace and e.id = p_id[j])) then
                    ahead := ahead + 1;
                end if;
                j := j + 1;
            end loop;
        end if;
        refused := case when i = guilty then reason end;
        sequence := null; created_at := null; chain_hash := null; erased_at := null;
        if guilty is null then
            if anything_known then
                select e.sequence, e.created_at, e.chain_hash, e.erased_at
                into sequence, created_at, chain_hash, erased_at
                from context.session_events e where e.workspace_id = p_workspace and e.id = p_id[i];
            end if;
            if sequence is null then
                last_sequence := last_sequence + 1;
                sequence := last_sequence;
                created_at := now_at;
                head := context.link(head, p_session, sequence, p_id[i], now_at, p_hash[i]);
                chain_hash := head;
                insert into context.session_events (workspace_id, developer_id, id, session_id, sequence, type, role, content,
                                                    parts_text, created_at, content_hash, chain_hash)
                values (p_workspace, p_developer, p_id[i], p_session, sequence, p_type[i], p_role[i], p_content[i],
                        p_parts[i], now_at, p_hash[i], head);
            end if;
        end if;
        return next;
    end loop;
    if last_sequence > before then
        update context.sessions s set last_sequence = append_events.last_sequence, head_hash = head
        where s.workspace_id = p_workspace and s.id = p_session;
    end if;
end
$$;

-- Why one event cannot be written, or null. An event that is there already is fine, on an ended session too:
-- somebody repeats what was acknowledged.
create function context.refusal(
    p_workspace text, p_developer text, p_session uuid, p_id uuid, p_hash bytea, p_expected bigint,
    p_anything_known boolean, p_last_sequence bigint, p_ended_at timestamptz
) returns text
language plpgsql as $$
declare
    known record;
begin
    if p_anything_known then
        select e.session_id, e.developer_id, e.content_hash into known
        from context.session_events e where e.workspace_id = p_workspace and e.id = p_id;
        if found then
            return case when (known.session_id, known.developer_id, known.content_hash) = (p_session, p_developer, p_hash)
                   then null else 'taken' end;
        end if;
    end if;
    return case
        when p_last_sequence is null then 'missing'
        when p_ended_at is not null then 'ended'
        when p_expected <> p_last_sequence then 'sequence'
    end;
end
$$;

-- The usual case: one new event, in two statements. Whatever is unusual about it is the other function's business.
create function context.append_event(
    p_workspace text, p_developer text, p_session uuid, p_expected bigint, p_id uuid, p_type text, p_role text,
    p_content text, p_parts text, p_hash bytea
) returns table (
    refused text, sequence bigint, created_at timestamptz, chain_hash bytea, erased_at timestamptz, last_sequence bigint,
    ended_at timestamptz
)
language plpgsql as $$
begin
    perform set_config('holdfast.workspace', p_workspace, true), set_config('holdfast.developer', p_developer, true);
    created_at := clock_timestamp();
    update context.sessions s
    set last_sequence = s.last_sequence + 1,
        head_hash = context.link(s.head_hash, p_session, s.last_sequence + 1, p_id, created_at, p_hash)
    where s.workspace_id = p_workspace and s.developer_id = p_developer and s.id = p_session and s.ended_at is null
      and (p_expected is null or s.last_sequence = p_expected)
      and not exists (select from context.session_events e where e.workspace_id = p_workspace and e.id = p_id)
    returning s.last_sequence, s.last_sequence, s.head_hash into sequence, last_sequence, chain_hash;
    if found then
        insert into context.session_events (workspace_id, developer_id, id, session_id, sequence, type, role, content,
                                            parts_text, created_at, content_hash, chain_hash)
        values (p_workspace, p_developer, p_id, p_session, sequence, p_type, p_role, p_content, p_parts, created_at, p_hash,
                chain_hash);
        return next;
    else
        return query
            select * from context.append_events(p_workspace, p_developer, p_session, array[0], array[p_expected], array[p_id],
                                                array[p_type], array[p_role], array[p_content], array[p_parts], array[p_hash]);
    end if;
end
$$;

create function context.recent_events(
    p_workspace text, p_developer text, p_session uuid, p_turns_before bigint, p_below bigint, p_limit bigint
) returns setof context.event_row
language plpgsql as $$
declare
    first bigint;
    below bigint := coalesce(p_below, 9223372036854775807);
begin
    perform holdfast.act_for(p_workspace, p_developer);
    select e.sequence into first
    from context.session_events e
    where e.workspace_id = p_workspace and e.session_id = p_session and e.type = 'user_message'
    order by e.sequence desc
    limit 1 offset p_turns_before;
    -- Not in the statement: under row-level security PostgreSQL does not look up a `coalesce` in an index, and the
    -- window would read the whole session as soon as its plan is kept.
    first := coalesce(first, 0);
    return query
        select e.id::text, e.session_id::text, e.sequence, e.type, e.role, e.content, e.parts_text, e.created_at,
               e.content_hash, e.chain_hash, e.erased_at
        from context.session_events e
        where e.workspace_id = p_workspace and e.developer_id = p_developer and e.session_id = p_session
          and e.sequence >= first and e.sequence < below
        order by e.sequence desc
        limit p_limit;
end
$$;

create function context.events_after(p_workspace text, p_developer text, p_session uuid, p_after bigint, p_limit bigint)
returns setof context.event_row
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select e.id::text, e.session_id::text, e.sequence, e.type, e.role, e.content, e.parts_text, e.created_at,
               e.content_hash, e.chain_hash, e.erased_at
        from context.session_events e
        where e.workspace_id = p_workspace and e.developer_id = p_developer and e.session_id = p_session
          and e.sequence > p_after
        order by e.sequence
        limit p_limit;
end
$$;

create function context.turns_below(
    p_workspace text, p_developer text, p_session uuid, p_below bigint, p_turns_before bigint, p_limit bigint,
    p_chars integer, p_bytes integer
) returns setof context.event_row
language plpgsql as $$
declare
    first bigint;
    below bigint := coalesce(p_below, 9223372036854775807);
begin
    perform holdfast.act_for(p_workspace, p_developer);
    select e.sequence into first
    from context.session_events e
    where e.workspace_id = p_workspace and e.session_id = p_session and e.type = 'user_message' and e.sequence < below
    order by e.sequence desc
    limit 1 offset p_turns_before;
    first := coalesce(first, 0);  -- not in the statement, as in recent_events
    return query
        select e.id::text, e.session_id::text, e.sequence, e.type, e.role, left(e.content, p_chars),
               case when octet_length(e.parts_text) <= p_bytes then e.parts_text
                    when e.parts_text is not null then
                      json_build_object(
                        'tool', left(e.parts ->> 'tool', 200),
                        'input', json_build_object('file_path', left(e.parts #>> '{input,file_path}', 2000)),
                        'cut', true)::text
               end,
               e.created_at, e.content_hash, e.chain_hash, e.erased_at
        from context.session_events e
        where e.workspace_id = p_workspace and e.developer_id = p_developer and e.session_id = p_session
          and e.sequence >= first and e.sequence < below
        order by e.sequence desc
        limit p_limit;
end
$$;

create function context.sample_events(p_workspace text, p_developer text, p_session uuid, p_limit bigint)
returns table (sequence bigint, type text, created_at timestamptz, bytes bigint)
language plpgsql as $$
declare
    last bigint;
    many bigint;
begin
    perform holdfast.act_for(p_workspace, p_developer);
    select s.last_sequence, least(s.last_sequence, p_limit) into last, many
    from context.sessions s
    where s.workspace_id = p_workspace and s.developer_id = p_developer and s.id = p_session;
    -- One look-up each: as one statement it might be planned as a walk through the session.
    for n in 0 .. coalesce(many, 0) - 1 loop
        return query
            select e.sequence, e.type, e.created_at,
                   (octet_length(e.content) + coalesce(octet_length(e.parts_text), 0))::bigint
            from context.session_events e
            where e.workspace_id = p_workspace and e.developer_id = p_developer and e.session_id = p_session
              and e.sequence = case many when 1 then last else 1 + n * (last - 1) / (many - 1) end;
    end loop;
end
$$;

create function context.first_request(p_workspace text, p_developer text, p_session uuid, p_chars integer)
returns table (content text)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select left(e.content, p_chars) from context.session_events e
        where e.workspace_id = p_workspace and e.developer_id = p_developer and e.session_id = p_session
          and e.type = 'user_message'
        order by e.sequence
        limit 1;
end
$$;

create function context.find_event(p_workspace text, p_developer text, p_id uuid) returns setof context.event_row
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select e.id::text, e.session_id::text, e.sequence, e.type, e.role, e.content, e.parts_text, e.created_at,
               e.content_hash, e.chain_hash, e.erased_at
        from context.session_events e
        where e.workspace_id = p_workspace and e.developer_id = p_developer and e.id = p_id;
end
$$;

create function context.matching_events(p_workspace text, p_developer text, p_text text, p_escaped text)
returns setof context.event_row
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select e.id::text, e.session_id::text, e.sequence, e.type, e.role, e.content, e.parts_text, e.created_at,
               e.content_hash, e.chain_hash, e.erased_at
        from context.session_events e
        where e.workspace_id = p_workspace and e.developer_id = p_developer and e.erased_at is null
          and (strpos(e.content, p_text) > 0 or strpos(e.content, p_escaped) > 0 or strpos(e.parts_text, p_escaped) > 0)
        order by e.session_id, e.sequence;
end
$$;

create function context.sessions_with_text(p_workspace text, p_developer text, p_escaped text) returns table (id text)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select s.id::text
        from context.sessions s join context.session_state t on t.workspace_id = s.workspace_id and t.session_id = s.id
        where s.workspace_id = p_workspace and s.developer_id = p_developer
          and (strpos(s.metadata::text, p_escaped) > 0 or strpos(t.scratchpad::text, p_escaped) > 0)
        order by s.started_at, s.id;
end
$$;

create function context.erase_event(p_workspace text, p_developer text, p_id uuid, p_reason text)
returns table (session_id text, sequence bigint, erased_at timestamptz)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    insert into context.erasures (workspace_id, developer_id, event_id, session_id, content_hash, reason, created_at)
    select p_workspace, p_developer, e.id, e.session_id, e.content_hash, p_reason, clock_timestamp()
    from context.session_events e
    where e.workspace_id = p_workspace and e.developer_id = p_developer and e.id = p_id and e.erased_at is null
    on conflict do nothing;
    update context.session_events e set content = '', parts_text = null, erased_at = clock_timestamp()
    where e.workspace_id = p_workspace and e.developer_id = p_developer and e.id = p_id and e.erased_at is null;
    return query
        select e.session_id::text, e.sequence, e.erased_at from context.session_events e
        where e.workspace_id = p_workspace and e.developer_id = p_developer and e.id = p_id;
end
$$;

create function context.clear_session(p_workspace text, p_developer text, p_id uuid) returns table (revision bigint)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    -- The session first: whoever resumes it holds its lock while he copies the rest.
    return query
        update context.sessions s set metadata = '{}', revision = s.revision + 1
        where s.workspace_id = p_workspace and s.developer_id = p_developer and s.id = p_id
        returning s.revision;
    update context.session_state st set scratchpad = '{}', updated_at = clock_timestamp()
    where st.workspace_id = p_workspace and st.developer_id = p_developer and st.session_id = p_id;
    update holdfast.outbox o set data = '{}'
    where o.workspace_id = p_workspace and o.developer_id = p_developer and o.topic in ('caco.context', 'session.renamed')
      and o.data ->> 'session_id' = p_id::text;
end
$$;

create function context.erased_hashes(p_workspace text, p_developer text, p_session uuid)
returns table (event_id text, content_hash bytea)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select x.event_id::text, x.content_hash from context.erasures x
        where x.workspace_id = p_workspace and x.developer_id = p_developer and x.session_id = p_session;
end
$$;

create function context.get_state(p_workspace text, p_developer text, p_session uuid)
returns table (session_id text, scratchpad text, updated_at timestamptz)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select st.session_id::text, st.scratchpad::text, st.updated_at from context.session_state st
        where st.workspace_id = p_workspace and st.developer_id = p_developer and st.session_id = p_session;
end
$$;

-- The same merge as the Python rule (RFC 7396): objects merge, null removes, everything else replaces.
create function context.merge_json(p_target jsonb, p_patch jsonb) returns jsonb
language plpgsql immutable as $$
declare
    target jsonb := case when jsonb_typeof(p_target) = 'object' then p_target else '{}' end;
begin
    if jsonb_typeof(p_patch) <> 'object' then
        return p_patch;
    end if;
    if not exists (select from jsonb_each(p_patch) p where jsonb_typeof(p.value) in ('null', 'object')) then
        return target || p_patch;
    end if;
    -- All keys at once: one after the other would write the whole object for each of them.
    return coalesce((
        select jsonb_object_agg(x.key, x.value)
        from (
            select t.key, t.value from jsonb_each(target) t where not p_patch ? t.key
            union all
            select p.key, case when jsonb_typeof(p.value) = 'object' then context.merge_json(target -> p.key, p.value)
                               else p.value end
            from jsonb_each(p_patch) p where jsonb_typeof(p.value) <> 'null'
        ) x
    ), '{}');
end
$$;

create function context.update_state(p_workspace text, p_developer text, p_session uuid, p_patch text)
returns table (session_id text, scratchpad text, updated_at timestamptz)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    -- A statement of its own: the next one sees what was committed while this one waited, the session's end above all.
    perform from context.session_state st
    where st.workspace_id = p_workspace and st.developer_id = p_developer and st.session_id = p_session
    for no key update;
    return query
        update context.session_state st
        set scratchpad = context.merge_json(st.scratchpad, p_patch::jsonb), updated_at = clock_timestamp()
        where st.workspace_id = p_workspace and st.developer_id = p_developer and st.session_id = p_session
          and exists (select from context.sessions s
                      where s.workspace_id = p_workspace and s.id = p_session and s.ended_at is null)
        returning st.session_id::text, st.scratchpad::text, st.updated_at;
end
$$;

create function context.count_events(p_workspace text, p_developer text)
returns table (numbered bigint, stored bigint, sessions bigint)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select (select coalesce(sum(s.last_sequence), 0)::bigint from context.sessions s
                where s.workspace_id = p_workspace and s.developer_id = p_developer),
               (select count(*) from context.session_events e
                where e.workspace_id = p_workspace and e.developer_id = p_developer),
               (select count(*) from context.sessions s
                where s.workspace_id = p_workspace and s.developer_id = p_developer);
end
$$;

revoke all on all functions in schema context from public;
grant execute on all functions in schema context to holdfast_runtime;
grant select, insert, update (ended_at, metadata, revision, last_sequence, head_hash) on context.sessions to holdfast_runtime;
grant select, insert, update (content, parts_text, erased_at) on context.session_events to holdfast_runtime;
grant select, insert, update (scratchpad, updated_at) on context.session_state to holdfast_runtime;
grant select, insert on context.erasures to holdfast_runtime;

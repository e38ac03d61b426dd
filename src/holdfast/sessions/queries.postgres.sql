-- as_row
-- The result row of every function that returns sessions. JSON is returned as text: a pool may have its own codec for
-- jsonb.
create or replace function context.as_row(s context.sessions) returns context.session_row
language sql stable as $$
    select row(s.id::text, s.user_id, s.chatmode, s.workflow, s.skill, s.git_branch, s.started_at, s.ended_at,
               s.metadata::text, s.client, s.native_id, s.repo, s.worktree, s.name, s.resumed_from::text, s.revision,
               s.last_sequence, s.head_hash)::context.session_row
$$;

-- link
-- The next link of the hash chain, with the same bytes as the Python rule. Plain SQL, so that it is inlined; as
-- immutable it would not be, because `extract` is stable.
create or replace function context.link(
    p_head bytea, p_session uuid, p_sequence bigint, p_id uuid, p_at timestamptz, p_hash bytea
) returns bytea
language sql stable as $$
    select sha256(p_head || uuid_send(p_session) || int8send(p_sequence) || uuid_send(p_id)
                  || int8send((extract(epoch from p_at) * 1000000)::bigint) || p_hash)
$$;

-- refusal
-- The reason why an event cannot be written, or null. An event that already exists is accepted, on an ended session
-- too: the caller repeats an acknowledged write.
create or replace function context.refusal(
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

-- merge_json
-- The same merge as the Python rule (RFC 7396): objects merge, null removes, everything else replaces.
create or replace function context.merge_json(p_target jsonb, p_patch jsonb) returns jsonb
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
    -- All keys in one statement: separate statements would write the whole object for each key.
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

-- create_session
-- A new session with its scratchpad. If a session with the same id, or an open session with the same native id,
-- exists, returns that one.
create or replace function context.create_session(
    p_workspace text, p_developer text, p_id uuid, p_user_id text, p_chatmode text, p_workflow text, p_skill text,
    p_git_branch text, p_client text, p_native_id text, p_repo text, p_worktree text, p_resumed_from uuid,
    p_metadata text, p_scratchpad text, p_head_hash bytea
) returns setof context.session_row
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    insert into context.sessions (workspace_id, developer_id, id, user_id, chatmode, workflow, skill, git_branch, client,
                                  native_id, repo, worktree, resumed_from, metadata, head_hash, started_at, active_at,
                                  noted_at)
    values (p_workspace, p_developer, p_id, p_user_id, p_chatmode, p_workflow, p_skill, p_git_branch, p_client,
            p_native_id, p_repo, p_worktree, p_resumed_from, p_metadata::jsonb, p_head_hash, clock_timestamp(),
            case when p_resumed_from is not null or p_scratchpad <> '{}' then clock_timestamp() end,
            case when p_scratchpad <> '{}' then clock_timestamp() end)
    on conflict do nothing;
    if found then
        insert into context.session_state (workspace_id, developer_id, session_id, scratchpad, updated_at)
        values (p_workspace, p_developer, p_id, p_scratchpad::jsonb, clock_timestamp());
        perform holdfast.notify(p_workspace, p_developer, 'session.started', jsonb_build_object('session_id', p_id));
    end if;
    return query select * from context.find_session(p_workspace, p_developer, p_id);
    if not found then
        return query select * from context.native_session(p_workspace, p_developer, p_client, p_native_id);
    end if;
    if not found then
        -- The id belongs to another developer; or the open session with that native id prevented the insert and ended
        -- before the select. In that case the caller repeats the call once and starts a new session.
        raise exception 'session % is taken', p_id using errcode = 'unique_violation';
    end if;
end
$$;

-- find_session
-- One session by its id, if it is this developer's.
create or replace function context.find_session(p_workspace text, p_developer text, p_id uuid)
returns setof context.session_row
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select (context.as_row(s)).* from context.sessions s
        where s.workspace_id = p_workspace and s.developer_id = p_developer and s.id = p_id;
end
$$;

-- lock_session
-- The same, with a lock until the transaction ends.
create or replace function context.lock_session(p_workspace text, p_developer text, p_id uuid)
returns setof context.session_row
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    -- Where a transaction of several statements begins; the administrator's own limit stays.
    if current_setting('idle_in_transaction_session_timeout') = '0' then
        perform set_config('idle_in_transaction_session_timeout', '30s', true);
    end if;
    return query
        select (context.as_row(s)).* from context.sessions s
        where s.workspace_id = p_workspace and s.developer_id = p_developer and s.id = p_id
        for no key update;
end
$$;

-- active_session
-- The newest open session of a chatmode; the partial index holds open ones only.
create or replace function context.active_session(
    p_workspace text, p_developer text, p_chatmode text, p_user_id text
) returns setof context.session_row
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select (context.as_row(s)).* from context.sessions s
        where s.workspace_id = p_workspace and s.developer_id = p_developer
          and s.chatmode = p_chatmode and s.chatmode >= '' and s.user_id = p_user_id and s.ended_at is null
        order by s.started_at desc, s.id desc
        limit 1;
end
$$;

-- open_sessions
-- The newest open sessions of a worktree: the session that a person's write means, and whether it is the only one.
create or replace function context.open_sessions(p_workspace text, p_developer text, p_worktree text)
returns setof context.session_row
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select (context.as_row(s)).* from context.sessions s
        where s.workspace_id = p_workspace and s.developer_id = p_developer and s.worktree = p_worktree
          and s.worktree >= '' and s.ended_at is null
        order by s.started_at desc, s.id desc
        limit 2;
end
$$;

-- newest_sessions
-- The newest sessions of a worktree, open or ended: the session that is read where the caller has none, and whether it
-- is the only one.
create or replace function context.newest_sessions(p_workspace text, p_developer text, p_worktree text)
returns setof context.session_row
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select (context.as_row(s)).* from context.sessions s
        where s.workspace_id = p_workspace and s.developer_id = p_developer and s.worktree = p_worktree
          and s.worktree >= '' and s.user_id >= ''
        order by s.started_at desc, s.id desc
        limit 2;
end
$$;

-- as_text
-- A time as events hold the one at which they happened; such a text is not cast, because a program may write any.
create or replace function context.as_text(p_at timestamptz) returns text
language sql stable as $$
    select to_char(p_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') collate "C"
$$;

-- last_session
-- The session in which something happened last, without one that is excluded, nor any that began after a time. Of a
-- worktree, if one is given; an index for each case. The index knows the minute; within the newest minute the last events
-- are compared, by when they happened.
create or replace function context.last_session(
    p_workspace text, p_developer text, p_worktree text, p_excluded uuid, p_until text
) returns setof context.session_row
language plpgsql as $$
declare
    minute timestamptz;
    until timestamptz := coalesce(p_until::timestamptz, 'infinity');
    excluded uuid := coalesce(p_excluded, '00000000-0000-0000-0000-000000000000');
begin
    perform holdfast.act_for(p_workspace, p_developer);
    if p_worktree is null then
        select date_trunc('minute', s.active_at) into minute from context.sessions s
        where s.workspace_id = p_workspace and s.developer_id = p_developer and s.active_at > '-infinity'
          and s.id <> excluded and s.started_at <= until
        order by s.active_at desc, s.id desc
        limit 1;
        return query
            select (context.as_row(s)).*
            from context.sessions s
            left join lateral (
                select event.created_at, event.parts ->> 'happened_at' as happened_at from context.session_events event
                where event.workspace_id = p_workspace and event.session_id = s.id and event.sequence = s.last_sequence
                  and event.sequence > 0
                order by event.sequence
                limit 1
            ) e on true
            where s.workspace_id = p_workspace and s.developer_id = p_developer and s.active_at > '-infinity'
              and s.active_at >= minute and s.id <> excluded and s.started_at <= until
            order by greatest(
                         context.as_text(s.active_at),
                         least(context.as_text(e.created_at), e.happened_at collate "C")
                     ) desc, s.started_at desc, s.id desc
            limit 1;
    else
        select date_trunc('minute', s.active_at) into minute from context.sessions s
        where s.workspace_id = p_workspace and s.developer_id = p_developer
          and s.worktree = p_worktree and s.worktree >= '' and s.active_at > '-infinity' and s.id <> excluded and s.started_at <= until
        order by s.active_at desc, s.id desc
        limit 1;
        return query
            select (context.as_row(s)).*
            from context.sessions s
            left join lateral (
                select event.created_at, event.parts ->> 'happened_at' as happened_at from context.session_events event
                where event.workspace_id = p_workspace and event.session_id = s.id and event.sequence = s.last_sequence
                  and event.sequence > 0
                order by event.sequence
                limit 1
            ) e on true
            where s.workspace_id = p_workspace and s.developer_id = p_developer
              and s.worktree = p_worktree and s.worktree >= '' and s.active_at > '-infinity'
              and s.active_at >= minute and s.id <> excluded and s.started_at <= until
            order by greatest(
                         context.as_text(s.active_at),
                         least(context.as_text(e.created_at), e.happened_at collate "C")
                     ) desc, s.started_at desc, s.id desc
            limit 1;
    end if;
end
$$;

-- sessions_by_activity
-- The sessions of a worktree in which something happened last, to the minute.
create or replace function context.sessions_by_activity(
    p_workspace text, p_developer text, p_worktree text, p_limit bigint
) returns setof context.session_row
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select (context.as_row(s)).* from context.sessions s
        where s.workspace_id = p_workspace and s.developer_id = p_developer
          and s.worktree = p_worktree and s.worktree >= '' and s.active_at > '-infinity'
        order by s.active_at desc, s.id desc
        limit p_limit;
end
$$;

-- session_with_context
-- The newest session with context sets or a hint. Of a worktree, if one is given; an index for each case.
create or replace function context.session_with_context(
    p_workspace text, p_developer text, p_worktree text
) returns setof context.session_row
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select (context.as_row(s)).* from context.sessions s
        where s.workspace_id = p_workspace and s.developer_id = p_developer
          and s.worktree = p_worktree and s.worktree >= ''
          and (s.metadata -> 'context' <> '{}' or s.metadata ->> 'envHint' <> '')
        order by s.started_at desc, s.id desc
        limit 1;
    if p_worktree is null then
        return query
            select (context.as_row(s)).* from context.sessions s
            where s.workspace_id = p_workspace and s.developer_id = p_developer and s.user_id >= ''
              and (s.metadata -> 'context' <> '{}' or s.metadata ->> 'envHint' <> '')
            order by s.started_at desc, s.id desc
            limit 1;
    end if;
end
$$;

-- session_names
-- Names that begin with a text, the newest session first: of the newest p_among sessions with a name, and of the first
-- p_among in the order of the alphabet, so that an old name is found too.
create or replace function context.session_names(
    p_workspace text, p_developer text, p_begun text, p_limit int, p_among int
) returns table (name text)
language plpgsql as $$
declare
    -- Independent of the locale of the database, and as on SQLite, only ASCII letters are compared without case.
    folded text := lower(p_begun collate "C");
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        with begun as (
            select n.name, n.started_at
            from (select s.name, s.started_at, s.folded_name from context.sessions s
                  where s.workspace_id = p_workspace and s.developer_id = p_developer and s.name is not null
                    and s.user_id >= '' and s.started_at < 'infinity'
                  order by s.started_at desc, s.id desc limit p_among) n
            where starts_with(n.folded_name, folded)
            union all
            select n.name, n.started_at
            from (select s.name, s.started_at, s.folded_name from context.sessions s
                  where s.workspace_id = p_workspace and s.developer_id = p_developer and s.name is not null
                    and s.folded_name >= folded
                  order by s.folded_name, s.name, s.started_at desc, s.id desc limit p_among) n
            where starts_with(n.folded_name, folded)
        )
        select b.name from begun b
        group by b.name
        order by max(b.started_at) desc, b.name
        limit p_limit;
end
$$;

-- native_session
-- The open session with a native id; the unique index guarantees that there is only one.
create or replace function context.native_session(
    p_workspace text, p_developer text, p_client text, p_native_id text
) returns setof context.session_row
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select (context.as_row(s)).* from context.sessions s
        where s.workspace_id = p_workspace and s.developer_id = p_developer and s.client = p_client
          -- A range in order, which no other index has: of an equation PostgreSQL may look up any index.
          and s.native_id >= p_native_id and s.native_id <= p_native_id and s.ended_at is null
        order by s.native_id
        limit 1;
end
$$;

-- last_native_session
-- The newest session with a native id, open or ended: what the client goes on with.
create or replace function context.last_native_session(
    p_workspace text, p_developer text, p_client text, p_native_id text
) returns setof context.session_row
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select (context.as_row(s)).* from context.sessions s
        where s.workspace_id = p_workspace and s.developer_id = p_developer and s.client = p_client
          and s.native_id = p_native_id and s.native_id >= '' and s.user_id >= ''
        order by s.started_at desc, s.id desc
        limit 1;
end
$$;

-- list_sessions
-- Newest first, before a given session, so that a reader can page through any number of sessions.
create or replace function context.list_sessions(
    p_workspace text, p_developer text, p_below uuid, p_limit int
) returns setof context.session_row
language plpgsql set plan_cache_mode = force_generic_plan as $$
declare
    edge timestamptz;
    below uuid := coalesce(p_below, 'ffffffff-ffff-ffff-ffff-ffffffffffff');
begin
    perform holdfast.act_for(p_workspace, p_developer);
    select s.started_at into edge from context.sessions s
    where s.workspace_id = p_workspace and s.developer_id = p_developer and s.id = p_below;
    -- Not in the statement: under row-level security PostgreSQL does not use an index for a `coalesce`.
    edge := coalesce(edge, 'infinity');
    return query
        select (context.as_row(s)).* from context.sessions s
        where s.workspace_id = p_workspace and s.developer_id = p_developer and (s.started_at, s.id) < (edge, below)
          and s.started_at > '-infinity'
        order by s.started_at desc, s.id desc
        limit p_limit;
end
$$;

-- named_sessions
-- Sessions with one name, newest first: names are for people and need not be unique.
create or replace function context.named_sessions(
    p_workspace text, p_developer text, p_name text, p_limit int
) returns setof context.session_row
language plpgsql as $$
declare
    folded text := lower(p_name collate "C");
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select (context.as_row(s)).* from context.sessions s
        where s.workspace_id = p_workspace and s.developer_id = p_developer and s.folded_name = folded
          and s.name = p_name
        order by s.started_at desc, s.id desc
        limit p_limit;
end
$$;

-- thread_sessions
-- The sessions of a thread: up to the first one, then down to the newest that resumed each; a session that was resumed
-- twice is in two threads. With p_all, all that share the first one. Limits and orders inside keep one index lookup for
-- each session; as plain joins, PostgreSQL may read all sessions once.
create or replace function context.thread_sessions(p_workspace text, p_developer text, p_id uuid, p_all boolean)
returns setof context.session_row
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        with recursive
        up (id, resumed_from) as (
            select s.id, s.resumed_from from context.sessions s
            where s.workspace_id = p_workspace and s.developer_id = p_developer and s.id = p_id
            union
            select origin.id, origin.resumed_from from up cross join lateral (
                select s.id, s.resumed_from from context.sessions s
                where s.workspace_id = p_workspace and s.developer_id = p_developer and s.id = up.resumed_from
                limit 1
            ) origin
        ),
        down (id) as (
            select up.id from up where p_all or up.id = p_id
            union
            select next.id from down cross join lateral (
                select s.id from context.sessions s
                where s.workspace_id = p_workspace and s.developer_id = p_developer and s.resumed_from = down.id
                order by s.started_at desc, s.id desc
                limit case when not p_all then 1 end
            ) next
        ),
        thread (id) as (select up.id from up union select down.id from down)
        select found.* from thread cross join lateral (
            select (context.as_row(s)).* from context.sessions s
            where s.workspace_id = p_workspace and s.developer_id = p_developer and s.id = thread.id
            limit 1
        ) found
        order by found.started_at, found.id;
end
$$;

-- end_session
-- Ends a session once; ending it again changes nothing and sends no notification.
create or replace function context.end_session(p_workspace text, p_developer text, p_id uuid)
returns table (ended_at timestamptz)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    -- First the row of the scratchpad, which every update locks: acknowledged updates are included, and none follows.
    -- The row is written and not only locked, so that a waiting update under repeatable read fails and is repeated.
    update context.session_state st set updated_at = st.updated_at
    where st.workspace_id = p_workspace and st.developer_id = p_developer and st.session_id = p_id
      and exists (select from context.sessions s
                  where s.workspace_id = p_workspace and s.id = p_id and s.ended_at is null);
    update context.sessions s set ended_at = clock_timestamp()
    where s.workspace_id = p_workspace and s.developer_id = p_developer and s.id = p_id and s.ended_at is null;
    if found then
        perform holdfast.notify(p_workspace, p_developer, 'session.ended', jsonb_build_object('session_id', p_id));
    end if;
    return query
        select s.ended_at from context.sessions s
        where s.workspace_id = p_workspace and s.developer_id = p_developer and s.id = p_id;
end
$$;

-- mark_active
-- A resume counts as something that happened in a session. What is read later from a transcript happened when that says.
create or replace function context.mark_active(p_workspace text, p_developer text, p_id uuid, p_at text)
returns table (active_at timestamptz)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        update context.sessions s
        set active_at = case when p_at is null then clock_timestamp() else greatest(p_at::timestamptz, s.noted_at) end
        where s.workspace_id = p_workspace and s.developer_id = p_developer and s.id = p_id
        returning s.active_at;
end
$$;

-- link_fork
-- A session that was forked from one of another native id continues the last of those that began before it.
create or replace function context.link_fork(p_workspace text, p_developer text, p_id uuid, p_native_id text)
returns table (resumed_from text)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        update context.sessions s set resumed_from = (
            select origin.id from context.sessions origin
            where origin.workspace_id = p_workspace and origin.developer_id = p_developer and origin.client = s.client
              and origin.native_id = p_native_id and origin.native_id >= '' and origin.user_id >= ''
              and origin.started_at <= s.started_at and origin.id <> s.id
            order by origin.started_at desc, origin.id desc
            limit 1)
        where s.workspace_id = p_workspace and s.developer_id = p_developer and s.id = p_id and s.resumed_from is null
        returning s.resumed_from::text;
end
$$;

-- save_metadata
-- The metadata of a session and the notification of listeners, in one transaction.
create or replace function context.save_metadata(
    p_workspace text, p_developer text, p_id uuid, p_metadata text, p_topic text, p_data text
) returns table (revision bigint)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    update context.sessions s set metadata = p_metadata::jsonb, revision = s.revision + 1
    where s.workspace_id = p_workspace and s.developer_id = p_developer and s.id = p_id
    returning s.revision into save_metadata.revision;
    if found and p_topic is not null then
        perform holdfast.notify(p_workspace, p_developer, p_topic, p_data::jsonb);
    end if;
    if save_metadata.revision is not null then
        return next;
    end if;
end
$$;

-- append_events
-- Events of several calls on one session, in one round trip. A call is all or nothing: its rows are checked first and
-- then written; if a row is refused, it returns the reason and no row of the call is written. The row of the session is
-- locked from the check to the commit, which makes the sequence strict.
create or replace function context.append_events(
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
    is_new boolean;
    new_sequences bigint[] := '{}';  -- null where nothing is to be inserted
    new_hashes bytea[] := '{}';
    i int;
    j int;
begin
    perform set_config('holdfast.workspace', p_workspace, true), set_config('holdfast.developer', p_developer, true),
            set_config('enable_seqscan', 'off', true),  -- as act_for, without the cost of a call
            set_config('lock_timeout', coalesce(nullif(current_setting('lock_timeout'), '0'), '10s'), true);
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
            ahead := 0;  -- how many earlier events of the call are new
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
        sequence := null; created_at := null; chain_hash := null; erased_at := null; is_new := false;
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
                is_new := true;
            end if;
        end if;
        new_sequences := array_append(new_sequences, case when is_new then sequence end);
        new_hashes := array_append(new_hashes, case when is_new then chain_hash end);
        return next;
    end loop;
    if last_sequence > before then
        -- All in one statement: the chain is computed above, and an insert for each row costs twice as much.
        insert into context.session_events (workspace_id, developer_id, id, session_id, sequence, type, role, content,
                                            parts_text, created_at, content_hash, chain_hash)
        select p_workspace, p_developer, n.id, p_session, n.sequence, n.type, n.role, n.content, n.parts, now_at, n.hash,
               n.chain_hash
        from unnest(p_id, p_type, p_role, p_content, p_parts, p_hash, new_sequences, new_hashes)
             n (id, type, role, content, parts, hash, sequence, chain_hash)
        where n.sequence is not null;
        update context.sessions s
        set last_sequence = append_events.last_sequence, head_hash = head,
            active_at = case when s.active_at >= date_trunc('minute', now_at) then s.active_at else now_at end
        where s.workspace_id = p_workspace and s.id = p_session;
    end if;
end
$$;

-- append_event
-- The usual case: one new event, in two statements. The other function handles all unusual cases.
create or replace function context.append_event(
    p_workspace text, p_developer text, p_session uuid, p_expected bigint, p_id uuid, p_type text, p_role text,
    p_content text, p_parts text, p_hash bytea
) returns table (
    refused text, sequence bigint, created_at timestamptz, chain_hash bytea, erased_at timestamptz, last_sequence bigint,
    ended_at timestamptz
)
language plpgsql as $$
begin
    perform set_config('holdfast.workspace', p_workspace, true), set_config('holdfast.developer', p_developer, true),
            set_config('enable_seqscan', 'off', true),  -- as act_for, without the cost of a call
            set_config('lock_timeout', coalesce(nullif(current_setting('lock_timeout'), '0'), '10s'), true);
    created_at := clock_timestamp();
    update context.sessions s
    set last_sequence = s.last_sequence + 1,
        head_hash = context.link(s.head_hash, p_session, s.last_sequence + 1, p_id, created_at, p_hash),
        -- Once a minute: a row whose indexed columns stay the same is updated in place.
        active_at = case when s.active_at >= date_trunc('minute', append_event.created_at) then s.active_at
                         else append_event.created_at end
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

-- recent_events
-- The events of the last n turns before a given event, newest first; the partial index on user messages finds the
-- beginning of the n-th last turn at a cost that does not depend on the length of the session.
create or replace function context.recent_events(
    p_workspace text, p_developer text, p_session uuid, p_turns_before bigint, p_below bigint, p_limit bigint
) returns setof context.event_row
language plpgsql set plan_cache_mode = force_generic_plan as $$
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
    -- Not in the statement: under row-level security PostgreSQL does not use an index for a `coalesce`, and with a
    -- cached plan the window would read the whole session.
    first := coalesce(first, 0);
    return query
        select e.id::text, e.session_id::text, e.sequence, e.type, e.role, e.content, e.parts_text, e.created_at,
               e.content_hash, e.chain_hash, e.erased_at
        from context.session_events e
        where e.workspace_id = p_workspace and e.developer_id = p_developer and e.session_id = p_session
          and e.sequence >= first and e.sequence < below and e.sequence > 0
        order by e.sequence desc
        limit p_limit;
end
$$;

-- turn_start
-- The user message that begins the turn of a given event.
create or replace function context.turn_start(
    p_workspace text, p_developer text, p_session uuid, p_below bigint
) returns setof context.event_row
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select e.id::text, e.session_id::text, e.sequence, e.type, e.role, e.content, e.parts_text, e.created_at,
               e.content_hash, e.chain_hash, e.erased_at
        from context.session_events e
        where e.workspace_id = p_workspace and e.developer_id = p_developer and e.session_id = p_session
          and e.type = 'user_message' and e.sequence < p_below
        order by e.sequence desc
        limit 1;
end
$$;

-- events_after
-- Events in order, after a given sequence: to tail, to export, to verify.
create or replace function context.events_after(
    p_workspace text, p_developer text, p_session uuid, p_after bigint, p_limit bigint
) returns setof context.event_row
language plpgsql set plan_cache_mode = force_generic_plan as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select e.id::text, e.session_id::text, e.sequence, e.type, e.role, e.content, e.parts_text, e.created_at,
               e.content_hash, e.chain_hash, e.erased_at
        from context.session_events e
        where e.workspace_id = p_workspace and e.developer_id = p_developer and e.session_id = p_session
          and e.sequence > p_after and e.sequence > 0
        order by e.sequence
        limit p_limit;
end
$$;

-- turns_below
-- One page for display: the last n turns before a given event, newest first, with long texts cut. The cost of a page
-- does not depend on the length of the session or the size of its events.
create or replace function context.turns_below(
    p_workspace text, p_developer text, p_session uuid, p_below bigint, p_turns_before bigint, p_limit bigint,
    p_chars integer, p_bytes integer
) returns setof context.event_row
language plpgsql set plan_cache_mode = force_generic_plan as $$
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
          and e.sequence >= first and e.sequence < below and e.sequence > 0
        order by e.sequence desc
        limit p_limit;
end
$$;

-- sample_events
-- Events spread evenly over the log of a session, for a chart, at the same cost for any length.
create or replace function context.sample_events(
    p_workspace text, p_developer text, p_session uuid, p_limit bigint
) returns table (sequence bigint, type text, created_at timestamptz, bytes bigint, happened_at text)
language plpgsql as $$
declare
    last bigint;
    many bigint;
    wanted bigint;
begin
    perform holdfast.act_for(p_workspace, p_developer);
    select s.last_sequence, least(s.last_sequence, p_limit) into last, many
    from context.sessions s
    where s.workspace_id = p_workspace and s.developer_id = p_developer and s.id = p_session;
    -- One index lookup for each event: a single statement might be planned as a scan of the session.
    for n in 0 .. coalesce(many, 0) - 1 loop
        wanted := case many when 1 then last else 1 + n * (last - 1) / (many - 1) end;
        return query
            select e.sequence, e.type, e.created_at,
                   (octet_length(e.content) + coalesce(octet_length(e.parts_text), 0))::bigint,
                   e.parts ->> 'happened_at'
            from context.session_events e
            where e.workspace_id = p_workspace and e.developer_id = p_developer and e.session_id = p_session
              and e.sequence >= wanted and e.sequence > 0
            order by e.sequence
            limit 1;
    end loop;
end
$$;

-- last_event_times
-- When the last event of each of these sessions was stored, and when it happened; the ids are a JSON list.
create or replace function context.last_event_times(p_workspace text, p_developer text, p_ids text)
returns table (session_id text, created_at timestamptz, happened_at text)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select s.id::text, e.created_at, e.happened_at
        from jsonb_array_elements_text(p_ids::jsonb) given (id)
        cross join lateral (
            select known.id, known.last_sequence from context.sessions known
            where known.workspace_id = p_workspace and known.developer_id = p_developer and known.id = given.id::uuid
            limit 1
        ) s
        cross join lateral (
            select event.created_at, event.parts ->> 'happened_at' as happened_at from context.session_events event
            where event.workspace_id = p_workspace and event.session_id = s.id and event.sequence = s.last_sequence
              and event.sequence > 0
            order by event.sequence
            limit 1
        ) e;
end
$$;

-- newest_user_messages
-- User messages before a given event, newest first, with long texts cut: the cost does not depend on the length of a
-- turn or of the session.
create or replace function context.newest_user_messages(
    p_workspace text, p_developer text, p_session uuid, p_below bigint, p_limit bigint, p_chars integer
) returns setof context.event_row
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select e.id::text, e.session_id::text, e.sequence, e.type, e.role, left(e.content, p_chars),
               case when octet_length(e.parts_text) <= 1000 then e.parts_text end, e.created_at, e.content_hash,
               e.chain_hash, e.erased_at
        from context.session_events e
        where e.workspace_id = p_workspace and e.developer_id = p_developer and e.session_id = p_session
          and e.type = 'user_message' and e.sequence < p_below
        order by e.sequence desc
        limit p_limit;
end
$$;

-- first_user_messages
-- The first user messages of a session, with long texts cut: among them is the title of a session without a name.
create or replace function context.first_user_messages(
    p_workspace text, p_developer text, p_session uuid, p_limit bigint, p_chars integer
) returns setof context.event_row
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select e.id::text, e.session_id::text, e.sequence, e.type, e.role, left(e.content, p_chars),
               case when octet_length(e.parts_text) <= 1000 then e.parts_text end, e.created_at, e.content_hash,
               e.chain_hash, e.erased_at
        from context.session_events e
        where e.workspace_id = p_workspace and e.developer_id = p_developer and e.session_id = p_session
          and e.type = 'user_message'
        order by e.sequence
        limit p_limit;
end
$$;

-- find_event
-- One event by its id.
create or replace function context.find_event(p_workspace text, p_developer text, p_id uuid)
returns setof context.event_row
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

-- listed_events
-- Those of some events that are in the log; their ids are a JSON list.
create or replace function context.listed_events(p_workspace text, p_developer text, p_ids text)
returns setof context.event_row
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select e.id::text, e.session_id::text, e.sequence, e.type, e.role, e.content, e.parts_text, e.created_at,
               e.content_hash, e.chain_hash, e.erased_at
        from jsonb_array_elements_text(p_ids::jsonb) given (id)
        cross join lateral (
            select event.* from context.session_events event
            where event.workspace_id = p_workspace and event.developer_id = p_developer and event.id = given.id::uuid
            limit 1
        ) e;
end
$$;

-- matching_events
-- A page of the events that contain a text to forget, in JSON as well; all pages read every event of the developer, to
-- miss none.
create or replace function context.matching_events(
    p_workspace text, p_developer text, p_text text, p_escaped text, p_session uuid, p_after bigint, p_limit bigint
) returns setof context.event_row
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select e.id::text, e.session_id::text, e.sequence, e.type, e.role, e.content, e.parts_text, e.created_at,
               e.content_hash, e.chain_hash, e.erased_at
        from context.session_events e
        where e.workspace_id = p_workspace and e.developer_id = p_developer and e.sequence > 0 and e.erased_at is null
          and (e.session_id, e.sequence) > (p_session, p_after)
          and (strpos(e.content, p_text) > 0 or strpos(e.content, p_escaped) > 0 or strpos(e.parts_text, p_escaped) > 0)
        order by e.session_id, e.sequence
        limit p_limit;
end
$$;

-- sessions_with_text
-- A page of the sessions whose scratchpad or metadata contain a text to forget; all pages read every session of the
-- developer, to miss none.
create or replace function context.sessions_with_text(
    p_workspace text, p_developer text, p_escaped text, p_after uuid, p_limit int
) returns table (id text)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select s.id::text
        from context.sessions s join context.session_state t on t.workspace_id = s.workspace_id and t.session_id = s.id
        where s.workspace_id = p_workspace and s.developer_id = p_developer and s.id > p_after
          and (strpos(s.metadata::text, p_escaped) > 0 or strpos(t.scratchpad::text, p_escaped) > 0)
        order by s.id
        limit p_limit;
end
$$;

-- erase_event
-- The tombstone first, because the trigger allows erasing the content only if a tombstone exists. What was seen in the
-- session may quote it.
create or replace function context.erase_event(p_workspace text, p_developer text, p_id uuid, p_reason text)
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
    update context.session_observations o
    set observed = '{}', revision = o.revision + 1, updated_at = clock_timestamp()
    from context.session_events e
    where e.workspace_id = p_workspace and e.developer_id = p_developer and e.id = p_id
      and o.workspace_id = p_workspace and o.developer_id = p_developer and o.session_id = e.session_id;
    return query
        select e.session_id::text, e.sequence, e.erased_at from context.session_events e
        where e.workspace_id = p_workspace and e.developer_id = p_developer and e.id = p_id;
end
$$;

-- rewrite_session
-- What is left of a session's own texts when some were forgotten; the notifications about it are emptied.
create or replace function context.rewrite_session(
    p_workspace text, p_developer text, p_id uuid, p_metadata text, p_scratchpad text
) returns table (revision bigint)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    -- The session first: a process that resumes it holds its lock while it copies the rest.
    return query
        update context.sessions s set metadata = p_metadata::jsonb, revision = s.revision + 1
        where s.workspace_id = p_workspace and s.developer_id = p_developer and s.id = p_id
        returning s.revision;
    update context.session_state st set scratchpad = p_scratchpad::jsonb, updated_at = clock_timestamp()
    where st.workspace_id = p_workspace and st.developer_id = p_developer and st.session_id = p_id;
    update holdfast.outbox o set data = '{}'
    where o.workspace_id = p_workspace and o.developer_id = p_developer and o.topic in ('caco.context', 'session.renamed')
      and o.data ->> 'session_id' = p_id::text;
end
$$;

-- erased_hashes
-- The hashes in the tombstones of a session, to verify its chain without the contents.
create or replace function context.erased_hashes(p_workspace text, p_developer text, p_session uuid)
returns table (event_id text, content_hash bytea)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select x.event_id::text, x.content_hash from context.erasures x
        where x.workspace_id = p_workspace and x.developer_id = p_developer and x.session_id = p_session
          and x.created_at > '-infinity'
        order by x.created_at;
end
$$;

-- get_state
-- The scratchpad of a session.
create or replace function context.get_state(p_workspace text, p_developer text, p_session uuid)
returns table (session_id text, scratchpad text, updated_at timestamptz)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select st.session_id::text, st.scratchpad::text, st.updated_at from context.session_state st
        where st.workspace_id = p_workspace and st.developer_id = p_developer and st.session_id = p_session;
end
$$;

-- session_notes
-- Scratchpads to continue from: those of the given sessions (a JSON list of ids), then those of a worktree that were
-- written last, of p_limit sessions at most that did not begin after a time.
create or replace function context.session_notes(
    p_workspace text, p_developer text, p_worktree text, p_ids text, p_limit bigint, p_until text
) returns table (id text, git_branch text, scratchpad text, cleared text, updated_at timestamptz)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select found.id::text, found.git_branch, state.scratchpad::text, state.cleared::text, state.updated_at
        from jsonb_array_elements_text(p_ids::jsonb) with ordinality given (id, place)
        cross join lateral (
            select s.id, s.git_branch from context.sessions s
            where s.workspace_id = p_workspace and s.developer_id = p_developer and s.id = given.id::uuid
            limit 1
        ) found
        cross join lateral (
            select st.scratchpad, st.cleared, st.updated_at from context.session_state st
            where st.workspace_id = p_workspace and st.session_id = found.id
            limit 1
        ) state
        order by given.place;
    return query
        select found.id::text, found.git_branch, state.scratchpad::text, state.cleared::text, state.updated_at
        from (
            select s.id, s.git_branch, s.noted_at from context.sessions s
            where s.workspace_id = p_workspace and s.developer_id = p_developer
              and s.worktree = p_worktree and s.worktree >= '' and s.noted_at > '-infinity'
              and s.started_at <= coalesce(p_until::timestamptz, 'infinity')
            order by s.noted_at desc, s.id desc
            limit p_limit
        ) found
        cross join lateral (
            select st.scratchpad, st.cleared, st.updated_at from context.session_state st
            where st.workspace_id = p_workspace and st.session_id = found.id
            limit 1
        ) state
        order by found.noted_at desc, found.id desc;
end
$$;

-- update_state
-- Merges a patch into the scratchpad, unless the session has ended. Names that it sets to null are kept apart, so that
-- what an older session noted under them does not come back.
create or replace function context.update_state(
    p_workspace text, p_developer text, p_session uuid, p_patch text, p_cleared text
) returns table (session_id text, scratchpad text, updated_at timestamptz)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    -- A separate statement: the next one sees what was committed while this one waited, in particular the end of the
    -- session.
    perform from context.session_state st
    where st.workspace_id = p_workspace and st.developer_id = p_developer and st.session_id = p_session
    for no key update;
    update context.sessions s set active_at = clock_timestamp(), noted_at = clock_timestamp()
    where s.workspace_id = p_workspace and s.developer_id = p_developer and s.id = p_session and s.ended_at is null
      and p_patch <> '{}';
    return query
        update context.session_state st
        set scratchpad = context.merge_json(st.scratchpad, p_patch::jsonb),
            cleared = context.merge_json(st.cleared, p_cleared::jsonb), updated_at = clock_timestamp()
        where st.workspace_id = p_workspace and st.developer_id = p_developer and st.session_id = p_session
          and exists (select from context.sessions s
                      where s.workspace_id = p_workspace and s.id = p_session and s.ended_at is null)
        returning st.session_id::text, st.scratchpad::text, st.updated_at;
end
$$;

-- count_events
-- The numbers assigned and the rows stored, of the newest sessions: if they differ, an acknowledged event was lost. The
-- newest rows are counted, of p_rows events at most; of the sessions before these, the end of the log is compared.
create or replace function context.count_events(p_workspace text, p_developer text, p_sessions bigint, p_rows bigint)
returns table (numbered bigint, stored bigint, sessions bigint, has_older boolean)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        with newest as (
            select n.id, n.last_sequence, sum(n.last_sequence) over (order by n.started_at desc, n.id desc) <= p_rows as is_counted
            from (select s.id, s.started_at, s.last_sequence from context.sessions s
                  where s.workspace_id = p_workspace and s.developer_id = p_developer
                    and s.started_at > '-infinity' and s.started_at < 'infinity'
                  order by s.started_at desc, s.id desc limit p_sessions) n
        )
        select coalesce(sum(n.last_sequence), 0)::bigint,
               coalesce(sum(case when n.is_counted
                                 -- In order, which only the index of the log has.
                                 then (select count(*) from (select from context.session_events e
                                                             where e.workspace_id = p_workspace and e.session_id = n.id
                                                               and e.sequence > 0
                                                             order by e.sequence limit p_rows) counted)
                                 else (select max(e.sequence) from context.session_events e
                                       where e.workspace_id = p_workspace and e.session_id = n.id and e.sequence > 0)
                            end), 0)::bigint,
               count(*),
               exists (select from context.sessions s
                       where s.workspace_id = p_workspace and s.developer_id = p_developer
                         and s.started_at > '-infinity' and s.started_at < 'infinity'
                       order by s.started_at desc, s.id desc limit 1 offset p_sessions)
        from newest n;
end
$$;

-- hide_session
-- It never was active and noted nothing, so nothing that looks for the last work finds it. Both times are kept aside.
create or replace function context.hide_session(
    p_workspace text, p_developer text, p_client text, p_native_id text
) returns table (id text)
language plpgsql as $$
declare
    found uuid;
begin
    perform holdfast.act_for(p_workspace, p_developer);
    for found in
        select s.id from context.sessions s
        where s.workspace_id = p_workspace and s.developer_id = p_developer and s.client = p_client
          and s.native_id = p_native_id and s.native_id >= '' and s.user_id >= ''
        order by s.started_at desc, s.id desc
    loop
        return query
            update context.sessions s
            set hidden_active_at = coalesce(s.active_at, s.hidden_active_at),
                hidden_noted_at = coalesce(s.noted_at, s.hidden_noted_at), active_at = null, noted_at = null
            where s.workspace_id = p_workspace and s.developer_id = p_developer and s.id = found
            returning s.id::text;
    end loop;
end
$$;

-- show_session
-- It was active and noted something when it did, not now: another session may have been the last one since.
create or replace function context.show_session(
    p_workspace text, p_developer text, p_client text, p_native_id text
) returns table (id text)
language plpgsql as $$
declare
    found uuid;
begin
    perform holdfast.act_for(p_workspace, p_developer);
    for found in
        select s.id from context.sessions s
        where s.workspace_id = p_workspace and s.developer_id = p_developer and s.client = p_client
          and s.native_id = p_native_id and s.native_id >= '' and s.user_id >= ''
        order by s.started_at desc, s.id desc
    loop
        return query
            update context.sessions s
            set active_at = coalesce(s.active_at, s.hidden_active_at),
                noted_at = coalesce(s.noted_at, s.hidden_noted_at), hidden_active_at = null, hidden_noted_at = null
            where s.workspace_id = p_workspace and s.developer_id = p_developer and s.id = found
            returning s.id::text;
    end loop;
end
$$;

-- find_capture
-- What is known of a client's own session, or of one of its transcripts, beside its log.
create or replace function context.find_capture(
    p_workspace text, p_developer text, p_client text, p_native_id text, p_source text
) returns table (state text, revision bigint)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select c.state::text, c.revision from context.captures c
        where c.workspace_id = p_workspace and c.developer_id = p_developer and c.client = p_client
          and c.native_id = p_native_id and c.source = p_source;
end
$$;

-- list_captures
-- The same of many sessions of a client; their ids are a JSON list.
create or replace function context.list_captures(p_workspace text, p_developer text, p_client text, p_ids text)
returns table (native_id text, state text)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select c.native_id, c.state::text
        from jsonb_array_elements_text(p_ids::jsonb) given (id)
        cross join lateral (
            select known.native_id, known.state from context.captures known
            where known.workspace_id = p_workspace and known.developer_id = p_developer
              and known.client = p_client and known.native_id = given.id and known.source = ''
            limit 1
        ) c;
end
$$;

-- save_capture
-- Only on top of the revision that was read (0 where there was none); no row where another process was faster.
create or replace function context.save_capture(
    p_workspace text, p_developer text, p_client text, p_native_id text, p_source text, p_state text,
    p_expected bigint
) returns table (revision bigint)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    if p_expected = 0 then
        return query
            insert into context.captures as c
                   (workspace_id, developer_id, client, native_id, source, state, revision, updated_at)
            values (p_workspace, p_developer, p_client, p_native_id, p_source, p_state::jsonb, 1, clock_timestamp())
            on conflict do nothing
            returning c.revision;
        return;
    end if;
    return query
        update context.captures c set state = p_state::jsonb, revision = c.revision + 1, updated_at = clock_timestamp()
        where c.workspace_id = p_workspace and c.developer_id = p_developer and c.client = p_client
          and c.native_id = p_native_id and c.source = p_source and c.revision = p_expected
        returning c.revision;
end
$$;

-- list_observed
-- What was seen in some sessions, whose ids are a JSON list.
create or replace function context.list_observed(p_workspace text, p_developer text, p_ids text)
returns table (session_id text, observed text, revision bigint)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select o.session_id::text, o.observed::text, o.revision
        from jsonb_array_elements_text(p_ids::jsonb) given (id)
        cross join lateral (
            select known.session_id, known.observed, known.revision from context.session_observations known
            where known.workspace_id = p_workspace and known.developer_id = p_developer
              and known.session_id = given.id::uuid
            limit 1
        ) o;
end
$$;

-- save_observed
-- Only on top of the revision that was read (0 where there was none); no row where another process was faster.
create or replace function context.save_observed(
    p_workspace text, p_developer text, p_session uuid, p_observed text, p_expected bigint
) returns table (revision bigint)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    if p_expected = 0 then
        return query
            insert into context.session_observations as o
                   (workspace_id, developer_id, session_id, observed, revision, updated_at)
            values (p_workspace, p_developer, p_session, p_observed::jsonb, 1, clock_timestamp())
            on conflict do nothing
            returning o.revision;
        return;
    end if;
    return query
        update context.session_observations o
        set observed = p_observed::jsonb, revision = o.revision + 1, updated_at = clock_timestamp()
        where o.workspace_id = p_workspace and o.developer_id = p_developer and o.session_id = p_session
          and o.revision = p_expected
        returning o.revision;
end
$$;

-- sessions_to_prune
-- A page of the sessions that ended before a time and still have contents, in the order of their ids.
create or replace function context.sessions_to_prune(
    p_workspace text, p_developer text, p_before text, p_after uuid, p_limit int
) returns table (id text)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select s.id::text
        from context.sessions s
        where s.workspace_id = p_workspace and s.developer_id = p_developer and s.ended_at < p_before::timestamptz
          and s.id > p_after
          and (s.metadata -> 'context' <> '{}' or s.metadata - 'context' <> '{}'
               or exists (select from context.session_state t
                          where t.workspace_id = p_workspace and t.session_id = s.id and t.scratchpad <> '{}')
               or exists (select from context.session_events e
                          where e.workspace_id = p_workspace and e.session_id = s.id and e.sequence > 0
                            and e.erased_at is null))
        order by s.id
        limit p_limit;
end
$$;

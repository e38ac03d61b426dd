-- act_for
-- Who asks, for this transaction only; the policies read it, and unset means no rows.
create or replace function holdfast.act_for(p_workspace text, p_developer text) returns void
language plpgsql as $$
begin
    perform set_config('holdfast.workspace', p_workspace, true), set_config('holdfast.developer', p_developer, true);
end
$$;

-- tell
-- One more entry in the outbox. Ids are handed out under a lock that is held until the commit, so that they appear
-- in the order of the commits and a reader that has seen n misses none. A bare sequence skips: a later id can be
-- visible before an earlier one.
create or replace function holdfast.tell(p_workspace text, p_developer text, p_topic text, p_data jsonb)
returns void
language plpgsql as $$
begin
    perform pg_advisory_xact_lock(hashtextextended('holdfast.outbox:' || p_workspace, 0));
    insert into holdfast.outbox (workspace_id, developer_id, topic, data, created_at)
    values (p_workspace, p_developer, p_topic, p_data, clock_timestamp());
end
$$;

-- outbox_after
-- What happened beyond a cursor, in the order of the commits.
create or replace function holdfast.outbox_after(
    p_workspace text, p_developer text, p_after bigint, p_limit int
) returns table (id bigint, topic text, data text, created_at timestamptz)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select o.id, o.topic, o.data::text, o.created_at
        from holdfast.outbox o
        where o.workspace_id = p_workspace and o.developer_id = p_developer and o.id > p_after and o.data <> '{}'
        order by o.id
        limit p_limit;
end
$$;

-- outbox_end
-- Where a listener starts who wants only what is to come.
create or replace function holdfast.outbox_end(p_workspace text, p_developer text)
returns table (id bigint)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select coalesce(max(o.id), 0)
        from holdfast.outbox o
        where o.workspace_id = p_workspace and o.developer_id = p_developer;
end
$$;

-- find_key
-- Whether a request was done already, with which content, and what it was about.
create or replace function holdfast.find_key(p_workspace text, p_developer text, p_operation text, p_key text)
returns table (request_hash bytea, subject text)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select k.request_hash, k.subject from holdfast.idempotency_keys k
        where k.workspace_id = p_workspace and k.developer_id = p_developer and k.operation = p_operation and k.key = p_key;
end
$$;

-- keep_key
-- Notes a request in the transaction that does it. Where two bring the same key at once, the second waits here for
-- the first, fails, and finds the key when it tries again.
create or replace function holdfast.keep_key(
    p_workspace text, p_developer text, p_operation text, p_key text, p_request_hash bytea, p_subject text
) returns table (subject text)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    insert into holdfast.idempotency_keys (workspace_id, developer_id, operation, key, request_hash, subject, created_at)
    values (p_workspace, p_developer, p_operation, p_key, p_request_hash, p_subject, clock_timestamp());
    return query select p_subject;
end
$$;

-- beat
-- A write that means nothing, to see whether writing works.
create or replace function holdfast.beat(p_workspace text, p_developer text) returns table (beats bigint)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        insert into holdfast.heartbeats as h (workspace_id, developer_id, beats) values (p_workspace, p_developer, 1)
        on conflict (workspace_id, developer_id) do update set beats = h.beats + 1
        returning h.beats;
end
$$;

-- last_beat
-- The read that belongs to it.
create or replace function holdfast.last_beat(p_workspace text, p_developer text) returns table (beats bigint)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select h.beats from holdfast.heartbeats h where h.workspace_id = p_workspace and h.developer_id = p_developer;
end
$$;

-- keep_entry
-- One document more in the journal; the same id again finds the first.
create or replace function holdfast.keep_entry(
    p_workspace text, p_developer text, p_id uuid, p_kind text, p_subject text, p_content text
) returns table (id text, subject text, content text, created_at timestamptz, erased_at timestamptz)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    insert into holdfast.journal (workspace_id, developer_id, id, kind, subject, content, created_at)
    values (p_workspace, p_developer, p_id, p_kind, p_subject, p_content, clock_timestamp())
    on conflict on constraint journal_pkey do nothing;
    return query
        select j.id::text, j.subject, j.content, j.created_at, j.erased_at from holdfast.journal j
        where j.workspace_id = p_workspace and j.developer_id = p_developer and j.id = p_id;
end
$$;

-- find_entry
-- One document by its id, if it is this developer's and of this kind.
create or replace function holdfast.find_entry(p_workspace text, p_developer text, p_kind text, p_id uuid)
returns table (id text, subject text, content text, created_at timestamptz, erased_at timestamptz)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select j.id::text, j.subject, j.content, j.created_at, j.erased_at from holdfast.journal j
        where j.workspace_id = p_workspace and j.developer_id = p_developer and j.id = p_id and j.kind = p_kind;
end
$$;

-- newest_entries
-- The newest documents about one subject; numbers rise.
create or replace function holdfast.newest_entries(
    p_workspace text, p_developer text, p_kind text, p_subject text, p_limit bigint
) returns table (id text, subject text, content text, created_at timestamptz, erased_at timestamptz)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select j.id::text, j.subject, j.content, j.created_at, j.erased_at from holdfast.journal j
        where j.workspace_id = p_workspace and j.developer_id = p_developer and j.kind = p_kind and j.subject = p_subject
        order by j.number desc
        limit p_limit;
end
$$;

-- newest_of_kind
-- The newest documents of a kind, whatever they are about.
create or replace function holdfast.newest_of_kind(
    p_workspace text, p_developer text, p_kind text, p_limit bigint
) returns table (id text, subject text, content text, created_at timestamptz, erased_at timestamptz)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select j.id::text, j.subject, j.content, j.created_at, j.erased_at from holdfast.journal j
        where j.workspace_id = p_workspace and j.developer_id = p_developer and j.kind = p_kind
        order by j.number desc
        limit p_limit;
end
$$;

-- entries_with_text
-- Which documents hold a text exactly as it is written.
create or replace function holdfast.entries_with_text(p_workspace text, p_developer text, p_text text)
returns table (id text, kind text)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select j.id::text, j.kind from holdfast.journal j
        where j.workspace_id = p_workspace and j.developer_id = p_developer and j.erased_at is null
          and strpos(j.content, p_text) > 0
        order by j.id;
end
$$;

-- erase_entry
-- Empty one document and leave its place.
create or replace function holdfast.erase_entry(p_workspace text, p_developer text, p_id uuid)
returns table (id text)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        update holdfast.journal j set content = '', erased_at = clock_timestamp()
        where j.workspace_id = p_workspace and j.developer_id = p_developer and j.id = p_id and j.erased_at is null
        returning j.id::text;
end
$$;

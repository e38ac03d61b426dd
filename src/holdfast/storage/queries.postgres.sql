-- act_for
-- Sets the caller for this transaction only; the policies read it, and unset means no rows. A plan is kept while the
-- table grows: one that reads the whole of a small table is right only at first. A lock is waited for less long than its
-- caller waits for the answer, so that the caller learns the reason; the administrator's own limit stays.
create or replace function holdfast.act_for(p_workspace text, p_developer text) returns void
language plpgsql as $$
begin
    perform set_config('holdfast.workspace', p_workspace, true), set_config('holdfast.developer', p_developer, true),
            set_config('enable_seqscan', 'off', true),
            set_config('lock_timeout', coalesce(nullif(current_setting('lock_timeout'), '0'), '10s'), true);
end
$$;

-- notify
-- Adds an entry to the outbox. Ids are assigned under a lock that is held until the commit, so that they appear in the
-- order of the commits and a reader that has seen n misses none. With a bare sequence a reader can miss rows: a later
-- id can be visible before an earlier one; and its numbers tell one developer how much all others do.
create or replace function holdfast.notify(p_workspace text, p_developer text, p_topic text, p_data jsonb)
returns void
language plpgsql as $$
begin
    perform pg_advisory_xact_lock(hashtextextended(format('holdfast.outbox:%s:%s', p_workspace, p_developer), 0));
    insert into holdfast.outbox (workspace_id, developer_id, id, topic, data, created_at)
    select p_workspace, p_developer, coalesce(max(o.id), 0) + 1, p_topic, p_data, clock_timestamp()
    from holdfast.outbox o where o.workspace_id = p_workspace and o.developer_id = p_developer and o.id > 0;
end
$$;

-- outbox_after
-- The entries after a cursor, in the order of the commits.
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
-- The cursor of a listener that wants only future entries.
create or replace function holdfast.outbox_end(p_workspace text, p_developer text)
returns table (id bigint)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select coalesce(max(o.id), 0)
        from holdfast.outbox o
        where o.workspace_id = p_workspace and o.developer_id = p_developer and o.id > 0;
end
$$;

-- find_key
-- Whether a request was already executed, the hash of its content, and its subject. An answer from what is found is an
-- acknowledgement: with synchronous replication it waits for a standby, as the write does whose wait may have been ended.
create or replace function holdfast.find_key(p_workspace text, p_developer text, p_operation text, p_key text)
returns table (request_hash bytea, subject text)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select k.request_hash, k.subject from holdfast.idempotency_keys k
        where k.workspace_id = p_workspace and k.developer_id = p_developer and k.operation = p_operation and k.key = p_key;
    if found then
        perform pg_logical_emit_message(true, 'holdfast', '');  -- a commit waits only if it has written something
    end if;
end
$$;

-- keep_key
-- Records a request in the transaction of its effect. If two requests have the same key at the same time, the second
-- waits here for the first, fails, and finds the key when it is repeated.
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
-- A write without content, to test whether writing works.
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
-- The read that checks that write.
create or replace function holdfast.last_beat(p_workspace text, p_developer text) returns table (beats bigint)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select h.beats from holdfast.heartbeats h where h.workspace_id = p_workspace and h.developer_id = p_developer;
end
$$;

-- keep_entry
-- Adds a document to the journal; if the id exists, returns the existing document.
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
-- The newest documents about one subject; numbers increase.
create or replace function holdfast.newest_entries(
    p_workspace text, p_developer text, p_kind text, p_subject text, p_limit bigint
) returns table (id text, subject text, content text, created_at timestamptz, erased_at timestamptz)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select j.id::text, j.subject, j.content, j.created_at, j.erased_at from holdfast.journal j
        where j.workspace_id = p_workspace and j.developer_id = p_developer and j.kind = p_kind and j.subject = p_subject
          and j.subject >= ''
        order by j.number desc
        limit p_limit;
end
$$;

-- newest_by_subject
-- The newest document about each subject of a range: one step of the index for each, however many documents it has.
create or replace function holdfast.newest_by_subject(
    p_workspace text, p_developer text, p_kind text, p_from text, p_to text, p_limit bigint
) returns table (id text, subject text, content text, created_at timestamptz, erased_at timestamptz)
language plpgsql as $$
declare
    found_subject text := p_from;
begin
    perform holdfast.act_for(p_workspace, p_developer);
    for step in 1 .. p_limit loop
        select j.subject into found_subject from holdfast.journal j
        where j.workspace_id = p_workspace and j.developer_id = p_developer and j.kind = p_kind
          and j.subject > found_subject collate "C" and j.subject < p_to collate "C" and j.subject >= ''
        order by j.subject
        limit 1;
        exit when found_subject is null;
        return query
            select j.id::text, j.subject, j.content, j.created_at, j.erased_at from holdfast.journal j
            where j.workspace_id = p_workspace and j.developer_id = p_developer and j.kind = p_kind
              and j.subject = found_subject collate "C" and j.subject >= ''
            order by j.number desc
            limit 1;
    end loop;
end
$$;

-- newest_of_kind
-- The newest documents of a kind, for all subjects.
create or replace function holdfast.newest_of_kind(
    p_workspace text, p_developer text, p_kind text, p_limit bigint
) returns table (id text, subject text, content text, created_at timestamptz, erased_at timestamptz)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select j.id::text, j.subject, j.content, j.created_at, j.erased_at from holdfast.journal j
        where j.workspace_id = p_workspace and j.developer_id = p_developer and j.kind = p_kind and j.number > 0
        order by j.number desc
        limit p_limit;
end
$$;

-- entries_with_text
-- A page of the documents that contain an exact text; all pages read every document of the developer, to miss none.
create or replace function holdfast.entries_with_text(
    p_workspace text, p_developer text, p_text text, p_after uuid, p_limit int
) returns table (id text, kind text)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select j.id::text, j.kind from holdfast.journal j
        where j.workspace_id = p_workspace and j.developer_id = p_developer and j.erased_at is null
          and j.id > p_after and strpos(j.content, p_text) > 0
        order by j.id
        limit p_limit;
end
$$;

-- erase_entry
-- Empties one document and keeps its row.
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

-- list_owners
-- Whose rows a workspace has, private developers too: for retention, which is decided for all of them. Only the owner of
-- the tables sees them.
create or replace function holdfast.list_owners(p_workspace text, p_developer text) returns table (developer_id text)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    perform set_config('holdfast.pruning', 'yes', true);
    return query
        select s.developer_id from context.sessions s where s.workspace_id = p_workspace
        union
        select d.developer_id from team.developers d where d.workspace_id = p_workspace
        order by 1;
    perform set_config('holdfast.pruning', '', true);
end
$$;

-- count_receipts
-- How many receipts from before a time still have their text.
create or replace function holdfast.count_receipts(p_workspace text, p_developer text, p_before text)
returns table (receipts bigint)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select count(*) from holdfast.journal j
        where j.workspace_id = p_workspace and j.developer_id = p_developer and j.kind = 'receipt' and j.number > 0
          and j.created_at < p_before::timestamptz and j.erased_at is null;
end
$$;

-- erase_receipts
-- Empties them: they quote sessions.
create or replace function holdfast.erase_receipts(p_workspace text, p_developer text, p_before text)
returns table (id text)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        update holdfast.journal j set content = '', erased_at = clock_timestamp()
        where j.workspace_id = p_workspace and j.developer_id = p_developer and j.kind = 'receipt' and j.number > 0
          and j.created_at < p_before::timestamptz and j.erased_at is null
        returning j.id::text;
end
$$;

-- keep_pruning
-- The audit row, which also allows emptying what ended before its time.
create or replace function holdfast.keep_pruning(
    p_workspace text, p_developer text, p_id uuid, p_before text, p_found text
) returns table (id text)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        insert into holdfast.prunings as p (workspace_id, developer_id, id, before_at, found, created_at)
        values (p_workspace, p_developer, p_id, p_before::timestamptz, p_found::jsonb, clock_timestamp())
        returning p.id::text;
end
$$;

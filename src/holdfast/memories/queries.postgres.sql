-- is_own
-- Whether a row belongs to this developer.
create or replace function memori.is_own(m memori.memories, p_workspace text, p_developer text)
returns boolean
language sql immutable as 'select m.workspace_id = p_workspace and m.developer_id = p_developer';

-- words_of
-- The words that a row is found by.
create or replace function memori.words_of(m memori.memories) returns text
language sql immutable as $$ select array_to_string(tsvector_to_array(m.content_tsv), ' ') $$;

-- as_query
-- One word as the index of words is asked for it.
create or replace function memori.as_query(p_word text) returns tsquery
language sql immutable as 'select quote_literal(p_word)::tsquery';

-- empty
-- Takes the text out of a row; the tombstone is there already.
create or replace function memori.empty(p_id text) returns void
language sql as $$
    update memori.memories set content = '', content_tsv = '', category = null, metadata = '{}',
           erased_at = clock_timestamp(), updated_at = clock_timestamp()
    where workspace_id = current_setting('holdfast.workspace') and developer_id = current_setting('holdfast.developer')
      and id = p_id and erased_at is null
$$;

-- as_row
-- One row for every function that answers with memories. JSON goes out as text: a pool may have its own codec for
-- jsonb.
create or replace function memori.as_row(m memori.memories) returns memori.memory_row
language sql stable as $$
    select row(m.id::text, m.user_id::text, m.content, m.category::text, coalesce(m.metadata::text, '{}'),
               coalesce(m.source_type, 'bootstrap'), coalesce(m.confidence, 0.80)::double precision,
               coalesce(m.lineage::text, '[]'), m.last_used_at, coalesce(m.use_count, 0)::bigint, m.expires_at,
               coalesce(m.created_at, m.updated_at, now()), coalesce(m.updated_at, m.created_at, now()), m.erased_at,
               memori.words_of(m))::memori.memory_row
$$;

-- hold
-- Everybody who would say or forget the same waits here; the statement after it sees what was committed meanwhile.
create or replace function memori.hold(p_workspace text, p_developer text, p_hash bytea) returns void
language plpgsql as $$
begin
    perform pg_advisory_xact_lock(
        hashtextextended(format('holdfast.memory:%s:%s:%s', p_workspace, p_developer, encode(p_hash, 'hex')), 0));
end
$$;

-- find_memory
-- One memory by its id, with the words that it is found by.
create or replace function memori.find_memory(p_workspace text, p_developer text, p_id text)
returns setof memori.memory_row
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select (memori.as_row(m)).* from memori.memories m
        where memori.is_own(m, p_workspace, p_developer) and m.id::text = p_id;
end
$$;

-- lock_memory
-- The same, held until the transaction ends.
create or replace function memori.lock_memory(p_workspace text, p_developer text, p_id text)
returns setof memori.memory_row
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select (memori.as_row(m)).* from memori.memories m
        where memori.is_own(m, p_workspace, p_developer) and m.id::text = p_id
        for no key update;
end
$$;

-- lock_content
-- The memory that says this already, held with everybody else who would say it; the text itself finds foreign rows.
create or replace function memori.lock_content(
    p_workspace text, p_developer text, p_hash bytea, p_content text
) returns setof memori.memory_row
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    perform memori.hold(p_workspace, p_developer, p_hash);
    return query
        select (memori.as_row(m)).* from memori.memories m
        where memori.is_own(m, p_workspace, p_developer) and m.content_hash = p_hash and m.erased_at is null
        limit 1
        for no key update;
    if not found and memori.is_adopted() then
        return query
            select (memori.as_row(m)).* from memori.memories m
            where md5(m.content) = md5(p_content) and m.content_hash is null and m.erased_at is null
            order by m.id
            limit 1
            for no key update;
    end if;
end
$$;

-- find_tombstone
-- Whether a text was forgotten, and when.
create or replace function memori.find_tombstone(p_workspace text, p_developer text, p_hash bytea)
returns table (memory_id text, created_at timestamptz)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select t.memory_id, t.created_at from memori.memory_tombstones t
        where t.workspace_id = p_workspace and t.developer_id = p_developer and t.content_hash = p_hash;
end
$$;

-- find_tombstones
-- Which of these hashes belong to texts that were forgotten; somebody else's table may have them again.
create or replace function memori.find_tombstones(p_workspace text, p_developer text, p_hashes text)
returns table (content_hash bytea)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select t.content_hash from memori.memory_tombstones t
        where t.workspace_id = p_workspace and t.developer_id = p_developer
          and t.content_hash = any (array(select decode(one, 'hex') from jsonb_array_elements_text(p_hashes::jsonb) one));
end
$$;

-- add_memory
-- A new one; nothing where its id is taken.
create or replace function memori.add_memory(
    p_workspace text, p_developer text, p_id text, p_user_id text, p_content text, p_hash bytea, p_words text,
    p_category text, p_metadata text, p_source_type text, p_confidence double precision, p_lineage text,
    p_last_used_at text, p_use_count bigint, p_expires_at text, p_created_at text, p_updated_at text
) returns setof memori.memory_row
language plpgsql as $$
declare
    more_columns text;
    more_values text;
begin
    perform holdfast.act_for(p_workspace, p_developer);
    if not memori.is_adopted() then
        return query
            insert into memori.memories as m (
                workspace_id, developer_id, id, user_id, content, content_hash, content_tsv, category, metadata, source_type,
                confidence, lineage, last_used_at, use_count, expires_at, created_at, updated_at)
            values (p_workspace, p_developer, p_id, p_user_id, p_content, p_hash,
                    array_to_tsvector(array(select jsonb_array_elements_text(p_words::jsonb))), p_category, p_metadata::jsonb,
                    p_source_type, p_confidence::numeric(3,2), p_lineage::jsonb, p_last_used_at::timestamptz, p_use_count,
                    p_expires_at::timestamptz, coalesce(p_created_at::timestamptz, clock_timestamp()),
                    coalesce(p_updated_at::timestamptz, clock_timestamp()))
            on conflict (workspace_id, developer_id, id) do nothing
            returning (memori.as_row(m)).*;
        return;
    end if;
    -- An id as the table makes it; where it makes none, ours, or the next number.
    select case when a.atthasdef or a.attidentity <> '' then '' else 'id, ' end,
           case when a.atthasdef or a.attidentity <> '' then ''
                when a.atttypid in ('uuid'::regtype, 'text'::regtype, 'varchar'::regtype)
                    then format('%L::%s, ', p_id, a.atttypid::regtype)
                else '(select coalesce(max(id), 0) + 1 from memori.memories), ' end
    into more_columns, more_values
    from pg_attribute a where a.attrelid = 'memori.memories'::regclass and a.attname = 'id';
    if (select a.attgenerated = '' from pg_attribute a
        where a.attrelid = 'memori.memories'::regclass and a.attname = 'content_tsv') then
        more_columns := more_columns || 'content_tsv, ';
        more_values := more_values || format('to_tsvector(''english'', %L), ', p_content);
    end if;
    if more_values like '(select%' then
        perform pg_advisory_xact_lock(hashtextextended('holdfast.memory.next_number', 0));
    end if;
    return query execute format(
        'insert into memori.memories as m (%s user_id, content, content_hash, category, metadata, source_type, confidence,
             lineage, last_used_at, use_count, expires_at, created_at, updated_at)
         values (%s $1, $2, $3, $4, $5::jsonb, $6, $7::numeric(3,2), $8::jsonb, $9::timestamptz, $10, $11::timestamptz,
                 coalesce($12::timestamptz, clock_timestamp()), coalesce($13::timestamptz, clock_timestamp()))
         returning (memori.as_row(m)).*', more_columns, more_values)
    using p_user_id, p_content, p_hash, p_category, p_metadata, p_source_type, p_confidence, p_lineage, p_last_used_at,
          p_use_count, p_expires_at, p_created_at, p_updated_at;
end
$$;

-- save_judgement
-- What a memory's belief, lineage and end are now.
create or replace function memori.save_judgement(
    p_workspace text, p_developer text, p_id text, p_confidence double precision, p_lineage text, p_expires_at text
) returns setof memori.memory_row
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        update memori.memories m
        set confidence = p_confidence::numeric(3,2), lineage = p_lineage::jsonb, expires_at = p_expires_at::timestamptz,
            updated_at = clock_timestamp()
        where memori.is_own(m, p_workspace, p_developer) and m.id::text = p_id and m.erased_at is null
        returning (memori.as_row(m)).*;
end
$$;

-- expire_memory
-- From now on it answers no question; nothing of it is removed.
create or replace function memori.expire_memory(p_workspace text, p_developer text, p_id text)
returns setof memori.memory_row
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    update memori.memories m set expires_at = clock_timestamp(), updated_at = clock_timestamp()
    where memori.is_own(m, p_workspace, p_developer) and m.id::text = p_id and m.erased_at is null
      and (m.expires_at is null or m.expires_at > clock_timestamp());
    return query
        select (memori.as_row(m)).* from memori.memories m
        where memori.is_own(m, p_workspace, p_developer) and m.id::text = p_id;
end
$$;

-- forget_memory
-- The tombstone first, because the trigger lets the text go only where one stands.
create or replace function memori.forget_memory(
    p_workspace text, p_developer text, p_id text, p_hash bytea, p_reason text
) returns setof memori.memory_row
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    perform memori.hold(p_workspace, p_developer, p_hash);
    insert into memori.memory_tombstones (workspace_id, developer_id, content_hash, memory_id, reason, created_at)
    select p_workspace, p_developer, p_hash, p_id, p_reason, clock_timestamp()
    from memori.memories m
    where memori.is_own(m, p_workspace, p_developer) and m.id::text = p_id and m.erased_at is null
    on conflict do nothing;
    perform memori.empty(p_id);
    return query
        select (memori.as_row(m)).* from memori.memories m
        where memori.is_own(m, p_workspace, p_developer) and m.id::text = p_id;
end
$$;

-- list_memories
-- The oldest first, beyond a given one, so that a reader pages through any number of them.
create or replace function memori.list_memories(
    p_workspace text, p_developer text, p_below text, p_limit bigint
) returns setof memori.memory_row
language plpgsql as $$
declare
    edge timestamptz;
    below text := coalesce(p_below, '');
begin
    perform holdfast.act_for(p_workspace, p_developer);
    select m.created_at into edge from memori.memories m
    where memori.is_own(m, p_workspace, p_developer) and m.id::text = p_below;
    -- Not in the statement: under row-level security PostgreSQL does not look up a `coalesce` in an index.
    edge := coalesce(edge, '-infinity');
    return query
        select (memori.as_row(m)).* from memori.memories m
        where memori.is_own(m, p_workspace, p_developer) and m.erased_at is null
          and (m.created_at, m.id::text) > (edge, below)
        order by m.created_at, m.id::text
        limit p_limit;
end
$$;

-- newest_memories
-- The newest first, below a given one, as a person looks at them; expired ones are still there.
create or replace function memori.newest_memories(
    p_workspace text, p_developer text, p_below text, p_limit bigint
) returns setof memori.memory_row
language plpgsql as $$
declare
    edge timestamptz;
    below text := coalesce(p_below, '');
begin
    perform holdfast.act_for(p_workspace, p_developer);
    select m.created_at into edge from memori.memories m
    where memori.is_own(m, p_workspace, p_developer) and m.id::text = p_below;
    -- Not in the statement: under row-level security PostgreSQL does not look up a `coalesce` in an index.
    edge := coalesce(edge, 'infinity');
    return query
        select (memori.as_row(m)).* from memori.memories m
        where memori.is_own(m, p_workspace, p_developer) and m.erased_at is null
          and (m.created_at, m.id::text) < (edge, below)
        order by m.created_at desc, m.id::text desc
        limit p_limit;
end
$$;

-- matching_memories
-- What a person wants to forget by its words; reads every memory of the developer, to miss none.
create or replace function memori.matching_memories(
    p_workspace text, p_developer text, p_text text, p_escaped text
) returns setof memori.memory_row
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select (memori.as_row(m)).* from memori.memories m
        where memori.is_own(m, p_workspace, p_developer) and m.erased_at is null
          and (strpos(m.content, p_text) > 0 or strpos(m.category, p_text) > 0 or strpos(m.metadata::text, p_escaped) > 0)
        order by m.created_at, m.id;
end
$$;

-- count_words
-- In how many memories each word is, and under '' how many memories there are: enough to tell rare from common. As
-- the owner, because the index of words is out of reach otherwise.
create or replace function memori.count_words(
    p_workspace text, p_developer text, p_words text, p_most bigint, p_now text
) returns table (word text, memories bigint)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    asked tsquery;
begin
    perform holdfast.act_for(p_workspace, p_developer), set_config('holdfast.searching', 'yes', true);
    for word in select jsonb_array_elements_text(p_words::jsonb) loop
        asked := memori.as_query(word);
        select count(*) into memories from
            (select from memori.memories m
             where memori.is_own(m, p_workspace, p_developer) and m.content_tsv @@ asked
               and m.erased_at is null and (m.expires_at is null or m.expires_at > p_now::timestamptz)
             limit p_most) x;
        return next;
    end loop;
    word := '';
    select count(*) into memories from
        (select from memori.memories m
         where memori.is_own(m, p_workspace, p_developer) and m.erased_at is null
         limit 10 * p_most) x;
    return next;
    perform set_config('holdfast.searching', '', true);
end
$$;

-- find_candidates
-- Memories with at least one of these words, the newest first; which of them are answers is decided by a rule. As the
-- owner, like count_words.
create or replace function memori.find_candidates(
    p_workspace text, p_developer text, p_words text, p_limit bigint, p_now text
) returns setof memori.memory_row
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    asked tsquery;
    one text;
begin
    perform holdfast.act_for(p_workspace, p_developer), set_config('holdfast.searching', 'yes', true);
    for one in select jsonb_array_elements_text(p_words::jsonb) loop
        asked := case when asked is null then memori.as_query(one) else asked || memori.as_query(one) end;
    end loop;
    return query
        select (memori.as_row(m)).* from memori.memories m
        where memori.is_own(m, p_workspace, p_developer) and m.content_tsv @@ asked
          and m.erased_at is null and (m.expires_at is null or m.expires_at > p_now::timestamptz)
        order by m.updated_at desc, m.id desc
        limit p_limit;
    perform set_config('holdfast.searching', '', true);
end
$$;

-- note_use
-- That these were answers, once more each; one statement for all of them.
create or replace function memori.note_use(p_workspace text, p_developer text, p_ids text)
returns table (id text)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        update memori.memories m set use_count = coalesce(m.use_count, 0) + 1, last_used_at = clock_timestamp()
        where memori.is_own(m, p_workspace, p_developer) and m.erased_at is null
          and m.id::text = any (array(select jsonb_array_elements_text(p_ids::jsonb)))
        returning m.id::text;
end
$$;

-- find_adoption
-- Whether somebody else made the table of memories, so that no wall stands in it.
create or replace function memori.find_adoption(p_workspace text, p_developer text)
returns table (adopted boolean)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query select memori.is_adopted();
end
$$;

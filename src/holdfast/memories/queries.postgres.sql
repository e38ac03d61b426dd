-- is_own
-- Whether a row belongs to this developer.
create or replace function memori.is_own(m memori.memories, p_workspace text, p_developer text)
returns boolean
language sql immutable as 'select m.workspace_id = p_workspace and m.developer_id = p_developer';

-- words_of
-- The words that a search finds a row by.
create or replace function memori.words_of(m memori.memories) returns text
language sql stable as $$ select array_to_string(tsvector_to_array(m.content_tsv), ' ') $$;

-- as_query
-- One word as a query for the index of words; a word that ends with an asterisk is the beginning of a word.
create or replace function memori.as_query(p_word text) returns tsquery
language sql immutable as $$
    select (quote_literal(rtrim(p_word, '*')) || case when p_word like '%*' then ':*' else '' end)::tsquery
$$;

-- join_words
-- Words as one query for the index: memories with any of them, or, with `&&`, with all of them.
create or replace function memori.join_words(p_words text, p_operator text) returns tsquery
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
    joined tsquery;
    word text;
begin
    for word in select jsonb_array_elements_text(p_words::jsonb) loop
        joined := case when joined is null then memori.as_query(word)
                       when p_operator = '&&' then joined && memori.as_query(word)
                       else joined || memori.as_query(word) end;
    end loop;
    return joined;
end
$$;

-- is_of_kind
-- Whether a row has the namespace and the category that were asked for; null is any.
create or replace function memori.is_of_kind(m memori.memories, p_namespace text, p_category text)
returns boolean
language sql immutable as $$
    select (p_namespace is null or m.user_id::text = p_namespace) and (p_category is null or m.category::text = p_category)
$$;

-- empty
-- Removes the text of a row; the tombstone already exists.
create or replace function memori.empty(p_id text) returns void
language sql as $$
    update memori.memories set content = '', content_tsv = '', category = null, metadata = '{}',
           erased_at = clock_timestamp(), updated_at = clock_timestamp()
    where workspace_id = current_setting('holdfast.workspace') and developer_id = current_setting('holdfast.developer')
      and id = p_id and erased_at is null
$$;

-- as_row
-- The result row of every function that returns memories. JSON is returned as text: a pool may have its own codec for
-- jsonb.
create or replace function memori.as_row(m memori.memories) returns memori.memory_row
language sql stable as $$
    select row(m.id::text, m.user_id::text, m.content, m.category::text, coalesce(m.metadata::text, '{}'),
               coalesce(m.source_type, 'bootstrap'), coalesce(m.confidence, 0.80)::double precision,
               coalesce(m.lineage::text, '[]'), m.last_used_at, coalesce(m.use_count, 0)::bigint, m.expires_at,
               coalesce(m.created_at, m.updated_at, now()), coalesce(m.updated_at, m.created_at, now()), m.erased_at,
               memori.words_of(m))::memori.memory_row
$$;

-- find_memory
-- One memory by its id, with the words that a search finds it by.
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

-- hold_content
-- A lock per content: transactions that store or forget the same text wait here, and the next statement sees what was
-- committed in the meantime. Always taken before the lock of a row, so that no two transactions wait for each other.
create or replace function memori.hold_content(p_workspace text, p_developer text, p_hash bytea)
returns table (held boolean)
language plpgsql as $$
begin
    perform pg_advisory_xact_lock(
        hashtextextended(format('holdfast.memory:%s:%s:%s', p_workspace, p_developer, encode(p_hash, 'hex')), 0));
    return query select true;
end
$$;

-- lock_memory
-- The same, with a lock until the transaction ends.
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
-- The memory that already has this text, with a lock against other writers of the same text; rows of another program
-- are found by the text itself.
create or replace function memori.lock_content(
    p_workspace text, p_developer text, p_hash bytea, p_content text
) returns setof memori.memory_row
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    perform memori.hold_content(p_workspace, p_developer, p_hash);
    return query
        select (memori.as_row(m)).* from memori.memories m
        where memori.is_own(m, p_workspace, p_developer) and m.erased_at is null
          -- A range in order, which no other index has: of an equation PostgreSQL may look up any index.
          and m.content_hash >= p_hash and m.content_hash <= p_hash and m.content_hash >= ''
        order by m.content_hash
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
-- Which of these hashes belong to forgotten texts; the table of another program may contain them again.
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
-- A new memory; no row if the id is already used.
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
    -- The default id of the table; without a default our id, or the next number.
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
-- The new confidence, lineage and expiry of a memory.
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
-- Recall no longer returns the memory; its contents stay.
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
-- The tombstone first, because the trigger allows erasing the text only if a tombstone exists.
create or replace function memori.forget_memory(
    p_workspace text, p_developer text, p_id text, p_hash bytea, p_reason text
) returns setof memori.memory_row
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    perform memori.hold_content(p_workspace, p_developer, p_hash);
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
-- Oldest first, after a given memory, so that a reader can page through any number of memories.
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
    -- Not in the statement: under row-level security PostgreSQL does not use an index for a `coalesce`.
    edge := coalesce(edge, '-infinity');
    return query
        select (memori.as_row(m)).* from memori.memories m
        where memori.is_own(m, p_workspace, p_developer) and m.erased_at is null
          and (m.created_at, m.id::text) > (edge, below) and m.created_at > '-infinity'
        order by m.created_at, m.id::text
        limit p_limit;
end
$$;

-- newest_memories
-- Newest first, before a given memory, for display to a person; includes expired memories. A namespace and a category are
-- optional.
create or replace function memori.newest_memories(
    p_workspace text, p_developer text, p_below text, p_limit bigint, p_namespace text, p_category text
) returns setof memori.memory_row
language plpgsql as $$
declare
    edge timestamptz;
    below text := coalesce(p_below, '');
begin
    perform holdfast.act_for(p_workspace, p_developer);
    select m.created_at into edge from memori.memories m
    where memori.is_own(m, p_workspace, p_developer) and m.id::text = p_below;
    -- Not in the statement: under row-level security PostgreSQL does not use an index for a `coalesce`.
    edge := coalesce(edge, 'infinity');
    return query
        select (memori.as_row(m)).* from memori.memories m
        where memori.is_own(m, p_workspace, p_developer) and m.erased_at is null
          and (m.created_at, m.id::text) < (edge, below) and m.created_at > '-infinity'
          and memori.is_of_kind(m, p_namespace, p_category)
        order by m.created_at desc, m.id::text desc
        limit p_limit;
end
$$;

-- matching_memories
-- A page of the memories that contain a text to forget; all pages read every memory of the developer, to miss none.
create or replace function memori.matching_memories(
    p_workspace text, p_developer text, p_text text, p_escaped text, p_after text, p_limit bigint
) returns setof memori.memory_row
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select (memori.as_row(m)).* from memori.memories m
        where memori.is_own(m, p_workspace, p_developer) and m.erased_at is null
          and (strpos(m.content, p_text) > 0 or strpos(m.category, p_text) > 0 or strpos(m.metadata::text, p_escaped) > 0)
          and m.id::text > p_after
        order by m.id::text
        limit p_limit;
end
$$;

-- count_words
-- The number of memories that contain each word, and under '' the number of all memories, to separate rare words from
-- common ones. Runs as the owner, because row-level security would prevent the use of the index.
create or replace function memori.count_words(
    p_workspace text, p_developer text, p_words text, p_most bigint, p_now text, p_namespace text, p_category text
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
               and memori.is_of_kind(m, p_namespace, p_category)
             limit p_most) x;
        return next;
    end loop;
    word := '';
    select count(*) into memories from
        (select from memori.memories m
         where memori.is_own(m, p_workspace, p_developer) and m.erased_at is null
           and memori.is_of_kind(m, p_namespace, p_category)
         limit 10 * p_most) x;
    return next;
    perform set_config('holdfast.searching', '', true);
end
$$;

-- find_candidates
-- Memories with at least one of these words, those that contain all of the common words first; a rule decides
-- which of them are relevant. Runs as the owner, like count_words.
create or replace function memori.find_candidates(
    p_workspace text, p_developer text, p_words text, p_common text, p_limit bigint, p_now text, p_namespace text,
    p_category text
) returns setof memori.memory_row
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    asked tsquery := memori.join_words(p_words, '||');
    together tsquery := memori.join_words(p_common, '&&');
begin
    perform holdfast.act_for(p_workspace, p_developer), set_config('holdfast.searching', 'yes', true);
    return query
        select (memori.as_row(m)).* from memori.memories m
        where memori.is_own(m, p_workspace, p_developer) and m.content_tsv @@ asked
          and m.erased_at is null and (m.expires_at is null or m.expires_at > p_now::timestamptz)
          and memori.is_of_kind(m, p_namespace, p_category)
        order by coalesce(m.content_tsv @@ together, false) desc, ts_rank(m.content_tsv, asked, 1) desc,
                 m.updated_at desc, m.id desc
        limit p_limit;
    perform set_config('holdfast.searching', '', true);
end
$$;

-- note_use
-- Counts one more use of each of these memories. Rows are locked in the order of their ids, as they are when a memory is
-- forgotten; one look-up for each, because a join may be planned as a scan of all memories.
create or replace function memori.note_use(p_workspace text, p_developer text, p_ids text)
returns table (id text)
language plpgsql as $$
declare
    used text;
begin
    perform holdfast.act_for(p_workspace, p_developer);
    for used in select distinct x.id collate "C" from jsonb_array_elements_text(p_ids::jsonb) x (id) order by 1 loop
        return query
            update memori.memories m set use_count = coalesce(m.use_count, 0) + 1, last_used_at = clock_timestamp()
            where memori.is_own(m, p_workspace, p_developer) and m.id::text = used and m.erased_at is null
            returning m.id::text;
    end loop;
end
$$;

-- find_adoption
-- Whether another program created the table of memories, so that it has no policies of ours.
create or replace function memori.find_adoption(p_workspace text, p_developer text)
returns table (adopted boolean)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query select memori.is_adopted();
end
$$;

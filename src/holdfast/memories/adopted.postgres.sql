-- is_own
-- Always true: such a table has no workspace.
create or replace function memori.is_own(m memori.memories, p_workspace text, p_developer text)
returns boolean
language sql immutable as 'select true';

-- words_of
-- Always null: such a table does not store our words.
create or replace function memori.words_of(m memori.memories) returns text
language sql stable as 'select null::text';

-- as_query
-- The index contains words as PostgreSQL's parser splits them, so a word is searched by its beginning.
create or replace function memori.as_query(p_word text) returns tsquery
language sql immutable as $$ select (quote_literal(rtrim(p_word, 'i*')) || ':*')::tsquery $$;

-- moment
-- A time within the range of every reader, with or without a zone; a missing time is the oldest. The index repeats this
-- expression and does not call this function, because every role that adds a row would need the right to call it.
create or replace function memori.moment(p_at anyelement) returns anyelement
language sql immutable as $$ select least(greatest(p_at, '1970-01-02 00:00:00+00'), '9999-12-30 00:00:00+00') $$;

-- as_row
-- Values outside our ranges are read as the nearest valid value. A source that is missing or unknown is `bootstrap` for a
-- row that was there when the table was adopted, and `implicit` for a row that its own program has added since.
create or replace function memori.as_row(m memori.memories) returns memori.memory_row
language sql stable as $$
    select row(m.id::text, coalesce(m.user_id, ''), case when m.erased_at is null then coalesce(m.content, '') else '' end,
               nullif(m.category, ''), coalesce(m.metadata::text, '{}'),
               case when m.source_type in ('explicit', 'implicit', 'bootstrap', 'tool_output') then m.source_type
                    when m.adopted_at is not null then 'bootstrap' else 'implicit' end,
               least(greatest(coalesce(m.confidence, 0.80), 0), 1)::double precision, coalesce(m.lineage::text, '[]'),
               case when m.last_used_at is not null then memori.moment(m.last_used_at)::timestamptz end,
               least(greatest(m.use_count, 0), 2147483647)::bigint,
               case when m.expires_at < 'infinity' then memori.moment(m.expires_at)::timestamptz end,
               memori.moment(m.created_at)::timestamptz,
               memori.moment(coalesce(m.updated_at, m.created_at))::timestamptz,
               m.erased_at::timestamptz, null::text)::memori.memory_row
$$;

-- empty
-- If the table requires a text to be non-empty or unique, the text is replaced by a note with the id. Whether the table
-- has a full-text column to empty is determined when this function is created.
do $adopted$
declare
    no_words text;
begin
    select case when a.attgenerated = '' then ', content_tsv = '''''::text else '' end into no_words
    from pg_attribute a where a.attrelid = 'memori.memories'::regclass and a.attname = 'content_tsv';
    execute format($make$
        create or replace function memori.empty(p_id text) returns void language plpgsql as $$
        begin
            update memori.memories set content = '', category = null, metadata = '{}', erased_at = clock_timestamp(),
                   updated_at = clock_timestamp() %1$s
            where id::text = p_id and erased_at is null;
        exception when check_violation or unique_violation then
            update memori.memories set content = '(forgotten ' || p_id || ')', category = null, metadata = '{}',
                   erased_at = clock_timestamp(), updated_at = clock_timestamp() %1$s
            where id::text = p_id and erased_at is null;
        end
        $$
    $make$, no_words);
end
$adopted$;

-- list_memories
-- Oldest first, after a given memory; a row without a time is the oldest.
create or replace function memori.list_memories(
    p_workspace text, p_developer text, p_below text, p_limit bigint
) returns setof memori.memory_row
language plpgsql as $$
declare
    edge timestamptz;
    below text := coalesce(p_below, '');
begin
    perform holdfast.act_for(p_workspace, p_developer);
    select memori.moment(m.created_at) into edge
    from memori.memories m where m.id::text = p_below;
    edge := coalesce(edge, '-infinity');
    return query
        select (memori.as_row(m)).* from memori.memories m
        where m.erased_at is null and m.content <> ''
          and (memori.moment(m.created_at), m.id::text) > (edge, below)
        order by memori.moment(m.created_at), m.id::text
        limit p_limit;
end
$$;

-- newest_memories
-- Newest first, before a given memory, with the same rule for a row without a time.
create or replace function memori.newest_memories(
    p_workspace text, p_developer text, p_below text, p_limit bigint, p_namespace text, p_category text
) returns setof memori.memory_row
language plpgsql as $$
declare
    edge timestamptz;
    below text := coalesce(p_below, '');
begin
    perform holdfast.act_for(p_workspace, p_developer);
    select memori.moment(m.created_at) into edge
    from memori.memories m where m.id::text = p_below;
    edge := coalesce(edge, 'infinity');
    return query
        select (memori.as_row(m)).* from memori.memories m
        where m.erased_at is null and m.content <> ''
          and (memori.moment(m.created_at), m.id::text) < (edge, below)
          and memori.is_of_kind(m, p_namespace, p_category)
        order by memori.moment(m.created_at) desc, m.id::text desc
        limit p_limit;
end
$$;

-- count_words
-- With the rights of the caller: the table has no policy of ours, and a policy of the other program stays in force.
create or replace function memori.count_words(
    p_workspace text, p_developer text, p_words text, p_most bigint, p_now text, p_namespace text, p_category text)
returns table (word text, memories bigint)
language plpgsql as $$
declare
    asked tsquery;
begin
    perform holdfast.act_for(p_workspace, p_developer);
    for word in select jsonb_array_elements_text(p_words::jsonb) loop
        asked := memori.as_query(word);
        select count(*) into memories from
            (select from memori.memories m
             where to_tsvector('english', left(m.content, 100000)) @@ asked
               and m.erased_at is null and (m.expires_at is null or m.expires_at > p_now::timestamptz)
               and memori.is_of_kind(m, p_namespace, p_category)
             limit p_most) x;
        return next;
    end loop;
    word := '';
    select count(*) into memories from
        (select from memori.memories m
         where m.erased_at is null and m.content <> '' and memori.is_of_kind(m, p_namespace, p_category)
         limit 10 * p_most) x;
    return next;
end
$$;

-- find_candidates
-- By the words of the text itself: the full-text column of the other program may be empty, out of date, or in another
-- language.
create or replace function memori.find_candidates(
    p_workspace text, p_developer text, p_words text, p_common text, p_limit bigint, p_now text, p_namespace text,
    p_category text)
returns setof memori.memory_row
language plpgsql as $$
declare
    asked tsquery := memori.join_words(p_words, '||');
    together tsquery := memori.join_words(p_common, '&&');
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select (memori.as_row(m)).* from memori.memories m
        where to_tsvector('english', left(m.content, 100000)) @@ asked
          and m.erased_at is null and (m.expires_at is null or m.expires_at > p_now::timestamptz)
          and memori.is_of_kind(m, p_namespace, p_category)
        order by coalesce(to_tsvector('english', left(m.content, 100000)) @@ together, false) desc,
                 m.updated_at desc nulls last, m.id desc
        limit p_limit;
end
$$;

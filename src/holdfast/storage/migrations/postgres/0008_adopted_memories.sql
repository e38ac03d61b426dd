-- A table of memories that somebody else made is read as it is: rows without a time, without a namespace or with values
-- that are none of ours are found, listed and exported like any other, and what was forgotten stays away.

-- Which of these texts were forgotten: in somebody else's table they may come back at any time.
create function memori.find_tombstones(p_workspace text, p_developer text, p_hashes text)
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

revoke all on function memori.find_tombstones(text, text, text) from public;
grant execute on function memori.find_tombstones(text, text, text) to holdfast_runtime;

do $migration$
declare
    no_words text;
begin
    if not memori.is_adopted() then
        return;
    end if;
    -- Words of our own: its full-text column may be empty, late, or made for another language.
    create index memories_by_text on memori.memories using gin (to_tsvector('english', left(content, 100000)));
    -- Times that any reader can hold, with or without a zone; one that nobody noted is the oldest. The index has the same
    -- in its own words, because whoever adds a row to the table would need the right to call the function.
    create function memori.moment(p_at anyelement) returns anyelement
    language sql immutable as $$ select least(greatest(p_at, '1970-01-02 00:00:00+00'), '9999-12-30 00:00:00+00') $$;
    revoke all on function memori.moment(anyelement) from public;
    grant execute on function memori.moment(anyelement) to holdfast_runtime;
    create index memories_by_age on memori.memories
        ((least(greatest(created_at, '1970-01-02 00:00:00+00'), '9999-12-30 00:00:00+00')), (id::text)) where erased_at is null;

    create or replace function memori.as_row(m memori.memories) returns memori.memory_row
    language sql stable as $$
        select row(m.id::text, coalesce(m.user_id, ''), case when m.erased_at is null then coalesce(m.content, '') else '' end,
                   nullif(m.category, ''), coalesce(m.metadata::text, '{}'),
                   case when m.source_type in ('explicit', 'implicit', 'tool_output') then m.source_type else 'bootstrap' end,
                   least(greatest(coalesce(m.confidence, 0.80), 0), 1)::double precision, coalesce(m.lineage::text, '[]'),
                   case when m.last_used_at is not null then memori.moment(m.last_used_at)::timestamptz end,
                   least(greatest(m.use_count, 0), 2147483647)::bigint,
                   case when m.expires_at < 'infinity' then memori.moment(m.expires_at)::timestamptz end,
                   memori.moment(m.created_at)::timestamptz,
                   memori.moment(coalesce(m.updated_at, m.created_at))::timestamptz,
                   m.erased_at::timestamptz, null::text)::memori.memory_row
    $$;

    -- Where the table wants every text to be something, or to be there once, what is left says what happened.
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

    create or replace function memori.list_memories(p_workspace text, p_developer text, p_below text, p_limit bigint)
    returns setof memori.memory_row
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

    create or replace function memori.newest_memories(p_workspace text, p_developer text, p_below text, p_limit bigint)
    returns setof memori.memory_row
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
            order by memori.moment(m.created_at) desc, m.id::text desc
            limit p_limit;
    end
    $$;

    -- With the rights of whoever asks: there is no wall of ours to look over, and one of somebody else's holds.
    create or replace function memori.count_words(
        p_workspace text, p_developer text, p_words text, p_most bigint, p_now text)
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
                 limit p_most) x;
            return next;
        end loop;
        word := '';
        select count(*) into memories from
            (select from memori.memories m where m.erased_at is null and m.content <> '' limit 10 * p_most) x;
        return next;
    end
    $$;

    create or replace function memori.find_candidates(
        p_workspace text, p_developer text, p_words text, p_limit bigint, p_now text)
    returns setof memori.memory_row
    language plpgsql as $$
    declare
        asked tsquery;
        one text;
    begin
        perform holdfast.act_for(p_workspace, p_developer);
        for one in select jsonb_array_elements_text(p_words::jsonb) loop
            asked := case when asked is null then memori.as_query(one) else asked || memori.as_query(one) end;
        end loop;
        return query
            select (memori.as_row(m)).* from memori.memories m
            where to_tsvector('english', left(m.content, 100000)) @@ asked
              and m.erased_at is null and (m.expires_at is null or m.expires_at > p_now::timestamptz)
            order by m.updated_at desc nulls last, m.id desc
            limit p_limit;
    end
    $$;
end
$migration$;

-- Each verb is tried once and undone: a table whose constraints or triggers refuse one is refused now, not in daily use.
do $migration$
declare
    said text;
    by_constraint text;
    by_column text;
    kind text;
    one text;
begin
    if not memori.is_adopted() then
        return;
    end if;
    set constraints all immediate;
    foreach kind in array array['explicit', 'implicit', 'bootstrap', 'tool_output'] loop
        select added.id into one
        from memori.add_memory('-', '-', gen_random_uuid()::text, '-', kind, sha256(kind::bytea), '[]', null, '{}', kind, 0.8,
                               '[]', null, 0, null, null, null) added;
        perform memori.save_judgement('-', '-', one, 0.85, '["-"]', null);
        perform memori.note_use('-', '-', jsonb_build_array(one)::text);
        perform memori.expire_memory('-', '-', one);
        perform memori.forget_memory('-', '-', one, sha256(kind::bytea), '-');
    end loop;
    raise exception using errcode = 'HF000';
exception
    when sqlstate 'HF000' then
        null;
    when others then
        get stacked diagnostics said = message_text, by_constraint = constraint_name, by_column = column_name;
        raise exception using errcode = 'HF001', message = format('it does not take a memory of source_type %s: %s', kind, said),
            hint = case when by_constraint <> '' then format('ALTER TABLE memori.memories DROP CONSTRAINT %I', by_constraint)
                        when by_column <> '' then format('ALTER TABLE memori.memories ALTER COLUMN %I DROP NOT NULL', by_column)
                        else '' end;
end
$migration$;

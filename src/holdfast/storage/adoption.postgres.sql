-- check_table
-- Whether a table `memori.memories` of another program can be adopted. Checked before anything changes, so that each
-- obstacle is reported with its column and its fix. Constraints and triggers are found later, when rows are tried.
do $check$
declare
    there regclass := to_regclass('memori.memories');
    moments text[] := array['timestamp with time zone', 'timestamp without time zone', 'date'];
    texts text[] := array['text', 'character varying'];
    problem text;
    remedy text := '';
    one record;
begin
    -- The migration itself refuses a view, or a table that does not contain memories.
    if there is null or (select c.relkind from pg_class c where c.oid = there) <> 'r' or (
        select count(*) from pg_attribute a
        where a.attrelid = there and a.attname in ('id', 'user_id', 'content') and not a.attisdropped
    ) < 3 then
        return;
    end if;
    if to_regprocedure('memori.is_adopted()') is not null then
        if not memori.is_adopted() then
            return;
        end if;
    end if;

    select found.problem, found.remedy into problem, remedy from (
        -- Policies of the table decide who may read a row, and they do not use Holdfast's settings.
        select 'it has row-level security' as problem, 'ALTER TABLE memori.memories DISABLE ROW LEVEL SECURITY' as remedy
        from pg_class c where c.oid = there and c.relrowsecurity
        union all
        select 'its column id is not unique, or may be null', 'ALTER TABLE memori.memories ADD PRIMARY KEY (id)'
        from pg_attribute a
        where a.attrelid = there and a.attname = 'id' and not (a.attnotnull and exists (
            select from pg_index i where i.indrelid = there and i.indisunique and i.indisvalid and i.indpred is null
                and i.indnkeyatts = 1 and i.indkey[0] = a.attnum))
        union all
        select format('its column %I is of type %s, and Holdfast needs %s there', a.attname, kind, wanted.types[1]),
               format('ALTER TABLE memori.memories ALTER COLUMN %I TYPE %s USING %s', a.attname, wanted.types[1],
                      format(case when kind like '%[]' then 'to_jsonb(%I)' else '%I::%s' end, a.attname, wanted.types[1]))
        from pg_attribute a
        cross join format_type(a.atttypid, null) kind
        join (values
            ('id', texts || array['uuid', 'smallint', 'integer', 'bigint']),
            ('user_id', texts), ('content', texts), ('category', texts), ('source_type', texts),
            ('metadata', array['jsonb', 'json', 'text']), ('lineage', array['jsonb', 'json']),
            ('confidence', array['numeric', 'real', 'double precision']), ('use_count', array['bigint', 'integer']),
            ('last_used_at', moments), ('expires_at', moments), ('created_at', moments), ('updated_at', moments),
            ('erased_at', moments), ('content_hash', array['bytea']), ('content_tsv', array['tsvector'])
        ) wanted (name, types) on wanted.name = a.attname
        where a.attrelid = there and not a.attisdropped and kind <> all (wanted.types)
        union all
        select format('memori.%s is something else, and Holdfast needs that name for an index', c.relname),
               format('ALTER TABLE memori.%I RENAME TO %I', c.relname, c.relname || '_before')
        from pg_class c left join pg_index i on i.indexrelid = c.oid
        where c.relnamespace = 'memori'::regnamespace and i.indrelid is distinct from there
          and c.relname in ('idx_memories_namespace_category', 'memories_by_id_text', 'memories_by_content',
                            'memories_by_content_text', 'memories_by_text', 'memories_by_age')
    ) found limit 1;

    if problem is null and not exists (select from pg_attribute a where a.attrelid = there and a.attname = 'content_tsv') then
        -- PostgreSQL will generate that column from the content, and refuses content that is too long.
        for one in execute 'select id::text, content from memori.memories where octet_length(content) > 100000' loop
            begin
                perform to_tsvector('english', one.content);
            exception when program_limit_exceeded then
                problem := format('the content of row %s is too long for a full-text index', one.id);
                remedy := 'ALTER TABLE memori.memories ADD COLUMN content_tsv tsvector';
            end;
        end loop;
    end if;
    if problem is not null then
        raise exception using errcode = 'HF001', message = problem, hint = remedy;
    end if;
end
$check$;

-- try_verbs
-- Each verb is tried once and undone: a table whose constraints or triggers refuse a verb is refused now, not in daily
-- use.
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

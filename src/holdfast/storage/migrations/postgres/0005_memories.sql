-- Memories: statements with their provenance, found by their words, and the tombstones of those that were forgotten.
-- A table `memori.memories` that is there already is adopted: what it lacks is added, and it keeps its own rights, so it
-- has no walls and serves one workspace. `memori.is_adopted()` tells the two apart from here on.
create schema if not exists memori;
grant usage on schema memori to holdfast_runtime;

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

-- --- a table of somebody else ----------------------------------------------------------------------------------------
do $migration$
declare
    is_plain boolean;
begin
    if not memori.is_adopted() then
        return;
    end if;
    alter table memori.memories
        add column if not exists category text,
        add column if not exists metadata jsonb default '{}',
        add column if not exists source_type text default 'bootstrap',
        add column if not exists confidence numeric(3,2) default 0.80,
        add column if not exists lineage jsonb default '[]',
        add column if not exists last_used_at timestamptz,
        add column if not exists use_count integer default 0,
        add column if not exists expires_at timestamptz,
        add column if not exists created_at timestamptz default now(),
        add column if not exists updated_at timestamptz default now(),
        add column if not exists content_hash bytea,
        add column if not exists erased_at timestamptz,
        -- Made by the engine, so that what its own program adds is found as well.
        add column if not exists content_tsv tsvector generated always as (to_tsvector('english', content)) stored;
    update memori.memories set source_type = 'bootstrap' where source_type is null;
    create index if not exists idx_memories_namespace_category on memori.memories (user_id, category);
    create index if not exists memories_by_id_text on memori.memories ((id::text));
    create index if not exists memories_by_content on memori.memories (content_hash);
    create index if not exists memories_by_content_text on memori.memories (md5(content)) where content_hash is null;
    create index if not exists memories_by_time on memori.memories (created_at, (id::text)) where erased_at is null;
    if not exists (select from pg_index i join pg_class c on c.oid = i.indexrelid join pg_am m on m.oid = c.relam
                   where i.indrelid = 'memori.memories'::regclass and m.amname = 'gin'
                     and i.indkey[0] = (select a.attnum from pg_attribute a
                                        where a.attrelid = i.indrelid and a.attname = 'content_tsv')) then
        create index memories_by_words on memori.memories using gin (content_tsv);
    end if;
    select a.attgenerated = '' into is_plain from pg_attribute a
    where a.attrelid = 'memori.memories'::regclass and a.attname = 'content_tsv';
    grant select, insert on memori.memories to holdfast_runtime;
    grant update (content, category, metadata, confidence, lineage, last_used_at, use_count, expires_at, updated_at,
                  erased_at) on memori.memories to holdfast_runtime;
    if is_plain then
        grant update (content_tsv) on memori.memories to holdfast_runtime;
    end if;
    grant usage on all sequences in schema memori to holdfast_runtime;

    create function memori.is_own(m memori.memories, p_workspace text, p_developer text) returns boolean
    language sql immutable as 'select true';
    create function memori.words_of(m memori.memories) returns text
    language sql immutable as 'select null::text';
    -- Its index has words as somebody else cuts them, so a word is looked for by its beginning.
    create function memori.as_query(p_word text) returns tsquery
    language sql immutable as $$ select (quote_literal(rtrim(p_word, 'i')) || ':*')::tsquery $$;
    execute format($$
        create function memori.empty(p_id text) returns void language sql as
        'update memori.memories set content = '''', category = null, metadata = ''{}'', erased_at = clock_timestamp(),
                updated_at = clock_timestamp() %s where id::text = p_id and erased_at is null'
    $$, case when is_plain then ', content_tsv = ''''''''::tsvector' else '' end);
end
$migration$;

-- --- a table of our own ----------------------------------------------------------------------------------------------
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
        content_tsv tsvector not null,  -- the words that it is found by, as our own rule takes them from the content
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
    create unique index memories_by_content on memori.memories (workspace_id, developer_id, content_hash)
        where erased_at is null;
    create index memories_by_time on memori.memories (workspace_id, developer_id, created_at, id) where erased_at is null;
    create index memories_by_words on memori.memories using gin (content_tsv);
    grant select, insert on memori.memories to holdfast_runtime;
    grant update (content, content_tsv, category, metadata, confidence, lineage, last_used_at, use_count, expires_at,
                  updated_at, erased_at) on memori.memories to holdfast_runtime;

    create function memori.is_own(m memori.memories, p_workspace text, p_developer text) returns boolean
    language sql immutable as 'select m.workspace_id = p_workspace and m.developer_id = p_developer';
    create function memori.words_of(m memori.memories) returns text
    language sql immutable as $$ select array_to_string(tsvector_to_array(m.content_tsv), ' ') $$;
    create function memori.as_query(p_word text) returns tsquery
    language sql immutable as 'select quote_literal(p_word)::tsquery';
    create function memori.empty(p_id text) returns void language sql as $$
        update memori.memories set content = '', content_tsv = '', category = null, metadata = '{}',
               erased_at = clock_timestamp(), updated_at = clock_timestamp()
        where workspace_id = current_setting('holdfast.workspace') and developer_id = current_setting('holdfast.developer')
          and id = p_id and erased_at is null
    $$;
end
$migration$;

-- The hash of what was forgotten, so that no import and no extraction brings it back.
create table memori.memory_tombstones (
    workspace_id text collate "C" not null,
    developer_id text collate "C" not null,
    content_hash bytea not null,
    memory_id text not null,
    reason text not null,
    created_at timestamptz not null,
    primary key (workspace_id, developer_id, content_hash)
);
grant select, insert on memori.memory_tombstones to holdfast_runtime;

do $migration$
declare
    one text;
begin
    foreach one in array case when memori.is_adopted() then array['memory_tombstones']
                              else array['memories', 'memory_tombstones'] end loop
        execute format('alter table memori.%I enable row level security', one);
        execute format('alter table memori.%I force row level security', one);
        execute format($policy$
            create policy owner_only on memori.%I for all
            using (workspace_id = nullif(current_setting('holdfast.workspace', true), '')
                   and developer_id = nullif(current_setting('holdfast.developer', true), ''))
            with check (workspace_id = nullif(current_setting('holdfast.workspace', true), '')
                        and developer_id = nullif(current_setting('holdfast.developer', true), ''))
        $policy$, one);
        execute format('create trigger %I before delete on memori.%I for each row execute function holdfast.refuse()',
                       one || '_are_not_deleted', one);
        execute format('create trigger %I before truncate on memori.%I for each statement execute function holdfast.refuse()',
                       one || '_are_not_truncated', one);
    end loop;
end
$migration$;

create trigger memory_tombstones_are_not_updated before update on memori.memory_tombstones
    for each row execute function holdfast.refuse();

create function memori.need_tombstone() returns trigger
language plpgsql as $$
begin
    if not exists (select from memori.memory_tombstones t
                   where t.workspace_id = old.workspace_id and t.developer_id = old.developer_id
                     and t.content_hash = old.content_hash) then
        raise exception 'memori.memories keep what they say' using errcode = 'restrict_violation';
    end if;
    return new;
end
$$;

-- Under row-level security the index of words is out of reach: `@@` might leak, so it has to wait for the policy, row by
-- row. The two functions that search run as the owner, name the workspace and the developer themselves, and have this
-- one policy besides. It is marked immutable so that the planner settles it: true for a statement that is planned inside
-- those two functions, false for the owner anywhere else, and nothing to anybody who is not the owner.
create function memori.is_searching() returns boolean
language sql immutable as $$ select coalesce(current_setting('holdfast.searching', true), '') = 'yes' $$;

do $migration$
begin
    if memori.is_adopted() then
        return;
    end if;
    create policy searched on memori.memories for select to current_user using (memori.is_searching());

    -- Judged and used, or emptied where a tombstone stands; what it says and where it came from never change.
    create trigger memories_keep_what_they_say before update on memori.memories
        for each row
        when ((new.workspace_id, new.id, new.developer_id, new.user_id, new.source_type, new.created_at, new.content_hash)
                  is distinct from
              (old.workspace_id, old.id, old.developer_id, old.user_id, old.source_type, old.created_at, old.content_hash)
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
end
$migration$;

-- --- the verbs, the same for both ------------------------------------------------------------------------------------
create type memori.memory_row as (
    id text, user_id text, content text, category text, metadata text, source_type text, confidence double precision,
    lineage text, last_used_at timestamptz, use_count bigint, expires_at timestamptz, created_at timestamptz,
    updated_at timestamptz, erased_at timestamptz, words text
);

create function memori.as_row(m memori.memories) returns memori.memory_row
language sql stable as $$
    select row(m.id::text, m.user_id::text, m.content, m.category::text, coalesce(m.metadata::text, '{}'),
               coalesce(m.source_type, 'bootstrap'), coalesce(m.confidence, 0.80)::double precision,
               coalesce(m.lineage::text, '[]'), m.last_used_at, coalesce(m.use_count, 0)::bigint, m.expires_at,
               coalesce(m.created_at, m.updated_at, now()), coalesce(m.updated_at, m.created_at, now()), m.erased_at,
               memori.words_of(m))::memori.memory_row
$$;

create function memori.find_memory(p_workspace text, p_developer text, p_id text) returns setof memori.memory_row
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select (memori.as_row(m)).* from memori.memories m
        where memori.is_own(m, p_workspace, p_developer) and m.id::text = p_id;
end
$$;

create function memori.lock_memory(p_workspace text, p_developer text, p_id text) returns setof memori.memory_row
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select (memori.as_row(m)).* from memori.memories m
        where memori.is_own(m, p_workspace, p_developer) and m.id::text = p_id
        for no key update;
end
$$;

-- Everybody who would say or forget the same waits here; the statement after it sees what was committed meanwhile.
create function memori.hold(p_workspace text, p_developer text, p_hash bytea) returns void
language plpgsql as $$
begin
    perform pg_advisory_xact_lock(
        hashtextextended(format('holdfast.memory:%s:%s:%s', p_workspace, p_developer, encode(p_hash, 'hex')), 0));
end
$$;

create function memori.lock_content(p_workspace text, p_developer text, p_hash bytea, p_content text)
returns setof memori.memory_row
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

create function memori.find_tombstone(p_workspace text, p_developer text, p_hash bytea)
returns table (memory_id text, created_at timestamptz)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select t.memory_id, t.created_at from memori.memory_tombstones t
        where t.workspace_id = p_workspace and t.developer_id = p_developer and t.content_hash = p_hash;
end
$$;

create function memori.add_memory(
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

create function memori.save_judgement(
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

create function memori.expire_memory(p_workspace text, p_developer text, p_id text) returns setof memori.memory_row
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

create function memori.forget_memory(p_workspace text, p_developer text, p_id text, p_hash bytea, p_reason text)
returns setof memori.memory_row
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

create function memori.list_memories(p_workspace text, p_developer text, p_below text, p_limit bigint)
returns setof memori.memory_row
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

create function memori.matching_memories(p_workspace text, p_developer text, p_text text, p_escaped text)
returns setof memori.memory_row
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

create function memori.count_words(p_workspace text, p_developer text, p_words text, p_most bigint, p_now text)
returns table (word text, memories bigint)
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

create function memori.find_candidates(p_workspace text, p_developer text, p_words text, p_limit bigint, p_now text)
returns setof memori.memory_row
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

create function memori.note_use(p_workspace text, p_developer text, p_ids text) returns table (id text)
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

create function memori.find_adoption(p_workspace text, p_developer text) returns table (adopted boolean)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query select memori.is_adopted();
end
$$;

-- Only ours: an adopted schema may have functions of its own.
do $migration$
declare
    one regprocedure;
begin
    for one in
        select p.oid::regprocedure from pg_proc p
        where p.pronamespace = 'memori'::regnamespace
          and p.proname in (
              'is_adopted', 'is_own', 'words_of', 'as_query', 'empty', 'need_tombstone', 'is_searching', 'as_row', 'find_memory',
              'lock_memory', 'hold', 'lock_content', 'find_tombstone', 'add_memory', 'save_judgement', 'expire_memory',
              'forget_memory', 'list_memories', 'matching_memories', 'count_words', 'find_candidates', 'note_use',
              'find_adoption')
    loop
        execute format('revoke all on function %s from public', one);
        execute format('grant execute on function %s to holdfast_runtime', one);
    end loop;
end
$migration$;

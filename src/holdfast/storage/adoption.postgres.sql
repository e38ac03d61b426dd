-- check_table
-- Whether a table `memori.memories` of another program can be adopted. Checked before anything changes, so that each
-- obstacle is reported with its column and its fix. Constraints and triggers are found later, when rows are tried.
do $check$
declare
    there regclass := to_regclass('memori.memories');
    moments text[] := array['timestamp with time zone', 'timestamp without time zone', 'date'];
    texts text[] := array['text', 'character varying'];
    is_known boolean := to_regprocedure('memori.is_adopted()') is not null;
    is_begun boolean := is_known or exists (
        select from pg_attribute a
        where a.attrelid = there and a.attname = 'adopted_at' and col_description(there, a.attnum) like '%Holdfast%');
    missing text;
    problem text;
    remedy text := '';
begin
    if is_known then
        if not memori.is_adopted() then
            return;
        end if;
    end if;
    select name into missing from unnest(array['id', 'user_id', 'content']) name
    where not exists (select from pg_attribute a where a.attrelid = there and a.attname = name);
    -- Before the first migration, which itself refuses a view, or a table that does not contain memories.
    if not is_known and (missing is not null or (select c.relkind from pg_class c where c.oid = there) <> 'r') then
        return;
    end if;

    select found.problem, found.remedy into problem, remedy from (
        select 'it is not there any more' as problem, '' as remedy where there is null
        union all
        select 'it is not a plain table any more', '' from pg_class c where c.oid = there and c.relkind <> 'r'
        union all
        select format('it has no column %I any more', missing), '' where missing is not null
        union all
        -- A statement on a parent is about the rows of its children too, and their ids are not unique together. A column
        -- of a child is its parent's.
        select format('%s inherits from %s', i.inhrelid::regclass, i.inhparent::regclass), ''
        from pg_inherits i where there in (i.inhrelid, i.inhparent)
        union all
        select 'its column adopted_at is not Holdfast''s, which needs that name',
               'ALTER TABLE memori.memories RENAME COLUMN adopted_at TO adopted_at_before'
        from pg_attribute a where a.attrelid = there and a.attname = 'adopted_at' and not is_begun
        union all
        -- Policies of the table decide who may read a row, and they do not use Holdfast's settings.
        select 'it has row-level security', 'ALTER TABLE memori.memories DISABLE ROW LEVEL SECURITY'
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
            ('erased_at', moments), ('adopted_at', moments), ('content_hash', array['bytea']), ('content_tsv', array['tsvector'])
        ) wanted (name, types) on wanted.name = a.attname
        where a.attrelid = there and not a.attisdropped and kind <> all (wanted.types)
        union all
        select format('memori.%s is something else, and Holdfast needs that name for an index', c.relname),
               format('ALTER TABLE memori.%I RENAME TO %I', c.relname, c.relname || '_before')
        from pg_class c left join pg_index i on i.indexrelid = c.oid
        where c.relnamespace = 'memori'::regnamespace
          -- An index of the table itself is ours once the table has our columns. Two are accepted before: the first
          -- that we make, and one that the other program may have made for the same purpose.
          and (i.indrelid is distinct from there or not is_begun
               and c.relname not in ('idx_memories_namespace_category', 'memories_by_id_text'))
          and c.relname in ('idx_memories_namespace_category', 'memories_by_id_text', 'memories_by_content',
                            'memories_by_content_text', 'memories_by_text', 'memories_by_age')
    ) found limit 1;

    if problem is not null then
        raise exception using errcode = 'HF001', message = problem, hint = remedy;
    end if;
end
$check$;

-- is_known
-- Whether a migration has recorded who made the table.
select to_regprocedure('memori.is_adopted()') is not null;

-- is_adopted
-- Whether another program created the table of memories, as the first migration found it.
select memori.is_adopted();

-- has_memories
-- Whether there is a table that may contain memories; before the first migration it is another program's.
select count(*) = 3
from pg_attribute a join pg_class t on t.oid = a.attrelid
where t.oid = to_regclass('memori.memories') and t.relkind = 'r' and a.attname in ('id', 'user_id', 'content');

-- is_begun
-- Whether we have added columns: the comment tells ours from another program's.
select exists (select from pg_attribute a
               where a.attrelid = to_regclass('memori.memories') and a.attname = 'adopted_at'
                 and col_description(a.attrelid, a.attnum) like '%Holdfast%');

-- lacks_indexes
-- An index is unusable while it is being made, and after that was interrupted.
select count(*) < cardinality($1::text[])
from pg_index i join pg_class c on c.oid = i.indexrelid
where i.indrelid = to_regclass('memori.memories') and i.indisvalid and c.relname = any ($1::text[]);

-- lacks_columns
-- Asked before they are added, because even a statement that adds none would lock the table.
select count(*) < 13 from pg_attribute a
where a.attrelid = to_regclass('memori.memories')
  and a.attname in ('category', 'metadata', 'source_type', 'confidence', 'lineage', 'last_used_at', 'use_count',
                    'expires_at', 'created_at', 'updated_at', 'content_hash', 'erased_at', 'adopted_at');

-- wait_briefly
-- For this transaction: while we wait for the lock of a table, every other statement on the table waits behind us.
set local lock_timeout = '100ms';

-- add_columns
-- No default is computed for each row, so the table is not rewritten. The rows that are there get the source `bootstrap`
-- and the time; the two defaults end at once, so that a row that the other program adds later has neither.
do $adopt$
declare
    marks text[] := array(
        select mark from unnest(array['source_type', 'adopted_at']) mark
        where not exists (select from pg_attribute a
                          where a.attrelid = 'memori.memories'::regclass and a.attname = mark and not a.attisdropped));
    mark text;
begin
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
        add column if not exists adopted_at timestamptz default now();
    foreach mark in array marks loop
        execute format('alter table memori.memories alter column %I drop default', mark);
    end loop;
    comment on column memori.memories.source_type is 'explicit|implicit|bootstrap|tool_output';
    comment on column memori.memories.confidence is 'Belief strength, updated on corroboration/contradiction';
    comment on column memori.memories.lineage is 'Array of session_ids that contributed';
    comment on column memori.memories.adopted_at is 'When Holdfast found the row; null for a row that came later';
end
$adopt$;

-- lacks_sources
-- Whether a row that was there has no source. Only a table that had the column itself has such rows.
select exists (select from memori.memories where source_type is null and adopted_at is not null);

-- fill_sources
-- One batch, in the order of the ids. A row that the other program changes just now is left out: waiting for it could
-- become a deadlock, and it is read as `bootstrap` in any case.
with page as (
    select id::text as row_id, id from memori.memories where id::text > $1 order by id::text limit $2
), free as (
    select m.id from memori.memories m join page on page.id = m.id
    where m.source_type is null and m.adopted_at is not null
    for no key update of m skip locked
), filled as (
    update memori.memories m set source_type = 'bootstrap' from free where m.id = free.id returning 1
)
select max(row_id), (select count(*) from filled) from page;

-- find_index
-- Whether an index of the table can be used; no row if it does not exist.
select i.indisvalid from pg_index i join pg_class c on c.oid = i.indexrelid
where i.indrelid = 'memori.memories'::regclass and c.relname = $1;

-- drop_index
-- The statement that removes an index.
select format('drop index %s', i.indexrelid::regclass) from pg_index i join pg_class c on c.oid = i.indexrelid
where i.indrelid = 'memori.memories'::regclass and c.relname = $1;

-- wait_patiently
-- An index that is made concurrently cannot be in a transaction, so its limits are set for the connection.
select set_config('lock_timeout', $1, false), set_config('statement_timeout', '0', false);

-- wait_as_before
-- The limits that the role or the database has set.
reset lock_timeout;
reset statement_timeout;

-- find_holder
-- The other transaction that uses the table for the longest time; for an index, one that reads anything.
select a.pid, a.usename::text, a.application_name, a.xact_start
from pg_stat_activity a
left join pg_locks l on l.pid = a.pid and l.relation = 'memori.memories'::regclass and l.granted
where a.datname = current_database() and a.pid <> pg_backend_pid() and (l.pid is not null or a.backend_xmin is not null)
order by l.pid is null, a.xact_start
limit 1;

-- expect_columns
-- For this transaction: functions may name columns that are added after them, so that the table is locked only then.
set local check_function_bodies = off;

-- grant_table
-- The runtime role may use the table as its own program does; it may not change the source of a row.
do $adopt$
begin
    grant select, insert on memori.memories to holdfast_runtime;
    grant update (content, category, metadata, confidence, lineage, last_used_at, use_count, expires_at, updated_at,
                  erased_at) on memori.memories to holdfast_runtime;
    if (select a.attgenerated = '' from pg_attribute a
        where a.attrelid = 'memori.memories'::regclass and a.attname = 'content_tsv') then
        grant update (content_tsv) on memori.memories to holdfast_runtime;
    end if;
    grant usage on all sequences in schema memori to holdfast_runtime;
end
$adopt$;

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
    -- Another transaction is in the way, not the table.
    when lock_not_available or query_canceled or deadlock_detected then
        raise;
    when others then
        get stacked diagnostics said = message_text, by_constraint = constraint_name, by_column = column_name;
        raise exception using errcode = 'HF001', message = format('it does not take a memory of source_type %s: %s', kind, said),
            hint = case when by_constraint <> '' then format('ALTER TABLE memori.memories DROP CONSTRAINT %I', by_constraint)
                        when by_column <> '' then format('ALTER TABLE memori.memories ALTER COLUMN %I DROP NOT NULL', by_column)
                        else '' end;
end
$migration$;

-- server_encoding
-- Only one that keeps every text will do.
show server_encoding;

-- lock_ledger
-- One process migrates, the others wait here and then see what it did.
select pg_advisory_xact_lock(x'486F6C64'::bigint);

-- make_ledger
-- What was applied to this database, and with which text. Everybody reads it, the owner adds, and no policy lets
-- anybody change or remove a line. The schemas come with it, because functions stand in them before any table does.
create schema if not exists holdfast;
create schema if not exists context;
create schema if not exists memori;
create table if not exists holdfast.migrations (
    number integer primary key,
    name text not null,
    checksum text not null,
    applied_at timestamptz not null default clock_timestamp()
);
create table if not exists holdfast.functions (
    number integer primary key,
    checksum text not null,
    applied_at timestamptz not null default clock_timestamp()
);
comment on table holdfast.migrations is 'What was applied to this database, and the checksum of its text';
comment on table holdfast.functions is 'Which functions were installed, and the checksum of their texts';
do $$
declare
    ledger regclass;
begin
    foreach ledger in array array['holdfast.migrations', 'holdfast.functions']::regclass[] loop
        execute format('alter table %s enable row level security', ledger);
        execute format('alter table %s force row level security', ledger);
        if not exists (select from pg_policy where polrelid = ledger) then
            execute format('create policy everybody_reads on %s for select using (true)', ledger);
            execute format('create policy owner_adds on %s for insert to %I with check (true)', ledger, current_user);
        end if;
    end loop;
end
$$;

-- applied_migrations
-- Each with the checksum of its text.
select number, name, checksum from holdfast.migrations;

-- add_migration
-- In the transaction that applied it.
insert into holdfast.migrations (number, name, checksum) values ($1, $2, $3);

-- installed_functions
-- The functions as they are in this database: what was installed last.
select number, checksum from holdfast.functions order by number desc limit 1;

-- add_functions
-- In the transaction that installed them.
insert into holdfast.functions (number, checksum) values ($1, $2);

-- is_adopted
-- Whether another program made the table of memories, as the first migration found it.
select memori.is_adopted();

-- grant_functions
-- What the program calls, and nobody else.
call holdfast.grant_functions($1);

-- taken_schema
-- A schema of our name with anything in it that is not the ledger: another program uses it.
select n.nspname::text from pg_namespace n
where n.nspname in ('context', 'holdfast')
  and (exists (select from pg_class c left join pg_index i on i.indexrelid = c.oid
               where c.relnamespace = n.oid
                 and coalesce(i.indrelid, c.oid)
                     <> all (array['holdfast.migrations', 'holdfast.functions']::regclass[]::oid[]))
       or exists (select from pg_proc p where p.pronamespace = n.oid))
order by 1
limit 1;

-- other_owner
-- Who owns our schemas, if it is not the role that asks.
select pg_get_userbyid(n.nspowner)::text from pg_namespace n
where n.nspname in ('context', 'holdfast') and not pg_has_role(n.nspowner, 'MEMBER')
limit 1;

-- has_foreign_table
-- Whether there is a table of memories that another program made.
select to_regclass('memori.memories') is not null
   and not exists (select from pg_attribute
                   where attrelid = to_regclass('memori.memories') and attname in ('workspace_id', 'developer_id'));

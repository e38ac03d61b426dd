-- server_encoding
-- Only an encoding that can store every text is accepted.
show server_encoding;

-- lock_ledger
-- Whether this process may migrate, until its transaction ends. Another process tries again and does not wait here: an
-- index that is made concurrently waits for every statement that is running.
select pg_try_advisory_xact_lock(x'486F6C64'::bigint);

-- keep_lock
-- The transaction with the lock does nothing else, and no limit of the role or the database may end it.
select set_config(name, '0', true) from pg_settings
where name in ('idle_in_transaction_session_timeout', 'transaction_timeout');

-- make_ledger
-- The migrations that were applied to this database, with the checksum of their texts. Every role may read it and the
-- owner adds rows; no policy allows a change or a removal. The schemas are created here, because functions are
-- installed in them before any table.
create schema if not exists holdfast;
create schema if not exists context;
create schema if not exists memori;
create schema if not exists team;
create schema if not exists identity;
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
-- The applied migrations, each with the checksum of its text.
select number, name, checksum from holdfast.migrations;

-- add_migration
-- Records a migration, in the transaction that applied it.
insert into holdfast.migrations (number, name, checksum) values ($1, $2, $3);

-- installed_functions
-- The functions of this database: number and checksum of the last installation.
select number, checksum from holdfast.functions order by number desc limit 1;

-- add_functions
-- Records the functions, in the transaction that installed them.
insert into holdfast.functions (number, checksum) values ($1, $2);

-- grant_functions
-- Grants the functions to the runtime role, and to no other role.
call holdfast.grant_functions($1);

-- taken_schema
-- A schema with one of our names that contains anything other than the ledger: another program uses it.
select n.nspname::text from pg_namespace n
where n.nspname in ('context', 'holdfast', 'identity', 'team')
  and (exists (select from pg_class c left join pg_index i on i.indexrelid = c.oid
               where c.relnamespace = n.oid
                 and coalesce(i.indrelid, c.oid)
                     <> all (array['holdfast.migrations', 'holdfast.functions']::regclass[]::oid[]))
       or exists (select from pg_proc p where p.pronamespace = n.oid))
order by 1
limit 1;

-- other_owner
-- The owner of our schemas or of the table of memories, if it is not the current role.
select pg_get_userbyid(owned.owner)::text
from (select n.nspowner as owner from pg_namespace n where n.nspname in ('context', 'holdfast', 'memori', 'team')
      union all
      select c.relowner from pg_class c where c.oid = to_regclass('memori.memories')) owned
where not pg_has_role(owned.owner, 'MEMBER')
limit 1;

-- backup_rights
-- Whether a role reads every row of every table, and the version of the server.
select current_user::text, r.rolsuper or r.rolbypassrls, r.rolsuper or pg_has_role('pg_read_all_data', 'USAGE'),
       current_setting('server_version_num')::int / 10000
from pg_roles r
where r.rolname = current_user;

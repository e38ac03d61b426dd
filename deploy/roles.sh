#!/bin/sh
# The roles of a new database, made as its superuser. Passwords come from the environment: OWNER_PASSWORD, APP_PASSWORD.
# Run it again to change a password: what is there stays.
set -eu

psql --no-psqlrc --quiet --set=ON_ERROR_STOP=1 --username="${POSTGRES_USER:-postgres}" --dbname="${1:-postgres}" <<'SQL'
\getenv owner_password OWNER_PASSWORD
\getenv app_password APP_PASSWORD
select format('create role %I %s', name, rights)
from (values ('holdfast_owner', 'login'), ('holdfast_runtime', 'nologin'), ('holdfast_reader', 'nologin'),
             ('holdfast_app', 'login')) wanted (name, rights)
where not exists (select from pg_roles where rolname = name)
\gexec
grant holdfast_runtime to holdfast_app;
alter role holdfast_owner password :'owner_password';
alter role holdfast_app password :'app_password';
select 'create database holdfast owner holdfast_owner encoding ''UTF8'' template template0'
where not exists (select from pg_database where datname = 'holdfast')
\gexec
revoke all on database holdfast from public;
grant connect on database holdfast to holdfast_runtime, holdfast_reader;
SQL

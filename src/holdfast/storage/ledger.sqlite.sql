-- make_ledger
-- The migrations that were applied to this file, with the checksum of their texts.
create table if not exists holdfast_migrations (
    number integer primary key,
    name text not null,
    checksum text not null,
    applied_at text not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
) strict;

-- applied_migrations
-- The applied migrations, each with the checksum of its text.
select number, checksum from holdfast_migrations;

-- add_migration
-- Records a migration, in the transaction that applied it.
insert into holdfast_migrations (number, name, checksum) values (?, ?, ?);

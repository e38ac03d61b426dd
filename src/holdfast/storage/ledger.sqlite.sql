-- make_ledger
-- What was applied to this file, and with which text.
create table if not exists holdfast_migrations (
    number integer primary key,
    name text not null,
    checksum text not null,
    applied_at text not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
) strict;

-- applied_migrations
-- Each with the checksum of its text.
select number, checksum from holdfast_migrations;

-- add_migration
-- In the transaction that applied it.
insert into holdfast_migrations (number, name, checksum) values (?, ?, ?);

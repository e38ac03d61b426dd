-- What the doors need: requests that were done already, and a row that health writes to.
-- A repeated request finds its key here and what it was about; the answer itself is read again, so that nothing that
-- is forgotten elsewhere lingers here. Keys do not expire: a late repeat must not be done a second time.
create table idempotency_keys (
    workspace_id text not null,
    developer_id text not null,
    operation text not null,
    key text not null,
    request_hash blob not null,
    subject text not null,
    created_at text not null,
    primary key (workspace_id, developer_id, operation, key)
) strict;

create trigger idempotency_keys_are_not_updated before update on idempotency_keys
begin select raise(abort, 'idempotency_keys is append-only'); end;

create trigger idempotency_keys_are_not_deleted before delete on idempotency_keys
begin select raise(abort, 'idempotency_keys is append-only'); end;

create trigger idempotency_keys_are_not_replaced before insert on idempotency_keys
when exists (select 1 from idempotency_keys where rowid = new.rowid)
  or exists (select 1 from idempotency_keys
             where workspace_id = new.workspace_id and developer_id = new.developer_id and operation = new.operation
               and key = new.key)
begin select raise(abort, 'idempotency_keys is append-only'); end;

create table heartbeats (
    workspace_id text not null,
    developer_id text not null,
    beats integer not null,
    primary key (workspace_id, developer_id)
) strict;

create trigger heartbeats_keep_their_owner before update on heartbeats
when (new.rowid, new.workspace_id, new.developer_id) != (old.rowid, old.workspace_id, old.developer_id)
  or new.beats <= old.beats
begin select raise(abort, 'heartbeats only go on'); end;

create trigger heartbeats_are_not_deleted before delete on heartbeats
begin select raise(abort, 'heartbeats only go on'); end;

create trigger heartbeats_are_not_replaced before insert on heartbeats
when exists (select 1 from heartbeats where rowid = new.rowid)
  or exists (select 1 from heartbeats where workspace_id = new.workspace_id and developer_id = new.developer_id)
begin select raise(abort, 'heartbeats only go on'); end;

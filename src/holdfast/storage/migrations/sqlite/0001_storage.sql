-- The outbox: what listeners are told, written in the transaction of the change itself.
-- One writer at a time, so ids are handed out in the order of commits and a reader that has seen n misses none.
create table outbox (
    id integer primary key autoincrement,
    workspace_id text not null,
    developer_id text not null,
    topic text not null,
    data text not null check (json_valid(data)),
    created_at text not null
) strict;

create index outbox_by_owner on outbox (workspace_id, developer_id, id);

-- Forgetting a session empties what was told of it; nothing else may change.
create trigger outbox_is_only_emptied before update on outbox
when not (new.data = '{}' and (new.id, new.workspace_id, new.developer_id, new.topic, new.created_at)
                            = (old.id, old.workspace_id, old.developer_id, old.topic, old.created_at))
begin select raise(abort, 'outbox is append-only'); end;

create trigger outbox_is_not_deleted before delete on outbox
begin select raise(abort, 'outbox is append-only'); end;

create trigger outbox_is_not_replaced before insert on outbox
when exists (select 1 from outbox where id = new.id)
begin select raise(abort, 'outbox is append-only'); end;

-- own_event
-- For erasures: a developer writes tombstones only for own events; a tombstone for another developer's event would keep
-- that developer from erasing it.
create or replace function context.own_event() returns trigger
language plpgsql as $$
begin
    if exists (select from context.session_events e
               where e.workspace_id = new.workspace_id and e.id = new.event_id
                 and e.developer_id = new.developer_id and e.session_id = new.session_id)
    then
        return new;
    end if;
    raise exception 'context.erasures name no event of this developer' using errcode = 'foreign_key_violation';
end
$$;

-- need_tombstone
-- For events: content can be erased only if a tombstone exists.
create or replace function context.need_tombstone() returns trigger
language plpgsql as $$
begin
    if not exists (select from context.erasures x where x.workspace_id = old.workspace_id and x.event_id = old.id) then
        raise exception 'context.session_events is append-only' using errcode = 'restrict_violation';
    end if;
    return new;
end
$$;

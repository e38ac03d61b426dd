-- refuse
-- For triggers: refuses the change, for the owner of the table too.
create or replace function holdfast.refuse() returns trigger
language plpgsql as $$
begin
    raise exception '%.% is append-only', tg_table_schema, tg_table_name using errcode = 'restrict_violation';
end
$$;

-- only_empty
-- For the outbox: forgetting a session empties its notifications; no other change is allowed.
create or replace function holdfast.only_empty() returns trigger
language plpgsql as $$
begin
    if new.data = '{}' and (new.id, new.workspace_id, new.developer_id, new.topic, new.created_at)
                         = (old.id, old.workspace_id, old.developer_id, old.topic, old.created_at)
    then
        return new;
    end if;
    raise exception 'holdfast.outbox is append-only' using errcode = 'restrict_violation';
end
$$;

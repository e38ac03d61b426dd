-- The walls come first: a schema of our own, a runtime role that owns nothing, and the outbox.
-- Who asks is set for the transaction only (holdfast.workspace, holdfast.developer); unset means no rows.
create schema if not exists holdfast;

-- A block, so that a role without the right to make roles can apply this where the role exists already.
do $$
begin
    if not exists (select from pg_roles where rolname = 'holdfast_runtime') then
        create role holdfast_runtime nologin nosuperuser nobypassrls nocreatedb nocreaterole;
    end if;
exception
    when duplicate_object or unique_violation then null;  -- another database of this server is migrated at the same time
end
$$;

grant usage on schema holdfast to holdfast_runtime;
grant select on holdfast.migrations to holdfast_runtime;

create function holdfast.refuse() returns trigger
language plpgsql as $$
begin
    raise exception '%.% is append-only', tg_table_schema, tg_table_name using errcode = 'restrict_violation';
end
$$;

create trigger migrations_are_not_truncated before truncate on holdfast.migrations
    for each statement execute function holdfast.refuse();

create function holdfast.act_for(p_workspace text, p_developer text) returns void
language plpgsql as $$
begin
    perform set_config('holdfast.workspace', p_workspace, true), set_config('holdfast.developer', p_developer, true);
end
$$;

create table holdfast.outbox (
    workspace_id text collate "C" not null,
    id bigint generated always as identity,
    developer_id text collate "C" not null,
    topic text not null,
    data jsonb not null,
    created_at timestamptz not null,
    primary key (workspace_id, id)
);

create index outbox_by_owner on holdfast.outbox (workspace_id, developer_id, id);

alter table holdfast.outbox enable row level security;
alter table holdfast.outbox force row level security;
create policy owner_only on holdfast.outbox for all
    using (workspace_id = nullif(current_setting('holdfast.workspace', true), '')
           and developer_id = nullif(current_setting('holdfast.developer', true), ''))
    with check (workspace_id = nullif(current_setting('holdfast.workspace', true), '')
                and developer_id = nullif(current_setting('holdfast.developer', true), ''));

-- Forgetting a session empties what was told of it; nothing else may change.
create function holdfast.only_empty() returns trigger
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

create trigger outbox_is_only_emptied before update on holdfast.outbox
    for each row execute function holdfast.only_empty();
create trigger outbox_is_not_deleted before delete on holdfast.outbox
    for each row execute function holdfast.refuse();
create trigger outbox_is_not_truncated before truncate on holdfast.outbox
    for each statement execute function holdfast.refuse();

-- Ids are handed out under a lock that is held until the commit, so that they appear in the order of the commits
-- and a reader that has seen n misses none. A bare sequence skips: a later id can be visible before an earlier one.
create function holdfast.tell(p_workspace text, p_developer text, p_topic text, p_data jsonb) returns void
language plpgsql as $$
begin
    perform pg_advisory_xact_lock(hashtextextended('holdfast.outbox:' || p_workspace, 0));
    insert into holdfast.outbox (workspace_id, developer_id, topic, data, created_at)
    values (p_workspace, p_developer, p_topic, p_data, clock_timestamp());
end
$$;

create function holdfast.outbox_after(p_workspace text, p_developer text, p_after bigint, p_limit int)
returns table (id bigint, topic text, data text, created_at timestamptz)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select o.id, o.topic, o.data::text, o.created_at
        from holdfast.outbox o
        where o.workspace_id = p_workspace and o.developer_id = p_developer and o.id > p_after and o.data <> '{}'
        order by o.id
        limit p_limit;
end
$$;

create function holdfast.outbox_end(p_workspace text, p_developer text)
returns table (id bigint)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select coalesce(max(o.id), 0)
        from holdfast.outbox o
        where o.workspace_id = p_workspace and o.developer_id = p_developer;
end
$$;

revoke all on all functions in schema holdfast from public;
grant execute on all functions in schema holdfast to holdfast_runtime;
grant select, insert, update (data) on holdfast.outbox to holdfast_runtime;

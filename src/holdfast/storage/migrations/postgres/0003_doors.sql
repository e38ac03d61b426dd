-- What the doors need: requests that were done already, and a row that health writes to.
-- A repeated request finds its key here and what it was about; the answer itself is read again, so that nothing that
-- is forgotten elsewhere lingers here. Keys do not expire: a late repeat must not be done a second time.
create table holdfast.idempotency_keys (
    workspace_id text collate "C" not null,
    developer_id text collate "C" not null,
    operation text collate "C" not null,
    key text collate "C" not null,
    request_hash bytea not null,
    subject text not null,
    created_at timestamptz not null,
    primary key (workspace_id, developer_id, operation, key)
);

create table holdfast.heartbeats (
    workspace_id text collate "C" not null,
    developer_id text collate "C" not null,
    beats bigint not null,
    primary key (workspace_id, developer_id)
) with (fillfactor = 60);

do $$
declare
    one text;
begin
    foreach one in array array['idempotency_keys', 'heartbeats'] loop
        execute format('alter table holdfast.%I enable row level security', one);
        execute format('alter table holdfast.%I force row level security', one);
        execute format($policy$
            create policy owner_only on holdfast.%I for all
            using (workspace_id = nullif(current_setting('holdfast.workspace', true), '')
                   and developer_id = nullif(current_setting('holdfast.developer', true), ''))
            with check (workspace_id = nullif(current_setting('holdfast.workspace', true), '')
                        and developer_id = nullif(current_setting('holdfast.developer', true), ''))
        $policy$, one);
        execute format('create trigger %I before delete on holdfast.%I for each row execute function holdfast.refuse()',
                       one || '_are_not_deleted', one);
        execute format('create trigger %I before truncate on holdfast.%I for each statement execute function holdfast.refuse()',
                       one || '_are_not_truncated', one);
    end loop;
end
$$;

create trigger idempotency_keys_are_not_updated before update on holdfast.idempotency_keys
    for each row execute function holdfast.refuse();

create trigger heartbeats_keep_their_owner before update on holdfast.heartbeats
    for each row
    when ((new.workspace_id, new.developer_id) <> (old.workspace_id, old.developer_id) or new.beats <= old.beats)
    execute function holdfast.refuse();

create function holdfast.find_key(p_workspace text, p_developer text, p_operation text, p_key text)
returns table (request_hash bytea, subject text)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select k.request_hash, k.subject from holdfast.idempotency_keys k
        where k.workspace_id = p_workspace and k.developer_id = p_developer and k.operation = p_operation and k.key = p_key;
end
$$;

-- Two who bring the same key at once: the second waits here for the first, fails, and finds it when it tries again.
create function holdfast.keep_key(
    p_workspace text, p_developer text, p_operation text, p_key text, p_request_hash bytea, p_subject text
) returns table (subject text)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    insert into holdfast.idempotency_keys (workspace_id, developer_id, operation, key, request_hash, subject, created_at)
    values (p_workspace, p_developer, p_operation, p_key, p_request_hash, p_subject, clock_timestamp());
    return query select p_subject;
end
$$;

create function holdfast.beat(p_workspace text, p_developer text) returns table (beats bigint)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        insert into holdfast.heartbeats as h (workspace_id, developer_id, beats) values (p_workspace, p_developer, 1)
        on conflict (workspace_id, developer_id) do update set beats = h.beats + 1
        returning h.beats;
end
$$;

create function holdfast.last_beat(p_workspace text, p_developer text) returns table (beats bigint)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select h.beats from holdfast.heartbeats h where h.workspace_id = p_workspace and h.developer_id = p_developer;
end
$$;

revoke all on all functions in schema holdfast from public;
grant execute on all functions in schema holdfast to holdfast_runtime;
grant select, insert on holdfast.idempotency_keys to holdfast_runtime;
grant select, insert, update (beats) on holdfast.heartbeats to holdfast_runtime;

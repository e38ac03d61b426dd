-- present
-- For a caller that is known by what it presents, a token or a code: the policies show it that one row. Which developer
-- it is follows from the row.
create or replace function identity.present(p_workspace text, p_presented text) returns void
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, ''), set_config('holdfast.presented', p_presented, true);
end
$$;

-- own_token
-- One's own token by its id, as the caller of a change gets it back.
create or replace function identity.own_token(p_workspace text, p_developer text, p_id uuid)
returns setof identity.token_row
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select t.id::text, t.developer_id, t.handle, t.agent, t.scopes::text, t.granted_by::text, t.created_at,
               t.last_used_at, t.expires_at, t.revoked_at
        from identity.tokens t
        where t.workspace_id = p_workspace and t.developer_id = p_developer and t.id = p_id;
end
$$;

-- keep_token
-- Stores a token of a developer. One that another token grants ends with it; of a token that has ended nothing is granted.
-- Until this commits the granting one is not revoked.
create or replace function identity.keep_token(
    p_workspace text, p_developer text, p_id uuid, p_handle text, p_agent text, p_scopes text, p_token_hash bytea,
    p_granted_by uuid, p_ttl_seconds bigint
) returns void
language plpgsql as $$
declare
    moment timestamptz := clock_timestamp();
    until timestamptz := moment + p_ttl_seconds * interval '1 second';
    end_of_grant timestamptz;
begin
    if p_granted_by is not null then
        select t.expires_at into end_of_grant from identity.tokens t
        where t.workspace_id = p_workspace and t.developer_id = p_developer and t.id = p_granted_by
          and t.revoked_at is null and (t.expires_at is null or t.expires_at > moment)
        for share;
        if not found then
            return;
        end if;
    end if;
    insert into identity.tokens (workspace_id, id, developer_id, handle, agent, scopes, token_hash, granted_by, created_at,
                                 expires_at)
    values (p_workspace, p_id, p_developer, p_handle, p_agent, p_scopes::jsonb, p_token_hash, p_granted_by, moment,
            least(until, end_of_grant))
    on conflict on constraint tokens_pkey do nothing;
end
$$;

-- count_open_logins
-- How many logins wait for a decision. As the owner, because they belong to nobody yet.
create or replace function identity.count_open_logins(p_workspace text) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    open_logins bigint;
    moment timestamptz := clock_timestamp();
begin
    perform set_config('holdfast.counting', 'yes', true);
    select count(*) into open_logins from identity.logins l
    where l.workspace_id = p_workspace and l.decision is null and l.expires_at > moment
      and l.expires_at > '-infinity' and p_workspace = current_setting('holdfast.workspace', true);
    perform set_config('holdfast.counting', '', true);
    return open_logins;
end
$$;

-- add_workspace
-- Makes a workspace known; again it does nothing.
create or replace function identity.add_workspace(p_workspace text, p_developer text)
returns table (created_at timestamptz, is_new boolean)
language plpgsql as $$
declare
    is_first boolean;
begin
    perform holdfast.act_for(p_workspace, p_developer);
    insert into identity.workspaces (workspace_id, created_at) values (p_workspace, clock_timestamp())
    on conflict on constraint workspaces_pkey do nothing;
    is_first := found;
    return query select w.created_at, is_first from identity.workspaces w where w.workspace_id = p_workspace;
end
$$;

-- find_workspace
-- Whether it was added.
create or replace function identity.find_workspace(p_workspace text, p_developer text)
returns table (created_at timestamptz)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query select w.created_at from identity.workspaces w where w.workspace_id = p_workspace;
end
$$;

-- add_token
-- A new token of a developer; no row where the token that grants it has ended.
create or replace function identity.add_token(
    p_workspace text, p_developer text, p_id uuid, p_handle text, p_agent text, p_scopes text, p_token_hash bytea,
    p_granted_by uuid, p_ttl_seconds bigint
) returns setof identity.token_row
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    perform identity.keep_token(p_workspace, p_developer, p_id, p_handle, p_agent, p_scopes, p_token_hash, p_granted_by,
                                p_ttl_seconds);
    return query select * from identity.own_token(p_workspace, p_developer, p_id);
end
$$;

-- list_tokens
-- Those of one developer, newest first, also those that have ended.
create or replace function identity.list_tokens(p_workspace text, p_developer text, p_limit bigint)
returns setof identity.token_row
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select t.id::text, t.developer_id, t.handle, t.agent, t.scopes::text, t.granted_by::text, t.created_at,
               t.last_used_at, t.expires_at, t.revoked_at
        from identity.tokens t
        where t.workspace_id = p_workspace and t.developer_id = p_developer and t.created_at > '-infinity'
        order by t.created_at desc, t.id desc
        limit p_limit;
end
$$;

-- find_live_token
-- A token of the caller, unless it was revoked or has expired: what streams that it opened ask again and again.
create or replace function identity.find_live_token(p_workspace text, p_developer text, p_id uuid)
returns setof identity.token_row
language plpgsql as $$
begin
    return query
        select * from identity.own_token(p_workspace, p_developer, p_id) t
        where t.revoked_at is null and (t.expires_at is null or t.expires_at > clock_timestamp());
end
$$;

-- authenticate
-- The token with this hash, unless it was revoked or has expired; that it was used is noted once a minute.
create or replace function identity.authenticate(p_workspace text, p_presented bytea)
returns setof identity.token_row
language plpgsql as $$
declare
    moment timestamptz := clock_timestamp();
    known identity.token_row;
begin
    perform identity.present(p_workspace, encode(p_presented, 'hex'));
    select t.id::text, t.developer_id, t.handle, t.agent, t.scopes::text, t.granted_by::text, t.created_at, t.last_used_at,
           t.expires_at, t.revoked_at
    into known
    from identity.tokens t
    where t.workspace_id = p_workspace and t.token_hash = p_presented and t.token_hash >= ''
      and t.revoked_at is null and (t.expires_at is null or t.expires_at > moment);
    if not found then
        return;
    end if;
    if known.last_used_at is null or known.last_used_at < moment - interval '1 minute' then
        perform holdfast.act_for(p_workspace, known.developer_id);
        update identity.tokens t set last_used_at = moment
        where t.workspace_id = p_workspace and t.developer_id = known.developer_id and t.id = known.id::uuid
          and t.revoked_at is null;
        known.last_used_at := moment;
    end if;
    return next known;
end
$$;

-- revoke_token
-- Ends a token that is named by its id, then those that it has granted, and so on: none of a generation can grant any more
-- when the next one is looked for. Revoked again, it stays as it is.
create or replace function identity.revoke_token(p_workspace text, p_presented uuid)
returns setof identity.token_row
language plpgsql as $$
declare
    owner text;
    generation uuid[] := array[p_presented];
begin
    perform identity.present(p_workspace, p_presented::text);
    select t.developer_id into owner from identity.tokens t where t.workspace_id = p_workspace and t.id = p_presented;
    if not found then
        return;
    end if;
    perform holdfast.act_for(p_workspace, owner);
    while cardinality(generation) > 0 loop
        update identity.tokens t set revoked_at = clock_timestamp()
        where t.workspace_id = p_workspace and t.developer_id = owner and t.id = any (generation) and t.revoked_at is null;
        generation := array(
            select g.id from identity.tokens g
            where g.workspace_id = p_workspace and g.granted_by = any (generation) and g.granted_by is not null);
    end loop;
    return query select * from identity.own_token(p_workspace, owner, p_presented);
end
$$;

-- begin_login
-- An agent asks for a token; no row where too many logins are open. Counted under a lock, so that the limit is exact.
create or replace function identity.begin_login(
    p_workspace text, p_presented bytea, p_id uuid, p_user_code_hash bytea, p_agent text, p_machine text,
    p_ttl_seconds bigint, p_most bigint
) returns setof identity.login_row
language plpgsql as $$
declare
    moment timestamptz;
begin
    perform identity.present(p_workspace, encode(p_presented, 'hex'));
    perform pg_advisory_xact_lock(hashtextextended(format('holdfast.logins:%s', p_workspace), 0));
    if identity.count_open_logins(p_workspace) >= p_most then
        return;
    end if;
    moment := clock_timestamp();
    insert into identity.logins (workspace_id, id, device_hash, user_code_hash, agent, machine, asked_at, expires_at)
    values (p_workspace, p_id, p_presented, p_user_code_hash, p_agent, p_machine, moment,
            moment + p_ttl_seconds * interval '1 second');
    return query
        select l.id::text, l.agent, l.machine, l.asked_at, l.expires_at, false, l.handle, l.decision
        from identity.logins l where l.workspace_id = p_workspace and l.id = p_id;
end
$$;

-- find_login
-- What a person is asked to approve, by the code that the agent shows.
create or replace function identity.find_login(p_workspace text, p_presented bytea)
returns setof identity.login_row
language plpgsql as $$
begin
    perform identity.present(p_workspace, encode(p_presented, 'hex'));
    return query
        select l.id::text, l.agent, l.machine, l.asked_at, l.expires_at, l.expires_at <= clock_timestamp(), l.handle,
               l.decision
        from identity.logins l
        where l.workspace_id = p_workspace and l.user_code_hash = p_presented and l.user_code_hash >= '';
end
$$;

-- decide_login
-- A developer says yes or no, once and in time; no row where another decided first.
create or replace function identity.decide_login(
    p_workspace text, p_developer text, p_user_code_hash bytea, p_handle text, p_decision text, p_scopes text,
    p_granted_by uuid
) returns setof identity.login_row
language plpgsql as $$
declare
    moment timestamptz := clock_timestamp();
begin
    perform identity.present(p_workspace, encode(p_user_code_hash, 'hex'));
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        update identity.logins l
        set developer_id = p_developer, handle = p_handle, decision = p_decision, decided_at = moment,
            scopes = p_scopes::jsonb, granted_by = p_granted_by
        where l.workspace_id = p_workspace and l.user_code_hash = p_user_code_hash and l.user_code_hash >= ''
          and l.decision is null and l.expires_at > moment
        returning l.id::text, l.agent, l.machine, l.asked_at, l.expires_at, false, l.handle, l.decision;
end
$$;

-- redeem_login
-- The agent fetches its token: it is made now, once, as the developer who approved, and names the machine that asked. Sent
-- again with the same token, it answers the same. `decision` is null while nobody has decided; without a row the code is unknown, used or expired.
create or replace function identity.redeem_login(
    p_workspace text, p_presented bytea, p_id uuid, p_token_hash bytea
) returns table (decision text, id text, developer_id text, handle text, agent text, scopes text, granted_by text,
                 created_at timestamptz, last_used_at timestamptz, expires_at timestamptz, revoked_at timestamptz)
language plpgsql as $$
declare
    moment timestamptz := clock_timestamp();
    asked identity.logins;
begin
    perform identity.present(p_workspace, encode(p_presented, 'hex'));
    select l.* into asked from identity.logins l
    where l.workspace_id = p_workspace and l.device_hash = p_presented and l.device_hash >= '';
    if not found then
        return;
    end if;
    if asked.decision = 'approved' then
        perform holdfast.act_for(p_workspace, asked.developer_id);
        update identity.logins l set redeemed_at = moment
        where l.workspace_id = p_workspace and l.developer_id = asked.developer_id and l.id = asked.id
          and l.redeemed_at is null and l.expires_at > moment;
        if found then
            perform identity.keep_token(p_workspace, asked.developer_id, p_id, asked.handle,
                                        asked.agent || ' on ' || asked.machine, asked.scopes::text, p_token_hash,
                                        asked.granted_by, null);
        end if;
        return query
            select asked.decision, t.* from identity.own_token(p_workspace, asked.developer_id, p_id) t
            where exists (select from identity.tokens s
                          where s.workspace_id = p_workspace and s.id = p_id and s.token_hash = p_token_hash);
    elsif asked.expires_at > moment then
        decision := asked.decision;
        return next;
    end if;
end
$$;

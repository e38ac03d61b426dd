-- add_workspace
-- Makes a workspace known; again it does nothing.
insert into workspaces (workspace_id, created_at)
select ?1, now_utc()
where ?2 <> '' and not exists (select 1 from workspaces where workspace_id = ?1);
select created_at, changes() = 1 as is_new from workspaces where workspace_id = ?1 and ?2 <> '';

-- find_workspace
-- Whether it was added.
select created_at from workspaces where workspace_id = ?1 and ?2 <> '';

-- add_token
-- A new token of a developer; no row where the token that grants it has ended.
insert into tokens (workspace_id, id, developer_id, handle, agent, scopes, token_hash, granted_by, created_at, expires_at)
select ?1, ?3, ?2, ?4, ?5, ?6, ?7, ?8, now_utc(),
       case when g.expires_at is null or seconds_after(now_utc(), ?9) < g.expires_at then seconds_after(now_utc(), ?9)
            else g.expires_at end
from (select 1) one
left join tokens g on g.workspace_id = ?1 and g.id = ?8 and g.developer_id = ?2 and g.revoked_at is null
  and (g.expires_at is null or g.expires_at > now_utc())
where (?8 is null or g.id is not null)
  and not exists (select 1 from tokens where workspace_id = ?1 and id = ?3);
select id, developer_id, handle, agent, scopes, granted_by, created_at, last_used_at, expires_at, revoked_at
from tokens
where workspace_id = ?1 and developer_id = ?2 and id = ?3;

-- list_tokens
-- Those of one developer, newest first, also those that have ended.
select id, developer_id, handle, agent, scopes, granted_by, created_at, last_used_at, expires_at, revoked_at
from tokens indexed by tokens_by_developer
where workspace_id = ?1 and developer_id = ?2 and created_at > ''
order by created_at desc, id desc
limit ?3;

-- find_live_token
-- A token of the caller, unless it was revoked or has expired: what streams that it opened ask again and again.
select id, developer_id, handle, agent, scopes, granted_by, created_at, last_used_at, expires_at, revoked_at
from tokens
where workspace_id = ?1 and developer_id = ?2 and id = ?3 and revoked_at is null
  and (expires_at is null or expires_at > now_utc());

-- authenticate
-- The token with this hash, unless it was revoked or has expired; that it was used is noted once a minute.
update tokens set last_used_at = now_utc()
where workspace_id = ?1 and token_hash = ?2 and revoked_at is null
  and (expires_at is null or expires_at > now_utc())
  and (last_used_at is null or last_used_at < seconds_after(now_utc(), -60));
select id, developer_id, handle, agent, scopes, granted_by, created_at, last_used_at, expires_at, revoked_at
from tokens
where workspace_id = ?1 and token_hash = ?2 and revoked_at is null and (expires_at is null or expires_at > now_utc());

-- revoke_token
-- Ends a token that is named by its id, and all that it has granted. Revoked again, it stays as it is.
update tokens set revoked_at = now_utc()
where workspace_id = ?1 and revoked_at is null
  and id in (with recursive family (id) as (
                 select ?2
                 union
                 select g.id from family f join tokens g on g.workspace_id = ?1 and g.granted_by = f.id)
             select id from family);
select id, developer_id, handle, agent, scopes, granted_by, created_at, last_used_at, expires_at, revoked_at
from tokens
where workspace_id = ?1 and id = ?2;

-- begin_login
-- An agent asks for a token; no row where too many logins are open.
insert into logins (workspace_id, id, device_hash, user_code_hash, agent, machine, asked_at, expires_at)
select ?1, ?3, ?2, ?4, ?5, ?6, now_utc(), seconds_after(now_utc(), ?7)
where (select count(*) from logins indexed by logins_by_end
       where workspace_id = ?1 and decision is null and expires_at > now_utc()) < ?8;
select id, agent, machine, asked_at, expires_at, false as is_expired, handle, decision
from logins
where workspace_id = ?1 and device_hash = ?2 and id = ?3;

-- find_login
-- What a person is asked to approve, by the code that the agent shows.
select id, agent, machine, asked_at, expires_at, expires_at <= now_utc() as is_expired, handle, decision
from logins
where workspace_id = ?1 and user_code_hash = ?2;

-- decide_login
-- A developer says yes or no, once and in time; no row where another decided first.
update logins
set developer_id = ?2, handle = ?4, decision = ?5, decided_at = now_utc(), scopes = ?6, granted_by = ?7
where workspace_id = ?1 and user_code_hash = ?3 and decision is null and expires_at > now_utc();
select id, agent, machine, asked_at, expires_at, false as is_expired, handle, decision
from logins
where workspace_id = ?1 and user_code_hash = ?3 and changes() = 1;

-- redeem_login
-- The agent fetches its token: it is made now, once, as the developer who approved, and names the machine that asked. Sent
-- again with the same token, it answers the same. `decision` is null while nobody has decided; without a row the code is unknown, used or expired.
update logins set redeemed_at = now_utc()
where workspace_id = ?1 and device_hash = ?2 and decision = 'approved' and redeemed_at is null and expires_at > now_utc();
insert into tokens (workspace_id, id, developer_id, handle, agent, scopes, token_hash, granted_by, created_at, expires_at)
select ?1, ?3, l.developer_id, l.handle, l.agent || ' on ' || l.machine, l.scopes, ?4, l.granted_by, now_utc(), g.expires_at
from logins l
left join tokens g on g.workspace_id = ?1 and g.id = l.granted_by and g.developer_id = l.developer_id
  and g.revoked_at is null and (g.expires_at is null or g.expires_at > now_utc())
where changes() = 1 and l.workspace_id = ?1 and l.device_hash = ?2 and (l.granted_by is null or g.id is not null);
select l.decision, t.id, t.developer_id, t.handle, t.agent, t.scopes, t.granted_by, t.created_at, t.last_used_at,
       t.expires_at, t.revoked_at
from logins l
join tokens t on t.workspace_id = ?1 and t.id = ?3 and t.token_hash = ?4 and t.developer_id = l.developer_id
where l.workspace_id = ?1 and l.device_hash = ?2 and l.decision = 'approved';
select decision, null as id, null as developer_id, null as handle, null as agent, null as scopes, null as granted_by,
       null as created_at, null as last_used_at, null as expires_at, null as revoked_at
from logins
where workspace_id = ?1 and device_hash = ?2 and coalesce(decision, '') <> 'approved' and expires_at > now_utc();

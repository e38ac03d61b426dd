"""Rows and values with which the laws of the house are tried on this room's tables and verbs."""

from holdfast.scope import Scope

FILL = """
insert into team.developers (workspace_id, developer_id, handle, name, created_at, seen_at)
select 'w' || w, 'd' || d, 'h' || d, 'h' || d, now(), now() - d * interval '1 minute' from owners
on conflict do nothing;
insert into identity.workspaces (workspace_id, created_at)
select distinct 'w' || w, now() from owners
on conflict do nothing;
insert into identity.tokens (workspace_id, id, developer_id, handle, agent, scopes, token_hash,
    granted_by, created_at)
select 'w' || w, md5(format('t %s %s %s', w, d, n))::uuid, 'd' || d, 'h' || d, 'claude', '[]',
    sha256(format('t %s %s %s', w, d, n)::bytea),
    case when n in (41, 42) then md5(format('t %s %s 40', w, d))::uuid end,
    now() - n * interval '1 hour'
from owners, numbers x (n)
on conflict do nothing;
insert into identity.logins (workspace_id, id, device_hash, user_code_hash, agent, machine,
    asked_at, expires_at, developer_id, handle, decision, decided_at, scopes)
select 'w' || w, md5(format('l %s %s %s', w, d, n))::uuid,
    sha256(format('l %s %s %s', w, d, n)::bytea), sha256(format('u %s %s %s', w, d, n)::bytea),
    'claude', 'm', now(), case when n in (39, 40) then now() + interval '10 minutes'
    else now() + interval '1 microsecond' end,
    case when n <> 40 then 'd' || d end, case when n <> 40 then 'h' || d end,
    case when n <> 40 then 'approved' end, case when n <> 40 then now() end,
    case when n <> 40 then '[]'::jsonb end
from owners, numbers x (n)
on conflict do nothing
"""
TOKEN = "md5('t 2 5 40')::uuid"
NEW_HASH = "sha256('new'::bytea)"
VALUES = {
    "p_id": TOKEN,
    "p_handle": "'h5'",
    "p_agent": "'claude'",
    "p_scopes": "'[]'",
    "p_token_hash": NEW_HASH,
    "p_granted_by": "null",
    "p_ttl_seconds": "60",
    "p_limit": "10",
    "p_presented": "sha256('u 2 5 40'::bytea)",
    "p_user_code_hash": "sha256('u 2 5 40'::bytea)",
    "p_decision": "'approved'",
    "p_machine": "'m'",
    "p_most": "200",
}
VALUES_OF = {
    "identity.add_token": {"p_id": "gen_random_uuid()", "p_granted_by": TOKEN},
    "identity.authenticate": {"p_presented": "sha256('t 2 5 40'::bytea)"},
    "identity.revoke_token": {"p_presented": TOKEN},
    "identity.begin_login": {
        "p_presented": NEW_HASH,
        "p_id": "gen_random_uuid()",
        "p_user_code_hash": NEW_HASH,
    },
    "identity.redeem_login": {
        "p_presented": "sha256('l 2 5 39'::bytea)",
        "p_id": "gen_random_uuid()",
    },
}
READS_ALL = {
    "identity.add_workspace": "a workspace has one row",
    "identity.find_workspace": "a workspace has one row",
    "identity.list_tokens": "the newest tokens of one developer are the answer",
}
SORTS: dict[str, str] = {}
INNER = {"identity.present", "identity.own_token", "identity.keep_token"}


async def add_rows(scope: Scope) -> None:
    """At least one row in every table of the room; a login that was approved and one that was not,
    which belongs to nobody.
    """
    await scope.team.enter("private")
    identity = scope.identity
    await identity.add_workspace()
    await identity.add_token("claude")
    login = await identity.begin_login("claude", "laptop")
    await identity.approve_login(login.user_code)
    await identity.redeem_login(login.device_code)
    await identity.begin_login("claude", "laptop")

-- Who calls a server: the same tables as on PostgreSQL. There policies hide a row from all but its developer and who
-- presents its token or code; here every query asks for the one or the other.

-- The workspaces that an administrator added.
create table workspaces (
    workspace_id text not null,
    created_at text not null,
    primary key (workspace_id)
) strict;

create trigger workspaces_are_not_updated before update on workspaces
begin select raise(abort, 'workspaces are not updated'); end;

create trigger workspaces_are_not_deleted before delete on workspaces
begin select raise(abort, 'workspaces are not deleted'); end;

create trigger workspaces_are_not_replaced before insert on workspaces
when exists (select 1 from workspaces where rowid = new.rowid)
  or exists (select 1 from workspaces where workspace_id = new.workspace_id)
begin select raise(abort, 'workspaces are not deleted'); end;

-- With what a developer's agents and browsers show who they are; never the token itself.
create table tokens (
    workspace_id text not null,
    id text not null,
    developer_id text not null,
    handle text not null,
    agent text not null,
    scopes text not null check (json_type(scopes) = 'array'),
    token_hash blob not null check (length(token_hash) = 32),
    granted_by text,
    created_at text not null,
    last_used_at text,
    expires_at text,
    revoked_at text,
    primary key (workspace_id, id),
    unique (workspace_id, id, developer_id),
    foreign key (workspace_id, developer_id) references developers (workspace_id, developer_id),
    foreign key (workspace_id, granted_by, developer_id) references tokens (workspace_id, id, developer_id)
) strict;

create unique index tokens_by_hash on tokens (workspace_id, token_hash);
create index tokens_by_grant on tokens (workspace_id, granted_by) where granted_by is not null;
create index tokens_by_developer on tokens (workspace_id, developer_id, created_at desc, id desc);

create trigger tokens_are_only_used_and_revoked before update on tokens
when (new.rowid, new.workspace_id, new.id, new.developer_id, new.handle, new.agent, new.scopes, new.token_hash,
      new.granted_by, new.created_at, new.expires_at)
     is not (old.rowid, old.workspace_id, old.id, old.developer_id, old.handle, old.agent, old.scopes, old.token_hash,
             old.granted_by, old.created_at, old.expires_at)
  or (old.revoked_at is not null and new.revoked_at is not old.revoked_at)
begin select raise(abort, 'tokens are only used and revoked'); end;

create trigger tokens_are_not_deleted before delete on tokens
begin select raise(abort, 'tokens are not deleted'); end;

create trigger tokens_are_not_replaced before insert on tokens
when exists (select 1 from tokens where rowid = new.rowid)
  or exists (select 1 from tokens where workspace_id = new.workspace_id and id = new.id)
  or exists (select 1 from tokens where workspace_id = new.workspace_id and token_hash = new.token_hash)
begin select raise(abort, 'tokens are not deleted'); end;

-- Agents that ask for a token, until a developer has approved it and it was fetched. A row belongs to nobody until a
-- developer decides about it.
create table logins (
    workspace_id text not null,
    id text not null,
    developer_id text,
    handle text,
    device_hash blob not null check (length(device_hash) = 32),
    user_code_hash blob not null check (length(user_code_hash) = 32),
    agent text not null,
    machine text not null,
    asked_at text not null,
    expires_at text not null,
    decision text check (decision is null or decision in ('approved', 'denied')),
    decided_at text,
    scopes text check (scopes is null or json_type(scopes) = 'array'),
    granted_by text,
    redeemed_at text,
    primary key (workspace_id, id),
    check ((developer_id is null) = (decision is null)),
    check (redeemed_at is null or decision = 'approved'),
    foreign key (workspace_id, developer_id) references developers (workspace_id, developer_id)
) strict;

create unique index logins_by_device on logins (workspace_id, device_hash);
create unique index logins_by_user_code on logins (workspace_id, user_code_hash);
create index logins_by_end on logins (workspace_id, expires_at) where decision is null;

create trigger logins_go_forward before update on logins
when (new.rowid, new.workspace_id, new.id, new.device_hash, new.user_code_hash, new.agent, new.machine, new.asked_at,
      new.expires_at)
     is not (old.rowid, old.workspace_id, old.id, old.device_hash, old.user_code_hash, old.agent, old.machine, old.asked_at,
             old.expires_at)
  or (old.decision is not null
      and (new.developer_id, new.handle, new.decision, new.decided_at, new.scopes, new.granted_by)
          is not (old.developer_id, old.handle, old.decision, old.decided_at, old.scopes, old.granted_by))
  or (new.redeemed_at is not old.redeemed_at and (old.redeemed_at is not null or new.decision is not 'approved'))
begin select raise(abort, 'logins go forward'); end;

create trigger logins_are_not_deleted before delete on logins
begin select raise(abort, 'logins are not deleted'); end;

create trigger logins_are_not_replaced before insert on logins
when exists (select 1 from logins where rowid = new.rowid)
  or exists (select 1 from logins where workspace_id = new.workspace_id and id = new.id)
  or exists (select 1 from logins where workspace_id = new.workspace_id and device_hash = new.device_hash)
  or exists (select 1 from logins where workspace_id = new.workspace_id and user_code_hash = new.user_code_hash)
begin select raise(abort, 'logins are not deleted'); end;

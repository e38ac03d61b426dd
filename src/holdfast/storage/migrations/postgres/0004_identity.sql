-- Who calls a server: workspaces, the tokens of their developers, and logins that wait for a yes. A token and a code are
-- stored as hashes. Who presents one may see its row: a policy compares it with a setting of the transaction, and
-- everything after that look is done as the developer that the row belongs to.

grant usage on schema identity to holdfast_runtime;

-- --- workspaces ------------------------------------------------------------------------------------------------------

-- It belongs to nobody in it, so its walls are its own: whoever acts in a workspace may see that it was added.
create table identity.workspaces (
    workspace_id text collate "C" not null,
    created_at timestamptz not null,
    primary key (workspace_id)
);
comment on table identity.workspaces is 'The workspaces that an administrator added';

alter table identity.workspaces enable row level security;
alter table identity.workspaces force row level security;
create policy own_workspace on identity.workspaces for all
    using (workspace_id = nullif(current_setting('holdfast.workspace', true), '')
           and nullif(current_setting('holdfast.developer', true), '') is not null)
    with check (workspace_id = nullif(current_setting('holdfast.workspace', true), '')
                and nullif(current_setting('holdfast.developer', true), '') is not null);
create trigger workspaces_are_not_updated before update on identity.workspaces
    for each row execute function holdfast.refuse();
create trigger workspaces_are_not_deleted before delete on identity.workspaces
    for each row execute function holdfast.refuse();
create trigger workspaces_are_not_truncated before truncate on identity.workspaces
    for each statement execute function holdfast.refuse();
grant select, insert on identity.workspaces to holdfast_runtime;

-- --- tokens ----------------------------------------------------------------------------------------------------------

create table identity.tokens (
    workspace_id text collate "C" not null,
    id uuid not null,
    developer_id text collate "C" not null,
    handle text collate "C" not null,
    agent text not null,
    scopes jsonb not null check (jsonb_typeof(scopes) = 'array'),
    token_hash bytea not null check (length(token_hash) = 32),
    granted_by uuid,
    created_at timestamptz not null,
    last_used_at timestamptz,
    expires_at timestamptz,
    revoked_at timestamptz,
    primary key (workspace_id, id),
    unique (workspace_id, id, developer_id),
    foreign key (workspace_id, developer_id) references team.developers (workspace_id, developer_id),
    foreign key (workspace_id, granted_by, developer_id) references identity.tokens (workspace_id, id, developer_id)
) with (fillfactor = 60);
comment on table identity.tokens is 'With what a developer''s agents and browsers show who they are; never the token itself';
comment on column identity.tokens.token_hash is 'SHA-256 of the token';
comment on column identity.tokens.granted_by is 'the token that made this one, and takes it along when it is revoked';

create unique index tokens_by_hash on identity.tokens (workspace_id, token_hash) where token_hash >= '';
create index tokens_by_grant on identity.tokens (workspace_id, granted_by) where granted_by is not null;
create index tokens_by_developer on identity.tokens (workspace_id, developer_id, created_at desc, id desc)
    where created_at > '-infinity';

call holdfast.put_walls('identity', 'tokens', 'are');
create policy presenter_reads on identity.tokens for select
    using (workspace_id = nullif(current_setting('holdfast.workspace', true), '')
           and nullif(current_setting('holdfast.presented', true), '') in (encode(token_hash, 'hex'), id::text));
create trigger tokens_are_only_used_and_revoked before update on identity.tokens
    for each row
    when ((new.workspace_id, new.id, new.developer_id, new.handle, new.agent, new.scopes, new.token_hash, new.granted_by,
           new.created_at, new.expires_at)
              is distinct from (old.workspace_id, old.id, old.developer_id, old.handle, old.agent, old.scopes,
                                old.token_hash, old.granted_by, old.created_at, old.expires_at)
          or (old.revoked_at is not null and new.revoked_at is distinct from old.revoked_at))
    execute function holdfast.refuse();
grant select, insert, update (last_used_at, revoked_at) on identity.tokens to holdfast_runtime;

-- --- logins ----------------------------------------------------------------------------------------------------------

-- A row belongs to nobody until a developer decides about it.
create table identity.logins (
    workspace_id text collate "C" not null,
    id uuid not null,
    developer_id text collate "C",
    handle text collate "C",
    device_hash bytea not null check (length(device_hash) = 32),
    user_code_hash bytea not null check (length(user_code_hash) = 32),
    agent text not null,
    machine text not null,
    asked_at timestamptz not null,
    expires_at timestamptz not null,
    decision text collate "C" check (decision in ('approved', 'denied')),
    decided_at timestamptz,
    scopes jsonb check (jsonb_typeof(scopes) = 'array'),
    granted_by uuid,
    redeemed_at timestamptz,
    primary key (workspace_id, id),
    check ((developer_id is null) = (decision is null)),
    check (redeemed_at is null or decision = 'approved'),
    foreign key (workspace_id, developer_id) references team.developers (workspace_id, developer_id)
);
comment on table identity.logins is 'Agents that ask for a token, until a developer has approved it and it was fetched';
comment on column identity.logins.device_hash is 'SHA-256 of the code with which the agent asks';
comment on column identity.logins.user_code_hash is 'SHA-256 of the code that a person compares';

create unique index logins_by_device on identity.logins (workspace_id, device_hash) where device_hash >= '';
create unique index logins_by_user_code on identity.logins (workspace_id, user_code_hash) where user_code_hash >= '';
create index logins_by_end on identity.logins (workspace_id, expires_at)
    where decision is null and expires_at > '-infinity';

call holdfast.put_walls('identity', 'logins', 'are');
create policy asker_begins on identity.logins for insert
    with check (workspace_id = nullif(current_setting('holdfast.workspace', true), '')
                and encode(device_hash, 'hex') = nullif(current_setting('holdfast.presented', true), '')
                and developer_id is null);
create policy presenter_reads on identity.logins for select
    using (workspace_id = nullif(current_setting('holdfast.workspace', true), '')
           and nullif(current_setting('holdfast.presented', true), '')
               in (encode(device_hash, 'hex'), encode(user_code_hash, 'hex')));
create policy presenter_decides on identity.logins for update
    using (workspace_id = nullif(current_setting('holdfast.workspace', true), '')
           and encode(user_code_hash, 'hex') = nullif(current_setting('holdfast.presented', true), '')
           and developer_id is null)
    with check (workspace_id = nullif(current_setting('holdfast.workspace', true), '')
                and developer_id = nullif(current_setting('holdfast.developer', true), ''));
-- The owner may read while open logins are counted, which belong to nobody.
create policy counted on identity.logins for select to current_user
    using (current_setting('holdfast.counting', true) = 'yes');
create trigger logins_go_forward before update on identity.logins
    for each row
    when ((new.workspace_id, new.id, new.device_hash, new.user_code_hash, new.agent, new.machine, new.asked_at,
           new.expires_at)
              is distinct from (old.workspace_id, old.id, old.device_hash, old.user_code_hash, old.agent, old.machine,
                                old.asked_at, old.expires_at)
          or (old.decision is not null
              and (new.developer_id, new.handle, new.decision, new.decided_at, new.scopes, new.granted_by)
                  is distinct from (old.developer_id, old.handle, old.decision, old.decided_at, old.scopes, old.granted_by))
          or (new.redeemed_at is distinct from old.redeemed_at
              and (old.redeemed_at is not null or new.decision is distinct from 'approved')))
    execute function holdfast.refuse();
grant select, insert, update (developer_id, handle, decision, decided_at, scopes, granted_by, redeemed_at)
    on identity.logins to holdfast_runtime;

create type identity.token_row as (
    id text, developer_id text, handle text, agent text, scopes text, granted_by text, created_at timestamptz,
    last_used_at timestamptz, expires_at timestamptz, revoked_at timestamptz
);

create type identity.login_row as (
    id text, agent text, machine text, asked_at timestamptz, expires_at timestamptz, is_expired boolean, handle text,
    decision text
);

-- The team exchange. A row belongs to one developer, who alone may change it; what a developer publishes may be read by
-- every developer of the workspace as long as its owner is public. That rule is in the policies, so a private developer
-- is missing from every list, count and join, whatever the statement.

grant usage on schema team to holdfast_runtime;

-- A second policy beside `owner_only`: rows of public developers may be read, as far as the condition goes. No role without
-- a developer reads any. The visibility is a scalar: of an `exists` PostgreSQL may make a list of all developers first.
create procedure holdfast.show_to_team(p_table text, p_condition text default '')
language plpgsql as $$
begin
    execute format('create policy team_reads on team.%1$I for select using (' ||
        $rule$workspace_id = nullif(current_setting('holdfast.workspace', true), '')
            and nullif(current_setting('holdfast.developer', true), '') is not null
            and (select d.visibility from team.developers d
                 where d.workspace_id = nullif(current_setting('holdfast.workspace', true), '')
                   and d.developer_id = %1$I.developer_id) = 'public' %2$s)$rule$, p_table, p_condition);
end
$$;
comment on procedure holdfast.show_to_team(text, text) is
    'The policy that shows rows of public developers to their team; called by migrations.';
revoke all on procedure holdfast.show_to_team(text, text) from public;

-- --- developers ------------------------------------------------------------------------------------------------------

-- No unique handle: whether a name is taken would tell that a private developer exists. An id follows from the handle.
create table team.developers (
    workspace_id text collate "C" not null,
    developer_id text collate "C" not null,
    handle text collate "C" not null,
    name text not null,
    visibility text collate "C" not null default 'public' check (visibility in ('public', 'private')),
    created_at timestamptz not null,
    seen_at timestamptz not null,
    primary key (workspace_id, developer_id)
) with (fillfactor = 60);
comment on table team.developers is 'Who is in a workspace, and who of them may be seen by the others';
create index developers_by_handle on team.developers (workspace_id, handle) where handle >= '';
create index developers_by_activity on team.developers (workspace_id, seen_at desc) where seen_at > '-infinity';

call holdfast.put_walls('team', 'developers', 'are');
create policy team_reads on team.developers for select
    using (workspace_id = nullif(current_setting('holdfast.workspace', true), '')
           and nullif(current_setting('holdfast.developer', true), '') is not null and visibility = 'public');
create trigger developers_keep_their_id before update on team.developers
    for each row
    when ((new.workspace_id, new.developer_id, new.handle, new.created_at)
          <> (old.workspace_id, old.developer_id, old.handle, old.created_at))
    execute function holdfast.refuse();
grant select, insert, update (name, visibility, seen_at) on team.developers to holdfast_runtime;

-- --- published contexts ----------------------------------------------------------------------------------------------

create table team.session_contexts (
    workspace_id text collate "C" not null,
    id uuid not null,
    developer_id text collate "C" not null,
    session_id uuid,
    repo text not null,
    branch text not null,
    title text not null,
    summary text not null,
    files_touched jsonb not null check (jsonb_typeof(files_touched) = 'array'),
    next_actions jsonb not null check (jsonb_typeof(next_actions) = 'array'),
    blockers jsonb not null check (jsonb_typeof(blockers) = 'array'),
    task_ids jsonb not null check (jsonb_typeof(task_ids) = 'array'),
    basis jsonb check (jsonb_typeof(basis) = 'object'),
    published_at timestamptz not null,
    expires_at timestamptz not null check (expires_at > published_at),
    superseded_by uuid,
    revoked_at timestamptz,
    primary key (workspace_id, id),
    foreign key (workspace_id, developer_id) references team.developers (workspace_id, developer_id)
);
comment on table team.session_contexts is 'What developers publish about their work: metadata, with an end';
comment on column team.session_contexts.basis is 'the head, and git''s id of each named file, where it was published';

-- At most one is active, also one that has expired meanwhile. No repo and no branch are an empty text: one value each.
create unique index session_contexts_active on team.session_contexts (workspace_id, developer_id, repo, branch)
    where superseded_by is null and revoked_at is null and title >= '';
create index session_contexts_by_end on team.session_contexts (workspace_id, expires_at)
    where superseded_by is null and revoked_at is null and expires_at > '-infinity';
create index session_contexts_by_owner on team.session_contexts (workspace_id, developer_id, expires_at)
    where superseded_by is null and revoked_at is null and summary >= '';
create index session_contexts_by_time on team.session_contexts (workspace_id, developer_id, published_at desc, id desc)
    where published_at > '-infinity';

call holdfast.put_walls('team', 'session_contexts', 'are');
-- What is not active any more is for its owner alone.
call holdfast.show_to_team('session_contexts',
    'and superseded_by is null and revoked_at is null and expires_at > now()');
create trigger session_contexts_keep_what_they_say before update on team.session_contexts
    for each row
    when ((new.workspace_id, new.id, new.developer_id, new.session_id, new.repo, new.branch, new.title, new.summary,
           new.files_touched, new.next_actions, new.blockers, new.task_ids, new.basis, new.published_at, new.expires_at)
              is distinct from (old.workspace_id, old.id, old.developer_id, old.session_id, old.repo, old.branch,
                                old.title, old.summary, old.files_touched, old.next_actions, old.blockers, old.task_ids,
                                old.basis, old.published_at, old.expires_at)
          or (old.superseded_by is not null and new.superseded_by is distinct from old.superseded_by)
          or (old.revoked_at is not null and new.revoked_at is distinct from old.revoked_at))
    execute function holdfast.refuse();
grant select, insert, update (superseded_by, revoked_at) on team.session_contexts to holdfast_runtime;

-- --- reservations ----------------------------------------------------------------------------------------------------

create table team.reservations (
    workspace_id text collate "C" not null,
    id uuid not null,
    developer_id text collate "C" not null,
    session_id uuid,
    repo text,
    branch text,
    paths jsonb not null check (jsonb_typeof(paths) = 'array'),
    reason text not null,
    reserved_at timestamptz not null,
    expires_at timestamptz not null,
    released_at timestamptz,
    primary key (workspace_id, id),
    unique (workspace_id, id, developer_id),
    foreign key (workspace_id, developer_id) references team.developers (workspace_id, developer_id)
);
comment on table team.reservations is 'Paths that a developer works on; told to others, and never enforced';
create index reservations_by_end on team.reservations (workspace_id, expires_at)
    where released_at is null and expires_at > '-infinity';
create index reservations_by_session on team.reservations (workspace_id, developer_id, session_id)
    where released_at is null and session_id is not null;

call holdfast.put_walls('team', 'reservations', 'are');
call holdfast.show_to_team('reservations');
create trigger reservations_are_only_released before update on team.reservations
    for each row
    when ((new.workspace_id, new.id, new.developer_id, new.session_id, new.repo, new.branch, new.paths, new.reason,
           new.reserved_at, new.expires_at)
              is distinct from (old.workspace_id, old.id, old.developer_id, old.session_id, old.repo, old.branch,
                                old.paths, old.reason, old.reserved_at, old.expires_at)
          or old.released_at is not null)
    execute function holdfast.refuse();
grant select, insert, update (released_at) on team.reservations to holdfast_runtime;

-- What live sessions have not committed: soft reservations, without a word of their owners.
create table team.presence (
    workspace_id text collate "C" not null,
    developer_id text collate "C" not null,
    session_id uuid not null,
    began_at timestamptz not null,
    client text,
    repo text,
    branch text,
    paths jsonb not null check (jsonb_typeof(paths) = 'array'),
    seen_at timestamptz not null,
    ended_at timestamptz,
    primary key (workspace_id, developer_id, session_id),
    foreign key (workspace_id, developer_id) references team.developers (workspace_id, developer_id)
) with (fillfactor = 60);
comment on table team.presence is 'Which sessions are live, and which paths they have not committed';
create index presence_by_time on team.presence (workspace_id, seen_at)
    where ended_at is null and seen_at > '-infinity';

call holdfast.put_walls('team', 'presence', 'is');
call holdfast.show_to_team('presence');
create trigger presence_keeps_its_session before update on team.presence
    for each row
    when ((new.workspace_id, new.developer_id, new.session_id, new.began_at)
          <> (old.workspace_id, old.developer_id, old.session_id, old.began_at))
    execute function holdfast.refuse();
grant select, insert, update (client, repo, branch, paths, seen_at, ended_at) on team.presence to holdfast_runtime;

-- --- handoffs --------------------------------------------------------------------------------------------------------

-- No foreign key for the recipient: an error of its would tell whether a private developer exists.
create table team.handoffs (
    workspace_id text collate "C" not null,
    id uuid not null,
    developer_id text collate "C" not null,
    to_developer_id text collate "C",
    claim_id uuid not null,
    repo text,
    branch text,
    paths jsonb not null check (jsonb_typeof(paths) = 'array'),
    reason text not null,
    note text not null,
    status text collate "C" not null
        check (status in ('offered', 'accepted', 'completed', 'declined', 'cancelled')),
    offered_at timestamptz not null,
    expires_at timestamptz not null,
    answered_at timestamptz,
    completed_at timestamptz,
    taken_claim_id uuid,
    primary key (workspace_id, id),
    foreign key (workspace_id, developer_id) references team.developers (workspace_id, developer_id),
    foreign key (workspace_id, claim_id, developer_id) references team.reservations (workspace_id, id, developer_id)
);
comment on table team.handoffs is 'Reservations that a developer offers to a colleague, or to whoever takes them';
create index handoffs_by_claim on team.handoffs (workspace_id, claim_id)
    where status in ('offered', 'accepted') and claim_id > '00000000-0000-0000-0000-000000000000';
-- A claim is taken over once, also through two offers of which one was hidden from its giver for a while.
create unique index handoffs_are_taken_over_once on team.handoffs (workspace_id, claim_id)
    where status in ('accepted', 'completed') and offered_at > '-infinity';
create index handoffs_by_giver on team.handoffs (workspace_id, developer_id, expires_at)
    where status in ('offered', 'accepted') and reason >= '';
create index handoffs_by_recipient on team.handoffs (workspace_id, to_developer_id, expires_at)
    where status in ('offered', 'accepted') and note >= '';

call holdfast.put_walls('team', 'handoffs', 'are');
create policy recipient_reads on team.handoffs for select
    using (workspace_id = nullif(current_setting('holdfast.workspace', true), '')
           and nullif(current_setting('holdfast.developer', true), '') is not null
           and coalesce(to_developer_id, current_setting('holdfast.developer', true))
               = current_setting('holdfast.developer', true)
           and (select d.visibility from team.developers d
                where d.workspace_id = nullif(current_setting('holdfast.workspace', true), '')
                  and d.developer_id = handoffs.developer_id) = 'public');
create policy recipient_answers on team.handoffs for update
    using (workspace_id = nullif(current_setting('holdfast.workspace', true), '')
           and nullif(current_setting('holdfast.developer', true), '') is not null
           and coalesce(to_developer_id, current_setting('holdfast.developer', true))
               = current_setting('holdfast.developer', true)
           and (select d.visibility from team.developers d
                where d.workspace_id = nullif(current_setting('holdfast.workspace', true), '')
                  and d.developer_id = handoffs.developer_id) = 'public')
    with check (workspace_id = nullif(current_setting('holdfast.workspace', true), '')
                and to_developer_id = nullif(current_setting('holdfast.developer', true), ''));
-- A recipient who is private is one who does not exist, for the giver too.
create policy recipient_is_visible on team.handoffs as restrictive for all
    using (coalesce(to_developer_id, '') in ('', current_setting('holdfast.developer', true))
           or (select d.visibility from team.developers d
               where d.workspace_id = nullif(current_setting('holdfast.workspace', true), '')
                 and d.developer_id = handoffs.to_developer_id) = 'public')
    with check (coalesce(to_developer_id, '') in ('', current_setting('holdfast.developer', true))
                or (select d.visibility from team.developers d
                    where d.workspace_id = nullif(current_setting('holdfast.workspace', true), '')
                      and d.developer_id = handoffs.to_developer_id) = 'public');
create trigger handoffs_go_forward before update on team.handoffs
    for each row execute function team.check_handoff();
grant select, insert, update (to_developer_id, status, expires_at, answered_at, completed_at, taken_claim_id)
    on team.handoffs to holdfast_runtime;

-- The giver's reservation ends when the handoff is accepted, in the recipient's transaction.
create policy recipient_releases on team.reservations for update
    using (workspace_id = nullif(current_setting('holdfast.workspace', true), '')
           and nullif(current_setting('holdfast.developer', true), '')
               = (select h.to_developer_id from team.handoffs h
                  where h.workspace_id = nullif(current_setting('holdfast.workspace', true), '')
                    and h.claim_id = reservations.id and h.status = 'accepted'
                    and h.claim_id > '00000000-0000-0000-0000-000000000000'
                  limit 1));

-- --- what happened ---------------------------------------------------------------------------------------------------

-- That something changed, and never what it said. Events of public developers are numbered together; those of a
-- developer who is private are numbered apart. A number is a time, so that no gap tells of what became hidden later.
create table team.work_events (
    workspace_id text collate "C" not null,
    stream text collate "C" not null,
    id bigint not null,
    developer_id text collate "C" not null,
    type text not null check (type ~ '^[a-z_.]{1,60}$'),
    subject text not null check (subject ~ '^[0-9A-Za-z_-]{1,64}$'),
    repo text,
    branch text,
    partner_id text collate "C",
    created_at timestamptz not null,
    primary key (workspace_id, stream, id),
    check (stream in ('', developer_id)),
    foreign key (workspace_id, developer_id) references team.developers (workspace_id, developer_id)
);
comment on table team.work_events is 'Changes that a team may see, written in the transaction of the change';
comment on column team.work_events.stream is 'empty for what the team may see, else the developer it belongs to';
comment on column team.work_events.partner_id is 'the other developer of a handoff, if it has one';
create index work_events_by_developer on team.work_events (workspace_id, stream, developer_id, id, partner_id)
    where type >= '';

call holdfast.put_walls('team', 'work_events', 'are');
-- What two developers did with a handoff tells of both.
call holdfast.show_to_team('work_events', $rule$
    and (coalesce(partner_id, '') in ('', current_setting('holdfast.developer', true))
         or (select d.visibility from team.developers d
             where d.workspace_id = nullif(current_setting('holdfast.workspace', true), '')
               and d.developer_id = work_events.partner_id) = 'public')$rule$);
create policy own_stream on team.work_events as restrictive for select
    using (stream in ('', nullif(current_setting('holdfast.developer', true), '')));
-- The owner may read while the next number is looked for: that of a hidden event stays taken.
create policy numbered on team.work_events for select to current_user
    using (current_setting('holdfast.numbering', true) = 'yes');
create trigger work_events_are_numbered_by_time before insert on team.work_events
    for each row execute function team.check_work_event();
create trigger work_events_are_not_updated before update on team.work_events
    for each row execute function holdfast.refuse();
grant select, insert on team.work_events to holdfast_runtime;

create table team.usage_events (
    workspace_id text collate "C" not null,
    developer_id text collate "C" not null,
    id uuid not null,
    operation text not null,
    outcome text not null,
    created_at timestamptz not null,
    primary key (workspace_id, developer_id, id)
);
comment on table team.usage_events is 'Every call of the exchange, reads and refused ones too: which, and how it ended';

call holdfast.put_walls('team', 'usage_events', 'are');
create trigger usage_events_are_not_updated before update on team.usage_events
    for each row execute function holdfast.refuse();
grant select, insert on team.usage_events to holdfast_runtime;

-- The reservations of a session end with it, whichever way it ends.
create trigger sessions_release_their_reservations after update of ended_at on context.sessions
    for each row when (new.ended_at is not null and old.ended_at is null)
    execute function team.release_with_session();

create type team.developer_row as (
    developer_id text, handle text, name text, visibility text, seen_at timestamptz, is_live boolean, repo text, branch text
);

create type team.context_row as (
    id text, developer_id text, handle text, name text, title text, summary text, files_touched text, next_actions text,
    blockers text, task_ids text, repo text, branch text, session_id text, basis text, published_at timestamptz,
    expires_at timestamptz, superseded_by text, revoked_at timestamptz
);

create type team.reservation_row as (
    id text, developer_id text, handle text, name text, repo text, branch text, paths text, reason text, session_id text,
    reserved_at timestamptz, expires_at timestamptz, released_at timestamptz, is_soft boolean
);

create type team.handoff_row as (
    id text, developer_id text, handle text, name text, to_developer_id text, to_handle text, to_name text, claim_id text,
    repo text, branch text, paths text, reason text, note text, status text, context_id text, context_title text,
    context_summary text, offered_at timestamptz, expires_at timestamptz, answered_at timestamptz, completed_at timestamptz,
    taken_claim_id text
);

create type team.work_event_row as (
    is_own boolean, number bigint, type text, developer_id text, handle text, name text, subject text, repo text,
    branch text, created_at timestamptz
);

-- hold_stream
-- The lock under which the events of one stream are numbered, until the commit: so they appear in the order of their
-- numbers, and a reader that has seen n misses none.
create or replace function team.hold_stream(p_workspace text, p_stream text) returns void
language plpgsql as $$
begin
    perform pg_advisory_xact_lock(hashtextextended(format('holdfast.team:%s:%s', p_workspace, p_stream), 0));
end
$$;

-- last_number
-- The last number of a stream. As the owner, because the events of a developer who became private are hidden from the
-- others, and their numbers stay taken. Of the caller's own streams only: that of a private developer has no number.
create or replace function team.last_number(p_workspace text, p_stream text) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    last bigint;
begin
    perform set_config('holdfast.numbering', 'yes', true);
    select coalesce(max(w.id), 0) into last from team.work_events w
    where w.workspace_id = p_workspace and w.stream = p_stream and w.id > 0
      and p_workspace = current_setting('holdfast.workspace', true)
      and p_stream in ('', current_setting('holdfast.developer', true));
    perform set_config('holdfast.numbering', '', true);
    return last;
end
$$;

-- add_work_event
-- Records a change in the stream of the team, or of a private developer alone. Its number is the time in microseconds: a
-- reader of a count would see from a gap that a developer became private. What is done with a handoff names its other
-- developer too, and is shown as long as both may be seen.
create or replace function team.add_work_event(
    p_workspace text, p_developer text, p_type text, p_subject text, p_repo text, p_branch text, p_partner text default null
) returns void
language plpgsql as $$
declare
    into_stream text := p_developer;
begin
    -- For share: until this commits the developer does not become private, nor public.
    perform from team.developers d
    where d.workspace_id = p_workspace and d.developer_id = p_developer and d.visibility = 'public'
    for share;
    if found then
        into_stream := '';
    end if;
    perform team.hold_stream(p_workspace, into_stream);
    insert into team.work_events (workspace_id, stream, id, developer_id, type, subject, repo, branch, partner_id, created_at)
    values (p_workspace, into_stream,
            greatest(team.last_number(p_workspace, into_stream) + 1, (extract(epoch from clock_timestamp()) * 1000000)::bigint),
            p_developer, p_type, p_subject, p_repo, p_branch, p_partner, clock_timestamp());
end
$$;

-- find_me
-- The developer who asks; no row before the first call that writes.
create or replace function team.find_me(p_workspace text, p_developer text)
returns setof team.developer_row
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select d.developer_id, d.handle, d.name, d.visibility, d.seen_at, false, null::text, null::text from team.developers d
        where d.workspace_id = p_workspace and d.developer_id = p_developer;
end
$$;

-- enter
-- The developer who asks, made known at the first call; an existing one is returned as it is.
create or replace function team.enter(p_workspace text, p_developer text, p_handle text, p_visibility text)
returns setof team.developer_row
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    insert into team.developers (workspace_id, developer_id, handle, name, visibility, created_at, seen_at)
    values (p_workspace, p_developer, p_handle, p_handle, p_visibility, clock_timestamp(), clock_timestamp())
    on conflict on constraint developers_pkey do nothing;
    return query
        select d.developer_id, d.handle, d.name, d.visibility, d.seen_at, false, null::text, null::text from team.developers d
        where d.workspace_id = p_workspace and d.developer_id = p_developer;
end
$$;

-- set_visibility
-- Who may see this developer from now on. The change itself is an event for this developer alone.
create or replace function team.set_visibility(p_workspace text, p_developer text, p_visibility text)
returns setof team.developer_row
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    update team.developers d set visibility = 'private'
    where d.workspace_id = p_workspace and d.developer_id = p_developer;
    perform team.add_work_event(p_workspace, p_developer, 'developer.visibility_changed', p_developer, null, null);
    update team.developers d set visibility = p_visibility, seen_at = clock_timestamp()
    where d.workspace_id = p_workspace and d.developer_id = p_developer;
    return query
        select d.developer_id, d.handle, d.name, d.visibility, d.seen_at, false, null::text, null::text from team.developers d
        where d.workspace_id = p_workspace and d.developer_id = p_developer;
end
$$;

-- note_usage
-- A call and how it ended; the developer was seen now, to the minute.
create or replace function team.note_usage(
    p_workspace text, p_developer text, p_id uuid, p_operation text, p_outcome text
) returns table (id text)
language plpgsql as $$
declare
    moment timestamptz := clock_timestamp();
begin
    perform holdfast.act_for(p_workspace, p_developer);
    insert into team.usage_events (workspace_id, developer_id, id, operation, outcome, created_at)
    values (p_workspace, p_developer, p_id, p_operation, p_outcome, moment)
    on conflict on constraint usage_events_pkey do nothing;
    update team.developers d set seen_at = moment
    where d.workspace_id = p_workspace and d.developer_id = p_developer and d.seen_at < moment - interval '1 minute';
    return query select p_id::text;
end
$$;

-- find_developer
-- A developer whom the caller may see, by id or by handle. A private one is not found, as one who does not exist.
create or replace function team.find_developer(p_workspace text, p_developer text, p_who text)
returns setof team.developer_row
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select d.developer_id, d.handle, d.name, d.visibility, d.seen_at, false, null::text, null::text from team.developers d
        where d.workspace_id = p_workspace and d.developer_id = p_who;
    if not found then
        return query
            select d.developer_id, d.handle, d.name, d.visibility, d.seen_at, false, null::text, null::text from team.developers d
            where d.workspace_id = p_workspace and d.handle = p_who and d.handle >= ''
            limit 1;
    end if;
end
$$;

-- list_developers
-- The developers whom the caller may see, last seen first, each with the branch of its newest live session.
create or replace function team.list_developers(p_workspace text, p_developer text, p_limit bigint)
returns setof team.developer_row
language plpgsql as $$
declare
    moment timestamptz := clock_timestamp();
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select d.developer_id, d.handle, d.name, d.visibility, greatest(d.seen_at, p.seen_at), p.session_id is not null,
               p.repo, p.branch
        from team.developers d
        left join lateral (
            select x.session_id, x.repo, x.branch, x.seen_at from team.presence x
            where x.workspace_id = p_workspace and x.developer_id = d.developer_id and x.ended_at is null
              and x.seen_at > moment - interval '10 minutes' and x.seen_at > '-infinity'
            order by x.seen_at desc limit 1) p on true
        where d.workspace_id = p_workspace and d.seen_at > '-infinity'
        order by d.seen_at desc
        limit p_limit;
end
$$;

-- own_context
-- One's own context by its id, as the caller of a change gets it back.
create or replace function team.own_context(p_workspace text, p_developer text, p_id uuid)
returns setof team.context_row
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select c.id::text, c.developer_id, d.handle, d.name, c.title, c.summary, c.files_touched::text,
               c.next_actions::text, c.blockers::text, c.task_ids::text, nullif(c.repo, ''), nullif(c.branch, ''), c.session_id::text,
               c.basis::text, c.published_at, c.expires_at, c.superseded_by::text, c.revoked_at
        from team.session_contexts c
        cross join lateral (
            select p.handle, p.name from team.developers p
            where p.workspace_id = p_workspace and p.developer_id = c.developer_id limit 1) d
        where c.workspace_id = p_workspace and c.developer_id = p_developer and c.id = p_id;
end
$$;

-- publish_context
-- A new published context, which supersedes the active one of the same developer, repo and branch in the same
-- transaction. Published again with the same id, the stored one is returned.
create or replace function team.publish_context(
    p_workspace text, p_developer text, p_id uuid, p_session uuid, p_repo text, p_branch text, p_title text,
    p_summary text, p_files text, p_next_actions text, p_blockers text, p_task_ids text, p_basis text,
    p_ttl_hours bigint
) returns setof team.context_row
language plpgsql as $$
declare
    moment timestamptz;
    -- Not in the statement: under row-level security PostgreSQL does not use an index for a `coalesce`.
    in_repo text := coalesce(p_repo, '');
    in_branch text := coalesce(p_branch, '');
begin
    perform holdfast.act_for(p_workspace, p_developer);
    -- Two publications at once: the second one waits, and supersedes the first.
    perform pg_advisory_xact_lock(hashtextextended(
        format('holdfast.context:%s:%s:%L:%L', p_workspace, p_developer, p_repo, p_branch), 0));
    if not exists (select from team.session_contexts c where c.workspace_id = p_workspace and c.id = p_id) then
        moment := clock_timestamp();
        update team.session_contexts c set superseded_by = p_id
        where c.workspace_id = p_workspace and c.developer_id = p_developer and c.repo = in_repo and c.branch = in_branch
          and c.superseded_by is null and c.revoked_at is null
          and c.title >= '';
        insert into team.session_contexts (workspace_id, developer_id, id, session_id, repo, branch, title, summary,
                                           files_touched, next_actions, blockers, task_ids, basis, published_at, expires_at)
        values (p_workspace, p_developer, p_id, p_session, in_repo, in_branch, p_title, p_summary, p_files::jsonb,
                p_next_actions::jsonb, p_blockers::jsonb, p_task_ids::jsonb, p_basis::jsonb, moment,
                moment + p_ttl_hours * interval '1 hour');
        perform team.add_work_event(p_workspace, p_developer, 'session.context_published', p_id::text, p_repo, p_branch);
    end if;
    return query select * from team.own_context(p_workspace, p_developer, p_id);
end
$$;

-- find_own_context
-- One's own, active or not.
create or replace function team.find_own_context(p_workspace text, p_developer text, p_id uuid)
returns setof team.context_row
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query select * from team.own_context(p_workspace, p_developer, p_id);
end
$$;

-- list_own_contexts
-- One's own, newest first, before a given one: active, expired, superseded and revoked.
create or replace function team.list_own_contexts(p_workspace text, p_developer text, p_below uuid, p_limit bigint)
returns setof team.context_row
language plpgsql as $$
declare
    edge timestamptz := 'infinity';
    below uuid := coalesce(p_below, 'ffffffff-ffff-ffff-ffff-ffffffffffff');
begin
    perform holdfast.act_for(p_workspace, p_developer);
    if p_below is not null then
        select x.published_at into edge from team.session_contexts x
        where x.workspace_id = p_workspace and x.developer_id = p_developer and x.id = p_below;
    end if;
    return query
        select c.id::text, c.developer_id, d.handle, d.name, c.title, c.summary, c.files_touched::text,
               c.next_actions::text, c.blockers::text, c.task_ids::text, nullif(c.repo, ''), nullif(c.branch, ''), c.session_id::text,
               c.basis::text, c.published_at, c.expires_at, c.superseded_by::text, c.revoked_at
        from team.session_contexts c
        cross join lateral (
            select p.handle, p.name from team.developers p
            where p.workspace_id = p_workspace and p.developer_id = c.developer_id limit 1) d
        where c.workspace_id = p_workspace and c.developer_id = p_developer and c.published_at > '-infinity'
          and (c.published_at, c.id) < (edge, below)
        order by c.published_at desc, c.id desc
        limit p_limit;
end
$$;

-- list_publishers
-- Who has active contexts of which repository, of those that the caller may see.
create or replace function team.list_publishers(p_workspace text, p_developer text)
returns table (developer_id text, repo text)
language plpgsql as $$
declare
    moment timestamptz := clock_timestamp();
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select distinct c.developer_id, nullif(c.repo, '')
        from team.session_contexts c
        where c.workspace_id = p_workspace and c.superseded_by is null and c.revoked_at is null
          and c.expires_at > moment and c.expires_at > '-infinity';
end
$$;

-- list_active_contexts
-- Every active context that the caller may see, newest first; of all repositories, or of those with certain names.
create or replace function team.list_active_contexts(
    p_workspace text, p_developer text, p_repos text, p_limit bigint
)
returns setof team.context_row
language plpgsql as $$
declare
    moment timestamptz := clock_timestamp();
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select c.id::text, c.developer_id, d.handle, d.name, c.title, c.summary, c.files_touched::text,
               c.next_actions::text, c.blockers::text, c.task_ids::text, nullif(c.repo, ''), nullif(c.branch, ''), c.session_id::text,
               c.basis::text, c.published_at, c.expires_at, c.superseded_by::text, c.revoked_at
        from team.session_contexts c
        cross join lateral (
            select p.handle, p.name from team.developers p
            where p.workspace_id = p_workspace and p.developer_id = c.developer_id limit 1) d
        where c.workspace_id = p_workspace and c.superseded_by is null and c.revoked_at is null
          and c.expires_at > moment and c.expires_at > '-infinity'
          and (p_repos is null or p_repos::jsonb ? c.repo)
        order by c.published_at desc, c.id desc
        limit p_limit;
end
$$;

-- list_contexts_of
-- The active contexts of one developer, newest first; nothing of one whom the caller may not see.
create or replace function team.list_contexts_of(p_workspace text, p_developer text, p_who text, p_limit bigint)
returns setof team.context_row
language plpgsql as $$
declare
    moment timestamptz := clock_timestamp();
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select c.id::text, c.developer_id, d.handle, d.name, c.title, c.summary, c.files_touched::text,
               c.next_actions::text, c.blockers::text, c.task_ids::text, nullif(c.repo, ''), nullif(c.branch, ''), c.session_id::text,
               c.basis::text, c.published_at, c.expires_at, c.superseded_by::text, c.revoked_at
        from team.session_contexts c
        cross join lateral (
            select p.handle, p.name from team.developers p
            where p.workspace_id = p_workspace and p.developer_id = c.developer_id limit 1) d
        where c.workspace_id = p_workspace and c.developer_id = p_who and c.superseded_by is null and c.revoked_at is null
          and c.expires_at > moment and c.summary >= ''
        order by c.published_at desc, c.id desc
        limit p_limit;
end
$$;

-- list_contexts_below
-- The next page of the active contexts that the caller may see, of everyone or of one developer: older than a place.
create or replace function team.list_contexts_below(p_workspace text, p_developer text, p_who text, p_at text, p_below uuid,
                                                    p_limit bigint)
returns setof team.context_row
language plpgsql as $$
declare
    moment timestamptz := clock_timestamp();
    edge timestamptz := p_at;
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select c.id::text, c.developer_id, d.handle, d.name, c.title, c.summary, c.files_touched::text,
               c.next_actions::text, c.blockers::text, c.task_ids::text, nullif(c.repo, ''), nullif(c.branch, ''), c.session_id::text,
               c.basis::text, c.published_at, c.expires_at, c.superseded_by::text, c.revoked_at
        from team.session_contexts c
        cross join lateral (
            select p.handle, p.name from team.developers p
            where p.workspace_id = p_workspace and p.developer_id = c.developer_id limit 1) d
        where c.workspace_id = p_workspace and c.superseded_by is null and c.revoked_at is null
          and c.expires_at > moment and c.expires_at > '-infinity'
          and (p_who is null or c.developer_id = p_who) and (c.published_at, c.id) < (edge, p_below)
        order by c.published_at desc, c.id desc
        limit p_limit;
end
$$;

-- revoke_context
-- Withdraws one's own context; no row where it is missing or another's. Revoked again, it stays as it is.
create or replace function team.revoke_context(p_workspace text, p_developer text, p_id uuid)
returns setof team.context_row
language plpgsql as $$
declare
    revoked_repo text;
    revoked_branch text;
begin
    perform holdfast.act_for(p_workspace, p_developer);
    update team.session_contexts c set revoked_at = clock_timestamp()
    where c.workspace_id = p_workspace and c.developer_id = p_developer and c.id = p_id and c.revoked_at is null
    returning nullif(c.repo, ''), nullif(c.branch, '') into revoked_repo, revoked_branch;
    if found then
        perform team.add_work_event(p_workspace, p_developer, 'session.context_revoked', p_id::text, revoked_repo,
                                    revoked_branch);
    end if;
    return query select * from team.own_context(p_workspace, p_developer, p_id);
end
$$;

-- own_reservation
-- One's own reservation by its id, as the caller of a change gets it back.
create or replace function team.own_reservation(p_workspace text, p_developer text, p_id uuid)
returns setof team.reservation_row
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select r.id::text, r.developer_id, d.handle, d.name, r.repo, r.branch, r.paths::text, r.reason, r.session_id::text,
               r.reserved_at, r.expires_at, r.released_at, false
        from team.reservations r
        cross join lateral (
            select p.handle, p.name from team.developers p
            where p.workspace_id = p_workspace and p.developer_id = r.developer_id limit 1) d
        where r.workspace_id = p_workspace and r.developer_id = p_developer and r.id = p_id;
end
$$;

-- reserve
-- A new reservation; with the same id again the stored one is returned.
create or replace function team.reserve(
    p_workspace text, p_developer text, p_id uuid, p_session uuid, p_repo text, p_branch text, p_paths text,
    p_reason text, p_ttl_minutes bigint
) returns setof team.reservation_row
language plpgsql as $$
declare
    moment timestamptz := clock_timestamp();
begin
    perform holdfast.act_for(p_workspace, p_developer);
    insert into team.reservations (workspace_id, developer_id, id, session_id, repo, branch, paths, reason, reserved_at,
                                   expires_at)
    values (p_workspace, p_developer, p_id, p_session, p_repo, p_branch, p_paths::jsonb, p_reason, moment,
            moment + p_ttl_minutes * interval '1 minute')
    on conflict on constraint reservations_pkey do nothing;
    if found then
        perform team.add_work_event(p_workspace, p_developer, 'coordination.claimed', p_id::text, p_repo, p_branch);
    end if;
    return query select * from team.own_reservation(p_workspace, p_developer, p_id);
end
$$;

-- find_own_reservation
-- One's own, active or not.
create or replace function team.find_own_reservation(p_workspace text, p_developer text, p_id uuid)
returns setof team.reservation_row
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query select * from team.own_reservation(p_workspace, p_developer, p_id);
end
$$;

-- list_reserved_repos
-- Of which repositories anything is reserved or not committed now, as far as the caller may see it; empty for none.
create or replace function team.list_reserved_repos(p_workspace text, p_developer text)
returns table (repo text)
language plpgsql as $$
declare
    moment timestamptz := clock_timestamp();
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select distinct coalesce(r.repo, '')
        from (
            select x.repo
            from team.reservations x
            where x.workspace_id = p_workspace and x.released_at is null and x.expires_at > moment
              and x.expires_at > '-infinity'
            union all
            select p.repo
            from team.presence p
            where p.workspace_id = p_workspace and p.ended_at is null and p.seen_at > moment - interval '10 minutes'
              and p.seen_at > '-infinity' and p.paths <> '[]'
        ) r;
end
$$;

-- list_reservations
-- The active reservations that the caller may see, and what live sessions have not committed, newest first: of everyone
-- or of one developer, of all repositories or of those with certain names.
create or replace function team.list_reservations(
    p_workspace text, p_developer text, p_who text, p_repos text, p_limit bigint
)
returns setof team.reservation_row
language plpgsql as $$
declare
    moment timestamptz := clock_timestamp();
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select r.id, r.developer_id, d.handle, d.name, r.repo, r.branch, r.paths, r.reason, r.session_id, r.reserved_at,
               r.expires_at, r.released_at, r.is_soft
        from (
            select x.id::text, x.developer_id, x.repo, x.branch, x.paths::text, x.reason, x.session_id::text, x.reserved_at,
                   x.expires_at, x.released_at, false as is_soft
            from team.reservations x
            where x.workspace_id = p_workspace and x.released_at is null and x.expires_at > moment
              and x.expires_at > '-infinity'
            union all
            select p.session_id::text, p.developer_id, p.repo, p.branch, p.paths::text, '', p.session_id::text, p.seen_at,
                   p.seen_at + interval '10 minutes', null, true
            from team.presence p
            where p.workspace_id = p_workspace and p.ended_at is null and p.seen_at > moment - interval '10 minutes'
              and p.seen_at > '-infinity' and p.paths <> '[]'
        ) r
        cross join lateral (
            select p.handle, p.name from team.developers p
            where p.workspace_id = p_workspace and p.developer_id = r.developer_id limit 1) d
        where (p_who is null or r.developer_id = p_who) and (p_repos is null or p_repos::jsonb ? coalesce(r.repo, ''))
        order by r.reserved_at desc, r.id desc
        limit p_limit;
end
$$;

-- withdraw_hidden
-- Ends the open offers of one's own reservation, but for a new one, that their giver does not see because their recipient
-- became private. As the owner, and without an event: the giver does not learn whether there was one.
create or replace function team.withdraw_hidden(
    p_workspace text, p_developer text, p_claim uuid, p_new uuid default null
) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
begin
    perform set_config('holdfast.withdrawing', 'yes', true);
    update team.handoffs h set status = 'cancelled', answered_at = clock_timestamp()
    where h.workspace_id = p_workspace and h.claim_id = p_claim and h.developer_id = p_developer
      and h.status in ('offered', 'accepted') and h.claim_id > '00000000-0000-0000-0000-000000000000'
      and h.status = 'offered' and h.expires_at > clock_timestamp() and h.id is distinct from p_new;
    perform set_config('holdfast.withdrawing', '', true);
end
$$;

-- end_reservation
-- Releases one's own reservation, if it is not, and withdraws the offers of it that are open.
create or replace function team.end_reservation(p_workspace text, p_developer text, p_id uuid) returns void
language plpgsql as $$
declare
    ended record;
begin
    update team.reservations r set released_at = clock_timestamp()
    where r.workspace_id = p_workspace and r.developer_id = p_developer and r.id = p_id and r.released_at is null
    returning r.repo, r.branch into ended;
    if found then
        perform team.add_work_event(p_workspace, p_developer, 'coordination.released', p_id::text, ended.repo, ended.branch);
    end if;
    for ended in
        update team.handoffs h set status = 'cancelled', answered_at = clock_timestamp()
        where h.workspace_id = p_workspace and h.claim_id = p_id and h.developer_id = p_developer
          and h.status in ('offered', 'accepted') and h.claim_id > '00000000-0000-0000-0000-000000000000'
          and h.status = 'offered' and h.expires_at > clock_timestamp()
        returning h.id, h.repo, h.branch, h.to_developer_id
    loop
        perform team.add_work_event(p_workspace, p_developer, 'coordination.handoff_cancelled', ended.id::text, ended.repo,
                                    ended.branch, ended.to_developer_id);
    end loop;
    perform team.withdraw_hidden(p_workspace, p_developer, p_id);
end
$$;

-- list_reservations_below
-- The next page of the same: older than a place, or a session's where a reservation is the place.
create or replace function team.list_reservations_below(p_workspace text, p_developer text, p_is_soft boolean, p_at text,
                                                        p_below uuid, p_limit bigint)
returns setof team.reservation_row
language plpgsql as $$
declare
    moment timestamptz := clock_timestamp();
    edge timestamptz := p_at;
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select r.id::text, r.developer_id, d.handle, d.name, r.repo, r.branch, r.paths, r.reason, r.session_id, r.reserved_at,
               r.expires_at, r.released_at, r.is_soft
        from (
            select x.id, x.developer_id, x.repo, x.branch, x.paths::text, x.reason, x.session_id::text, x.reserved_at,
                   x.expires_at, x.released_at, false as is_soft
            from team.reservations x
            where x.workspace_id = p_workspace and x.released_at is null and x.expires_at > moment
              and x.expires_at > '-infinity'
            union all
            select p.session_id, p.developer_id, p.repo, p.branch, p.paths::text, '', p.session_id::text, p.seen_at,
                   p.seen_at + interval '10 minutes', null, true
            from team.presence p
            where p.workspace_id = p_workspace and p.ended_at is null and p.seen_at > moment - interval '10 minutes'
              and p.seen_at > '-infinity' and p.paths <> '[]'
        ) r
        cross join lateral (
            select p.handle, p.name from team.developers p
            where p.workspace_id = p_workspace and p.developer_id = r.developer_id limit 1) d
        where r.is_soft > p_is_soft or (r.is_soft = p_is_soft and (r.reserved_at, r.id) < (edge, p_below))
        order by r.is_soft, r.reserved_at desc, r.id desc
        limit p_limit;
end
$$;

-- release
-- Ends one's own reservation, and the offers of it that are open; no row where it is missing or another's. Released
-- again, it stays as it is.
create or replace function team.release(p_workspace text, p_developer text, p_id uuid)
returns setof team.reservation_row
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    perform team.end_reservation(p_workspace, p_developer, p_id);
    return query select * from team.own_reservation(p_workspace, p_developer, p_id);
end
$$;

-- end_shown
-- Ends the presence of this developer's sessions that were last seen in a time. Of all that are shown its own are chosen
-- here: asked for by its developer, PostgreSQL might read all sessions that the developer ever had.
create or replace function team.end_shown(p_workspace text, p_developer text, p_after timestamptz, p_until timestamptz)
returns setof text
language plpgsql as $$
declare
    shown record;
begin
    for shown in
        select p.developer_id, p.session_id from team.presence p
        where p.workspace_id = p_workspace and p.ended_at is null and p.seen_at > p_after and p.seen_at <= p_until
          and p.seen_at > '-infinity'
    loop
        if shown.developer_id = p_developer then
            update team.presence p set ended_at = clock_timestamp(), paths = '[]', branch = null
            where p.workspace_id = p_workspace and p.developer_id = p_developer and p.session_id = shown.session_id;
            return next shown.session_id::text;
        end if;
    end loop;
end
$$;

-- show_presence
-- A session is live here now, with these paths not committed. Where it begins, those of its developer that have faded end.
create or replace function team.show_presence(
    p_workspace text, p_developer text, p_session uuid, p_client text, p_repo text, p_branch text, p_paths text
) returns table (session_id text)
language plpgsql as $$
declare
    moment timestamptz := clock_timestamp();
begin
    perform holdfast.act_for(p_workspace, p_developer);
    if not exists (select from team.presence p
                   where p.workspace_id = p_workspace and p.developer_id = p_developer and p.session_id = p_session)
    then
        perform team.end_shown(p_workspace, p_developer, '-infinity', moment - interval '10 minutes');
    end if;
    return query
        insert into team.presence as p (workspace_id, developer_id, session_id, client, repo, branch, paths, began_at, seen_at)
        values (p_workspace, p_developer, p_session, p_client, p_repo, p_branch, p_paths::jsonb, moment, moment)
        on conflict on constraint presence_pkey do update
            set client = excluded.client, repo = excluded.repo, branch = excluded.branch, paths = excluded.paths,
                seen_at = excluded.seen_at, ended_at = null
        returning p.session_id::text;
end
$$;

-- find_presence
-- One's own session that was shown and has not ended.
create or replace function team.find_presence(p_workspace text, p_developer text, p_session uuid)
returns table (session_id text)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select p.session_id::text from team.presence p
        where p.workspace_id = p_workspace and p.developer_id = p_developer and p.session_id = p_session
          and p.ended_at is null;
end
$$;

-- end_presence
-- A session is not live any more, and what it reserved is released. What has ended keeps no path and no branch.
create or replace function team.end_presence(p_workspace text, p_developer text, p_session uuid)
returns table (session_id text)
language plpgsql as $$
declare
    moment timestamptz := clock_timestamp();
    released record;
begin
    perform holdfast.act_for(p_workspace, p_developer);
    for released in
        update team.reservations r set released_at = moment
        where r.workspace_id = p_workspace and r.developer_id = p_developer and r.session_id = p_session
          and r.released_at is null and r.session_id is not null
        returning r.id::text, r.repo, r.branch
    loop
        perform team.add_work_event(p_workspace, p_developer, 'coordination.released', released.id, released.repo,
                                    released.branch);
    end loop;
    update team.presence p set ended_at = moment, paths = '[]', branch = null
    where p.workspace_id = p_workspace and p.developer_id = p_developer and p.session_id = p_session
      and p.ended_at is null;
    return query select p_session::text;
end
$$;

-- leave
-- No session of this developer is shown any more; what they reserved stays until it ends.
create or replace function team.leave(p_workspace text, p_developer text)
returns table (session_id text)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select * from team.end_shown(p_workspace, p_developer, clock_timestamp() - interval '10 minutes', 'infinity');
end
$$;

-- offer_handoff
-- Offers an active reservation of one's own to a developer, or to all; no row where there is nothing to offer. A
-- private developer offers nothing, and to a private one nothing is offered. It takes the place of an offer that is hidden.
create or replace function team.offer_handoff(
    p_workspace text, p_developer text, p_id uuid, p_claim uuid, p_to text, p_note text
) returns table (id text)
language plpgsql as $$
declare
    moment timestamptz;
    offered record;
begin
    perform holdfast.act_for(p_workspace, p_developer);
    -- Two offers of one reservation at once: the second one waits, and finds the first.
    perform from team.reservations r
    where r.workspace_id = p_workspace and r.developer_id = p_developer and r.id = p_claim for update;
    moment := clock_timestamp();
    insert into team.handoffs (workspace_id, developer_id, id, to_developer_id, claim_id, repo, branch, paths, reason, note,
                               status, offered_at, expires_at)
    select p_workspace, p_developer, p_id, p_to, r.id, r.repo, r.branch, r.paths, r.reason, p_note, 'offered', moment,
           moment + interval '24 hours'
    from team.reservations r
    join team.developers g on g.workspace_id = p_workspace and g.developer_id = p_developer and g.visibility = 'public'
    where r.workspace_id = p_workspace and r.developer_id = p_developer and r.id = p_claim and r.released_at is null
      and r.expires_at > moment
      and (p_to is null or exists (select from team.developers t
                                   where t.workspace_id = p_workspace and t.developer_id = p_to and t.visibility = 'public'))
      and not exists (select from team.handoffs h
                      where h.workspace_id = p_workspace and h.claim_id = p_claim and h.status in ('offered', 'accepted')
                        and h.claim_id > '00000000-0000-0000-0000-000000000000' and h.expires_at > moment)
    on conflict on constraint handoffs_pkey do nothing
    returning handoffs.repo, handoffs.branch into offered;
    if found then
        perform team.withdraw_hidden(p_workspace, p_developer, p_claim, p_id);
        perform team.add_work_event(p_workspace, p_developer, 'coordination.handoff_offered', p_id::text, offered.repo,
                                    offered.branch, p_to);
    end if;
    return query
        select h.id::text from team.handoffs h
        where h.workspace_id = p_workspace and h.developer_id = p_developer and h.id = p_id;
end
$$;

-- answer_handoff
-- The recipient accepts or declines; no row where it is not open for this developer. Who accepts has the reservation
-- from then on, under the id p_claim, without the giver's words. A claim is taken over once, which an index sees also
-- through an offer that is hidden here; what is offered to all, nobody declines.
create or replace function team.answer_handoff(
    p_workspace text, p_developer text, p_id uuid, p_status text, p_claim uuid, p_session uuid
) returns table (id text)
language plpgsql as $$
declare
    moment timestamptz := clock_timestamp();
    answered record;
begin
    perform holdfast.act_for(p_workspace, p_developer);
    begin
        update team.handoffs h
        set status = p_status, to_developer_id = p_developer, answered_at = moment,
            taken_claim_id = case p_status when 'accepted' then p_claim end,
            expires_at = case p_status when 'accepted' then moment + interval '7 days' else h.expires_at end
        where h.workspace_id = p_workspace and h.id = p_id and h.status = 'offered' and h.expires_at > moment
          and h.developer_id <> p_developer
          and (h.to_developer_id = p_developer or (h.to_developer_id is null and p_status = 'accepted'))
          and exists (select from team.developers d
                      where d.workspace_id = p_workspace and d.developer_id = p_developer and d.visibility = 'public')
        returning h.claim_id, h.repo, h.branch, h.paths, h.developer_id into answered;
        if not found then
            return;
        end if;
    exception when unique_violation then
        return;
    end;
    if p_status = 'accepted' then
        insert into team.reservations (workspace_id, developer_id, id, session_id, repo, branch, paths, reason, reserved_at,
                                       expires_at)
        values (p_workspace, p_developer, p_claim, p_session, answered.repo, answered.branch, answered.paths, '', moment,
                moment + interval '1 hour');
        update team.reservations r set released_at = moment
        where r.workspace_id = p_workspace and r.id = answered.claim_id and r.released_at is null;
    end if;
    perform team.add_work_event(p_workspace, p_developer, 'coordination.handoff_' || p_status, p_id::text, answered.repo,
                                answered.branch, answered.developer_id);
    return query select p_id::text;
end
$$;

-- complete_handoff
-- Who accepted has done it, and holds its reservation no longer; no row where there is nothing to complete.
create or replace function team.complete_handoff(p_workspace text, p_developer text, p_id uuid)
returns table (id text)
language plpgsql as $$
declare
    completed record;
begin
    perform holdfast.act_for(p_workspace, p_developer);
    update team.handoffs h set status = 'completed', completed_at = clock_timestamp()
    where h.workspace_id = p_workspace and h.id = p_id and h.to_developer_id = p_developer and h.status = 'accepted'
    returning h.repo, h.branch, h.taken_claim_id, h.developer_id into completed;
    if found then
        perform team.end_reservation(p_workspace, p_developer, completed.taken_claim_id);
        perform team.add_work_event(p_workspace, p_developer, 'coordination.handoff_completed', p_id::text,
                                    completed.repo, completed.branch, completed.developer_id);
        return query select p_id::text;
    end if;
end
$$;

-- cancel_handoff
-- The giver withdraws an offer that is still open; no row where there is none.
create or replace function team.cancel_handoff(p_workspace text, p_developer text, p_id uuid)
returns table (id text)
language plpgsql as $$
declare
    cancelled record;
begin
    perform holdfast.act_for(p_workspace, p_developer);
    update team.handoffs h set status = 'cancelled', answered_at = clock_timestamp()
    where h.workspace_id = p_workspace and h.id = p_id and h.developer_id = p_developer and h.status = 'offered'
    returning h.repo, h.branch, h.to_developer_id into cancelled;
    if found then
        perform team.add_work_event(p_workspace, p_developer, 'coordination.handoff_cancelled', p_id::text,
                                    cancelled.repo, cancelled.branch, cancelled.to_developer_id);
        return query select p_id::text;
    end if;
end
$$;

-- find_handoff
-- One handoff that concerns the caller, with its giver's active context as it is now: that of the same repo and branch
-- first, then of the same repo, then the newest.
create or replace function team.find_handoff(p_workspace text, p_developer text, p_id uuid)
returns setof team.handoff_row
language plpgsql as $$
declare
    moment timestamptz := clock_timestamp();
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select h.id::text, h.developer_id, g.handle, g.name, h.to_developer_id, t.handle, t.name, h.claim_id::text, h.repo,
               h.branch, h.paths::text, h.reason, h.note,
               case when h.status = 'offered' and h.expires_at <= moment then 'expired' else h.status end,
               c.id::text, c.title, c.summary, h.offered_at, h.expires_at, h.answered_at, h.completed_at,
               h.taken_claim_id::text
        from team.handoffs h
        cross join lateral (
            select d.handle, d.name from team.developers d
            where d.workspace_id = p_workspace and d.developer_id = h.developer_id limit 1) g
        left join lateral (
            select d.handle, d.name from team.developers d
            where d.workspace_id = p_workspace and d.developer_id = h.to_developer_id limit 1) t on true
        left join lateral (
            select x.id, x.title, x.summary from team.session_contexts x
            where x.workspace_id = p_workspace and x.developer_id = h.developer_id and x.superseded_by is null
              and x.revoked_at is null and x.expires_at > moment and x.summary >= ''
              and h.status in ('offered', 'accepted')
            order by x.repo = coalesce(h.repo, '') and x.branch = coalesce(h.branch, '') desc,
                     x.repo = coalesce(h.repo, '') desc, x.published_at desc, x.id desc
            limit 1) c on true
        where h.workspace_id = p_workspace and h.id = p_id;
end
$$;

-- find_handoff_of
-- The newest handoff of one's own reservation that is offered, or was accepted.
create or replace function team.find_handoff_of(p_workspace text, p_developer text, p_claim uuid)
returns table (id text)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select h.id::text from team.handoffs h
        where h.workspace_id = p_workspace and h.developer_id = p_developer and h.claim_id = p_claim
          and h.status in ('offered', 'accepted') and h.claim_id > '00000000-0000-0000-0000-000000000000'
          and h.expires_at > clock_timestamp()
        order by h.offered_at desc, h.id desc
        limit 1;
end
$$;

-- list_handoffs
-- What is open: the offers to the caller, to all, and the caller's own, and what was accepted and is not completed.
create or replace function team.list_handoffs(p_workspace text, p_developer text, p_limit bigint)
returns setof team.handoff_row
language plpgsql as $$
declare
    moment timestamptz := clock_timestamp();
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select h.id::text, h.developer_id, g.handle, g.name, h.to_developer_id, t.handle, t.name, h.claim_id::text, h.repo,
               h.branch, h.paths::text, h.reason, h.note,
               case when h.status = 'offered' and h.expires_at <= moment then 'expired' else h.status end,
               c.id::text, c.title, c.summary, h.offered_at, h.expires_at, h.answered_at, h.completed_at,
               h.taken_claim_id::text
        from (
            select x.* from team.handoffs x
            where x.workspace_id = p_workspace and x.developer_id = p_developer and x.status in ('offered', 'accepted')
              and x.expires_at > moment and x.reason >= ''
            union all
            select x.* from team.handoffs x
            where x.workspace_id = p_workspace and x.to_developer_id = p_developer and x.status in ('offered', 'accepted')
              and x.expires_at > moment and x.note >= ''
            union all
            select x.* from team.handoffs x
            where x.workspace_id = p_workspace and x.to_developer_id is null and x.developer_id <> p_developer
              and x.status in ('offered', 'accepted') and x.expires_at > moment and x.note >= ''
        ) h
        cross join lateral (
            select d.handle, d.name from team.developers d
            where d.workspace_id = p_workspace and d.developer_id = h.developer_id limit 1) g
        left join lateral (
            select d.handle, d.name from team.developers d
            where d.workspace_id = p_workspace and d.developer_id = h.to_developer_id limit 1) t on true
        left join lateral (
            select x.id, x.title, x.summary from team.session_contexts x
            where x.workspace_id = p_workspace and x.developer_id = h.developer_id and x.superseded_by is null
              and x.revoked_at is null and x.expires_at > moment and x.summary >= ''
              and h.status in ('offered', 'accepted')
            order by x.repo = coalesce(h.repo, '') and x.branch = coalesce(h.branch, '') desc,
                     x.repo = coalesce(h.repo, '') desc, x.published_at desc, x.id desc
            limit 1) c on true
        order by h.offered_at desc, h.id desc
        limit p_limit;
end
$$;

-- next_event
-- The event of one developer in one stream that is next to a number, before it or after it. Without statistics the index
-- of the numbers seems as good as that of the developers; only the latter has this order, and nothing is sorted.
create or replace function team.next_event(
    p_workspace text, p_stream text, p_who text, p_from bigint, p_is_newest boolean
) returns bigint
language plpgsql stable set enable_sort = off set enable_bitmapscan = off as $$
begin
    if p_is_newest then
        return (select w.id from team.work_events w
                where w.workspace_id = p_workspace and w.stream = p_stream and w.developer_id >= p_who
                  and (w.developer_id, w.id) < (p_who, p_from) and w.type >= ''
                order by w.developer_id desc, w.id desc
                limit 1);
    end if;
    return (select w.id from team.work_events w
            where w.workspace_id = p_workspace and w.stream = p_stream and w.developer_id <= p_who
              and (w.developer_id, w.id) > (p_who, p_from) and w.type >= ''
            order by w.developer_id, w.id
            limit 1);
end
$$;

-- merge_events
-- The events that the caller may see, from two numbers on, in the order of their numbers: one reader for each developer,
-- so that the events of one who became private are not passed through. Stable: all of it is one snapshot, or an event
-- that is committed meanwhile could be left behind by the cursor.
create or replace function team.merge_events(
    p_workspace text, p_developer text, p_team bigint, p_own bigint, p_limit bigint, p_is_newest boolean
) returns setof team.work_event_row
language plpgsql stable as $$
declare
    people text[];
    streams text[];
    heads bigint[];
    chosen integer;
begin
    select array_agg(x.who), array_agg(x.stream), array_agg(x.head) into people, streams, heads
    from (
        select d.developer_id as who, '' as stream,
               team.next_event(p_workspace, '', d.developer_id, p_team, p_is_newest) as head
        from team.developers d
        where d.workspace_id = p_workspace
        union all
        select p_developer, p_developer, team.next_event(p_workspace, p_developer, p_developer, p_own, p_is_newest)
    ) x
    where x.head is not null;
    for n in 1 .. p_limit loop
        select i into chosen from generate_subscripts(heads, 1) i
        where heads[i] is not null
        order by case when p_is_newest then -heads[i] else heads[i] end
        limit 1;
        exit when not found;
        return query
            select w.stream <> '', w.id, w.type, w.developer_id, d.handle, d.name, w.subject, w.repo, w.branch, w.created_at
            from team.work_events w
            cross join lateral (
                select p.handle, p.name from team.developers p
                where p.workspace_id = p_workspace and p.developer_id = w.developer_id limit 1) d
            where w.workspace_id = p_workspace and w.stream = streams[chosen] and w.id = heads[chosen];
        heads[chosen] := team.next_event(p_workspace, streams[chosen], people[chosen], heads[chosen], p_is_newest);
    end loop;
end
$$;

-- newest_work_events
-- What the team did last, and what a private developer did, for that developer alone.
create or replace function team.newest_work_events(p_workspace text, p_developer text, p_limit bigint)
returns setof team.work_event_row
language plpgsql as $$
declare
    after_all bigint := 9223372036854775807;
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query select * from team.merge_events(p_workspace, p_developer, after_all, after_all, p_limit, true);
end
$$;

-- work_events_after
-- The events after a cursor, which is one number for the team's and one for the developer's own, in the order of the
-- commits.
create or replace function team.work_events_after(
    p_workspace text, p_developer text, p_team bigint, p_own bigint, p_limit bigint
) returns setof team.work_event_row
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query select * from team.merge_events(p_workspace, p_developer, p_team, p_own, p_limit, false);
end
$$;

-- work_events_end
-- The cursor of a listener that wants only what comes: the last event that it may see.
create or replace function team.work_events_end(p_workspace text, p_developer text)
returns table (team bigint, own bigint)
language plpgsql as $$
declare
    after_all bigint := 9223372036854775807;
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select coalesce((select max(team.next_event(p_workspace, '', d.developer_id, after_all, true))
                         from team.developers d where d.workspace_id = p_workspace), 0),
               coalesce(team.next_event(p_workspace, p_developer, p_developer, after_all, true), 0);
end
$$;

-- count_work_events
-- How much happened lately: the events that the caller may see, by the number of whole hours since. Their numbers are times.
create or replace function team.count_work_events(p_workspace text, p_developer text, p_hours bigint)
returns table (hours_ago bigint, events bigint)
language plpgsql as $$
declare
    now_microseconds bigint := (extract(epoch from clock_timestamp()) * 1000000)::bigint;
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select greatest(now_microseconds - w.id, 0) / 3600000000, count(*)
        from team.work_events w
        where w.workspace_id = p_workspace and w.stream in ('', p_developer)
          and w.id > now_microseconds - p_hours * 3600000000
        group by 1;
end
$$;

-- find_exchange
-- Whether any developer has used the exchange of this workspace: then it is offered.
create or replace function team.find_exchange(p_workspace text, p_developer text)
returns table (is_used boolean)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query select exists (select from team.developers d where d.workspace_id = p_workspace);
end
$$;

-- list_stored_contexts
-- For the audit: all that this developer ever published, newest first. Another's are not read by a developer.
create or replace function team.list_stored_contexts(p_workspace text, p_developer text, p_limit bigint)
returns setof team.context_row
language plpgsql as $$
begin
    return query select * from team.list_own_contexts(p_workspace, p_developer, null, p_limit);
end
$$;

-- list_usage
-- For the audit: the calls of this developer, newest first; the policy hides those of others. An id begins with its time.
create or replace function team.list_usage(p_workspace text, p_developer text, p_limit bigint)
returns table (developer_id text, handle text, operation text, outcome text, created_at timestamptz)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select u.developer_id, d.handle, u.operation, u.outcome, u.created_at
        from team.usage_events u
        left join team.developers d on d.workspace_id = p_workspace and d.developer_id = u.developer_id
        where u.workspace_id = p_workspace and u.developer_id = p_developer
        order by u.id desc
        limit p_limit;
end
$$;

-- count_ended
-- How much of a developer ended before a time and still has words.
create or replace function team.count_ended(p_workspace text, p_developer text, p_before text)
returns table (contexts bigint, claims bigint, handoffs bigint, presences bigint)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    perform set_config('holdfast.pruning', 'yes', true);
    return query
        select (select count(*) from team.session_contexts c
                where c.workspace_id = p_workspace and c.developer_id = p_developer and c.erased_at is null
          and team.end_of(to_jsonb(c)) < p_before::timestamptz),
               (select count(*) from team.reservations c
                where c.workspace_id = p_workspace and c.developer_id = p_developer and c.erased_at is null
          and team.end_of(to_jsonb(c)) < p_before::timestamptz),
               (select count(*) from team.handoffs c
                where c.workspace_id = p_workspace and c.developer_id = p_developer and c.erased_at is null
          and team.end_of(to_jsonb(c)) < p_before::timestamptz),
               (select count(*) from team.presence c
                where c.workspace_id = p_workspace and c.developer_id = p_developer
          and (c.paths <> '[]' or c.branch is not null)
          and least(c.ended_at, c.seen_at + interval '10 minutes') < p_before::timestamptz);
    perform set_config('holdfast.pruning', '', true);
end
$$;

-- erase_ended
-- Empties it; an audit row must allow it.
create or replace function team.erase_ended(p_workspace text, p_developer text, p_before text)
returns table (before_at text)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    perform set_config('holdfast.pruning', 'yes', true);
    update team.session_contexts c
    set title = '', summary = '', files_touched = '[]', next_actions = '[]', blockers = '[]', task_ids = '[]', basis = null,
        erased_at = clock_timestamp()
    where c.workspace_id = p_workspace and c.developer_id = p_developer and c.erased_at is null
          and team.end_of(to_jsonb(c)) < p_before::timestamptz;
    update team.handoffs c set paths = '[]', reason = '', note = '', erased_at = clock_timestamp()
    where c.workspace_id = p_workspace and c.developer_id = p_developer and c.erased_at is null
          and team.end_of(to_jsonb(c)) < p_before::timestamptz;
    update team.reservations c set paths = '[]', reason = '', erased_at = clock_timestamp()
    where c.workspace_id = p_workspace and c.developer_id = p_developer and c.erased_at is null
          and team.end_of(to_jsonb(c)) < p_before::timestamptz;
    update team.presence c set paths = '[]', branch = null
    where c.workspace_id = p_workspace and c.developer_id = p_developer and (c.paths <> '[]' or c.branch is not null)
          and least(c.ended_at, c.seen_at + interval '10 minutes') < p_before::timestamptz;
    perform set_config('holdfast.pruning', '', true);
    return query select p_before;
end
$$;

-- find_words
-- What of one's own has this id: a context, a claim or a handoff, and whether it still has words.
create or replace function team.find_words(p_workspace text, p_developer text, p_id uuid)
returns table (id text, kind text, has_words boolean)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select c.id::text, 'context', c.erased_at is null from team.session_contexts c
        where c.workspace_id = p_workspace and c.developer_id = p_developer and c.id = p_id
        union all
        select r.id::text, 'claim', r.erased_at is null from team.reservations r
        where r.workspace_id = p_workspace and r.developer_id = p_developer and r.id = p_id
        union all
        select h.id::text, 'handoff', h.erased_at is null from team.handoffs h
        where h.workspace_id = p_workspace and h.developer_id = p_developer and h.id = p_id;
end
$$;

-- words_with_text
-- A page of one's own contexts, claims, handoffs and shown sessions that contain an exact text, given as it is and as it is
-- written in JSON; all pages read every row of the developer, to miss none.
create or replace function team.words_with_text(
    p_workspace text, p_developer text, p_text text, p_escaped text, p_after uuid, p_limit bigint
) returns table (id text, kind text)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select w.id::text, w.kind
        from (
            select c.id, 'context' as kind, concat_ws(E'\n', c.title, c.summary) as words,
                   concat(c.files_touched, c.next_actions, c.blockers, c.task_ids, c.basis) as lists
            from team.session_contexts c
            where c.workspace_id = p_workspace and c.developer_id = p_developer and c.erased_at is null
            union all
            select r.id, 'claim', r.reason, r.paths::text from team.reservations r
            where r.workspace_id = p_workspace and r.developer_id = p_developer and r.erased_at is null
            union all
            select h.id, 'handoff', concat_ws(E'\n', h.reason, h.note), h.paths::text from team.handoffs h
            where h.workspace_id = p_workspace and h.developer_id = p_developer and h.erased_at is null
            union all
            select p.session_id, 'presence', coalesce(p.branch, ''), p.paths::text from team.presence p
            where p.workspace_id = p_workspace and p.developer_id = p_developer
        ) w
        where w.id > p_after and (strpos(w.words, p_text) > 0 or strpos(w.lists, p_escaped) > 0)
        order by w.id, w.kind
        limit p_limit;
end
$$;

-- erase_words
-- Empties one's own context or handoff, a claim with its handoffs, or what is shown of a session; an audit row must allow it.
-- As the owner, who alone may empty, and who sees also a handoff that is hidden because its recipient became private.
create or replace function team.erase_words(p_workspace text, p_developer text, p_id uuid)
returns table (id text)
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    perform set_config('holdfast.pruning', 'yes', true);
    update team.session_contexts c
    set title = '', summary = '', files_touched = '[]', next_actions = '[]', blockers = '[]', task_ids = '[]', basis = null,
        erased_at = clock_timestamp()
    where c.workspace_id = p_workspace and c.developer_id = p_developer and c.id = p_id and c.erased_at is null;
    update team.handoffs h set paths = '[]', reason = '', note = '', erased_at = clock_timestamp()
    where h.workspace_id = p_workspace and h.developer_id = p_developer and p_id in (h.id, h.claim_id)
      and h.erased_at is null;
    update team.reservations r set paths = '[]', reason = '', erased_at = clock_timestamp()
    where r.workspace_id = p_workspace and r.developer_id = p_developer and r.id = p_id and r.erased_at is null;
    update team.presence p set paths = '[]', branch = null
    where p.workspace_id = p_workspace and p.developer_id = p_developer and p.session_id = p_id;
    perform set_config('holdfast.pruning', '', true);
    return query select p_id::text;
end
$$;

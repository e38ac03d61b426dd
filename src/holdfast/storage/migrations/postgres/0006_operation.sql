-- What the operator of a server needs: a group of roles that reads everything and nothing else, and retention on demand.

-- --- who may read everything -----------------------------------------------------------------------------------------

-- Where this role may not be made, somebody who may makes it later, and the owner calls the procedure below again.
do $$
begin
    if not exists (select from pg_roles where rolname = 'holdfast_reader') then
        create role holdfast_reader nologin nosuperuser nobypassrls nocreatedb nocreaterole;
    end if;
exception
    when duplicate_object or unique_violation or insufficient_privilege then null;
end
$$;

-- Every row of every table of ours, in all workspaces, and no hash of a token or of a code. Migrations that add a table
-- or a column call it again.
create procedure holdfast.let_readers_read()
language plpgsql as $$
declare
    found record;
begin
    if not exists (select from pg_roles where rolname = 'holdfast_reader') then
        return;
    end if;
    grant usage on schema holdfast, context, memori, team, identity to holdfast_reader;
    for found in
        select c.oid, c.oid::regclass as name,
               (select string_agg(quote_ident(a.attname), ', ' order by a.attnum) from pg_attribute a
                where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
                  and not (n.nspname = 'identity' and a.attname ~ '_hash$')) as columns,
               exists (select from pg_policy p where p.polrelid = c.oid
                       and p.polname in ('reader_reads', 'everybody_reads')) as has_policy
        from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where c.relkind in ('r', 'p') and c.relforcerowsecurity
          and n.nspname in ('holdfast', 'context', 'memori', 'team', 'identity')
    loop
        execute format('grant select (%s) on %s to holdfast_reader', found.columns, found.name);
        if not found.has_policy then
            execute format('create policy reader_reads on %s for select to holdfast_reader using (true)', found.name);
        end if;
    end loop;
end
$$;
comment on procedure holdfast.let_readers_read() is
    'Policies and grants of the group that may read everything; called by migrations, and after the role was made.';
revoke all on procedure holdfast.let_readers_read() from public;

-- --- retention -------------------------------------------------------------------------------------------------------

create table holdfast.prunings (
    workspace_id text collate "C" not null,
    developer_id text collate "C" not null,
    id uuid not null,
    before_at timestamptz not null,
    found jsonb not null check (jsonb_typeof(found) = 'object'),
    created_at timestamptz not null,
    primary key (workspace_id, developer_id, id),
    check (before_at <= created_at)
);
comment on table holdfast.prunings is
    'The audit rows of retention, and what allows it: what of a developer ended before this may be emptied';
comment on column holdfast.prunings.found is 'how much there was to empty, by kind';

call holdfast.put_walls('holdfast', 'prunings', 'are');
create trigger prunings_are_not_updated before update on holdfast.prunings
    for each row execute function holdfast.refuse();
grant select, insert on holdfast.prunings to holdfast_runtime;

-- The owner may read whose rows there are, while the developers of a workspace are listed for it.
create policy listed on context.sessions for select to current_user
    using (current_setting('holdfast.pruning', true) = 'yes');
create policy listed on team.developers for select to current_user
    using (current_setting('holdfast.pruning', true) = 'yes');

alter table team.session_contexts add column erased_at timestamptz;
alter table team.reservations add column erased_at timestamptz;
alter table team.handoffs add column erased_at timestamptz;
comment on column team.session_contexts.erased_at is 'when its words were emptied, after its end';
comment on column team.reservations.erased_at is 'when its words were emptied, after its end';
comment on column team.handoffs.erased_at is 'when its words were emptied, after its end';

-- What is erased changes in one way only, which the second trigger checks.
drop trigger session_contexts_keep_what_they_say on team.session_contexts;
create trigger session_contexts_keep_what_they_say before update on team.session_contexts
    for each row
    when (new.erased_at is not distinct from old.erased_at
          and ((new.workspace_id, new.id, new.developer_id, new.session_id, new.repo, new.branch, new.title, new.summary,
                new.files_touched, new.next_actions, new.blockers, new.task_ids, new.basis, new.published_at,
                new.expires_at)
                   is distinct from (old.workspace_id, old.id, old.developer_id, old.session_id, old.repo, old.branch,
                                     old.title, old.summary, old.files_touched, old.next_actions, old.blockers,
                                     old.task_ids, old.basis, old.published_at, old.expires_at)
               or (old.superseded_by is not null and new.superseded_by is distinct from old.superseded_by)
               or (old.revoked_at is not null and new.revoked_at is distinct from old.revoked_at)))
    execute function holdfast.refuse();
create trigger session_contexts_are_only_erased before update on team.session_contexts
    for each row when (new.erased_at is distinct from old.erased_at)
    execute function team.check_erasure(
        '{"title": "", "summary": "", "files_touched": [], "next_actions": [], "blockers": [], "task_ids": [], "basis": null}');

drop trigger reservations_are_only_released on team.reservations;
create trigger reservations_are_only_released before update on team.reservations
    for each row
    when (new.erased_at is not distinct from old.erased_at
          and ((new.workspace_id, new.id, new.developer_id, new.session_id, new.repo, new.branch, new.paths, new.reason,
                new.reserved_at, new.expires_at)
                   is distinct from (old.workspace_id, old.id, old.developer_id, old.session_id, old.repo, old.branch,
                                     old.paths, old.reason, old.reserved_at, old.expires_at)
               or old.released_at is not null))
    execute function holdfast.refuse();
create trigger reservations_are_only_erased before update on team.reservations
    for each row when (new.erased_at is distinct from old.erased_at)
    execute function team.check_erasure('{"paths": [], "reason": ""}');

drop trigger handoffs_go_forward on team.handoffs;
create trigger handoffs_go_forward before update on team.handoffs
    for each row when (new.erased_at is not distinct from old.erased_at)
    execute function team.check_handoff();
create trigger handoffs_are_only_erased before update on team.handoffs
    for each row when (new.erased_at is distinct from old.erased_at)
    execute function team.check_erasure('{"paths": [], "reason": "", "note": ""}');

-- --- both ------------------------------------------------------------------------------------------------------------

-- These two rules hide rows from everybody. Who may read everything reads them. The owner of the tables sees what it withdraws
-- (0005), and empties what ended, also where the recipient has become private.
do $do$
declare
    rule text := format($rule$coalesce(to_developer_id, '') in ('', current_setting('holdfast.developer', true))
        or (select d.visibility from team.developers d
            where d.workspace_id = nullif(current_setting('holdfast.workspace', true), '')
              and d.developer_id = handoffs.to_developer_id) = 'public'
        or (current_user = %L
            and 'yes' in (current_setting('holdfast.withdrawing', true), current_setting('holdfast.pruning', true)))$rule$,
        current_user);
    reads_all text := $rule$(select pg_has_role(r.oid, 'USAGE') from pg_roles r where r.rolname = 'holdfast_reader')$rule$;
begin
    execute format('alter policy recipient_is_visible on team.handoffs using (%1$s or %2$s) with check (%1$s)',
                   rule, reads_all);
end
$do$;
alter policy own_stream on team.work_events
    using (stream in ('', nullif(current_setting('holdfast.developer', true), ''))
           or (select pg_has_role(r.oid, 'USAGE') from pg_roles r where r.rolname = 'holdfast_reader'));

call holdfast.let_readers_read();

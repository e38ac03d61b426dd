-- check_handoff
-- A handoff goes forward only, and each step is its own developer's: the giver cancels, the recipient answers. What is
-- offered to all, nobody declines, and only what is accepted gets a new end, of about a week.
create or replace function team.check_handoff() returns trigger
language plpgsql as $$
declare
    me text := current_setting('holdfast.developer', true);
    step text := old.status || ' > ' || new.status;
begin
    if (new.workspace_id, new.id, new.developer_id, new.claim_id, new.repo, new.branch, new.paths, new.reason, new.note,
        new.offered_at)
       is distinct from (old.workspace_id, old.id, old.developer_id, old.claim_id, old.repo, old.branch, old.paths,
                         old.reason, old.note, old.offered_at)
       or (old.to_developer_id is not null and new.to_developer_id is distinct from old.to_developer_id)
       or (new.taken_claim_id is distinct from old.taken_claim_id and step <> 'offered > accepted')
       or (step = 'offered > cancelled' and (me <> old.developer_id or new.to_developer_id is distinct from old.to_developer_id))
       or (step in ('offered > accepted', 'offered > declined', 'accepted > completed')
           and (me is distinct from new.to_developer_id or me = old.developer_id))
       or (step = 'offered > declined' and old.to_developer_id is null)
       or (new.expires_at is distinct from old.expires_at
           and (step <> 'offered > accepted' or new.expires_at > clock_timestamp() + interval '8 days'))
       or step not in ('offered > cancelled', 'offered > accepted', 'offered > declined', 'accepted > completed')
    then
        raise exception 'team.handoffs is append-only' using errcode = 'restrict_violation';
    end if;
    return new;
end
$$;

-- check_work_event
-- The number of an event is the time: one far ahead of it would be followed by the numbers of all others, and none is left
-- after the greatest. The next number of its stream is allowed too, because a clock may have been set back.
create or replace function team.check_work_event() returns trigger
language plpgsql as $$
declare
    now_microseconds bigint := (extract(epoch from clock_timestamp()) * 1000000)::bigint;
begin
    if new.id not between now_microseconds - 300000000 and now_microseconds + 300000000
       and new.id <> team.last_number(new.workspace_id, new.stream) + 1
    then
        raise exception 'the number of a work event is not its time' using errcode = 'check_violation';
    end if;
    return new;
end
$$;

-- release_with_session
-- Releases the reservations of a session that ends, and ends its presence, which keeps no path then.
create or replace function team.release_with_session() returns trigger
language plpgsql as $$
declare
    moment timestamptz := clock_timestamp();
    released record;
begin
    for released in
        update team.reservations r set released_at = moment
        where r.workspace_id = new.workspace_id and r.developer_id = new.developer_id and r.session_id = new.id
          and r.released_at is null and r.session_id is not null
        returning r.id::text, r.repo, r.branch
    loop
        perform team.add_work_event(new.workspace_id, new.developer_id, 'coordination.released', released.id,
                                    released.repo, released.branch);
    end loop;
    update team.presence p set ended_at = moment, paths = '[]', branch = null
    where p.workspace_id = new.workspace_id and p.developer_id = new.developer_id and p.session_id = new.id
      and p.ended_at is null;
    return null;
end
$$;

-- end_of
-- When a published context, a claim or a handoff has ended or will end: at its own time, or earlier.
create or replace function team.end_of(p_row jsonb) returns timestamptz
language plpgsql as $$
begin
    return least(
        (p_row ->> 'expires_at')::timestamptz, (p_row ->> 'revoked_at')::timestamptz,
        (p_row ->> 'released_at')::timestamptz, (p_row ->> 'completed_at')::timestamptz,
        case when p_row ->> 'status' in ('declined', 'cancelled') then (p_row ->> 'answered_at')::timestamptz end,
        (select c.published_at from team.session_contexts c
         where c.workspace_id = p_row ->> 'workspace_id' and c.id = (p_row ->> 'superseded_by')::uuid));
end
$$;

-- check_erasure
-- What ended is emptied as the trigger says and in no other way, once, and only where an audit row of its developer allows
-- it: one of all that ended before a time, or one that names it, or the claim that it offers. A handoff that was accepted
-- may be emptied before its end, which is the recipient's.
create or replace function team.check_erasure() returns trigger
language plpgsql as $$
declare
    emptied jsonb := to_jsonb(old);
    ended_at timestamptz := team.end_of(emptied);
begin
    if old.erased_at is null and new.erased_at is not null
       and to_jsonb(new) - 'erased_at' = (to_jsonb(old) - 'erased_at') || tg_argv[0]::jsonb
       and exists (select from holdfast.prunings p
                   where p.workspace_id = old.workspace_id and p.developer_id = old.developer_id
                     and (p.before_at > ended_at
                          or (p.found ->> 'forgotten' in (emptied ->> 'id', emptied ->> 'claim_id')
                              and (ended_at <= p.created_at or emptied ->> 'status' = 'accepted'))))
    then
        return new;
    end if;
    raise exception '%.% is append-only', tg_table_schema, tg_table_name using errcode = 'restrict_violation';
end
$$;

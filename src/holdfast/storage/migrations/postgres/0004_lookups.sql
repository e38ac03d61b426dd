-- What the doors ask for that was looked for in Python before: which session is meant, names, and how long the logs are.
-- No table changes.
create function context.unplaced_sessions(p_workspace text, p_developer text, p_client text)
returns setof context.session_row
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select (context.as_row(s)).* from context.sessions s
        where s.workspace_id = p_workspace and s.developer_id = p_developer and s.worktree is null
          and s.ended_at is null and s.client = p_client and s.native_id is null
        order by s.started_at desc, s.id desc
        limit 2;
end
$$;

create function context.telling_session(
    p_workspace text, p_developer text, p_worktree text, p_client text, p_native_id text
) returns setof context.session_row
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select (context.as_row(s)).* from context.sessions s
        where s.workspace_id = p_workspace and s.developer_id = p_developer
          and (p_worktree is null or s.worktree = p_worktree)
          and (s.metadata -> 'context' <> '{}' or s.metadata ->> 'envHint' <> '')
        order by s.started_at desc, s.id desc
        limit 1;
    if found then
        return;
    end if;
    return query
        select (context.as_row(s)).* from context.sessions s
        where s.workspace_id = p_workspace and s.developer_id = p_developer
          and (p_worktree is null or s.worktree = p_worktree) and s.last_sequence > 0
          and (p_native_id is null or s.client is distinct from p_client or s.native_id is distinct from p_native_id)
        order by s.started_at desc, s.id desc
        limit 1;
end
$$;

-- Letters as SQLite sees them, whatever the database's own language: only those of ASCII are small or large.
create function context.session_names(p_workspace text, p_developer text, p_begun text, p_limit int)
returns table (name text)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select s.name from context.sessions s
        where s.workspace_id = p_workspace and s.developer_id = p_developer and s.name is not null
          and starts_with(lower(s.name collate "C"), lower(p_begun collate "C"))
        group by s.name
        order by max(s.started_at) desc, s.name collate "C"
        limit p_limit;
end
$$;

create function context.count_ends(p_workspace text, p_developer text)
returns table (numbered bigint, stored bigint, sessions bigint)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select coalesce(sum(s.last_sequence), 0)::bigint,
               coalesce(sum((select max(e.sequence) from context.session_events e
                             where e.workspace_id = p_workspace and e.session_id = s.id)), 0)::bigint,
               count(*)
        from context.sessions s
        where s.workspace_id = p_workspace and s.developer_id = p_developer;
end
$$;

revoke all on all functions in schema context from public;
grant execute on all functions in schema context to holdfast_runtime;

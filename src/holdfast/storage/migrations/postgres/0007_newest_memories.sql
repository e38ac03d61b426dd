-- What a person looks at: the newest memories first, in a table of ours and in an adopted one. No table changes.
create function memori.newest_memories(p_workspace text, p_developer text, p_below text, p_limit bigint)
returns setof memori.memory_row
language plpgsql as $$
declare
    edge timestamptz;
    below text := coalesce(p_below, '');
begin
    perform holdfast.act_for(p_workspace, p_developer);
    select m.created_at into edge from memori.memories m
    where memori.is_own(m, p_workspace, p_developer) and m.id::text = p_below;
    -- Not in the statement: under row-level security PostgreSQL does not look up a `coalesce` in an index.
    edge := coalesce(edge, 'infinity');
    return query
        select (memori.as_row(m)).* from memori.memories m
        where memori.is_own(m, p_workspace, p_developer) and m.erased_at is null
          and (m.created_at, m.id::text) < (edge, below)
        order by m.created_at desc, m.id::text desc
        limit p_limit;
end
$$;

revoke all on function memori.newest_memories(text, text, text, bigint) from public;
grant execute on function memori.newest_memories(text, text, text, bigint) to holdfast_runtime;

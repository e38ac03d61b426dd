-- need_tombstone
-- For memories: a text can be erased only if a tombstone exists.
create or replace function memori.need_tombstone() returns trigger
language plpgsql as $$
begin
    if not exists (select from memori.memory_tombstones t
                   where t.workspace_id = old.workspace_id and t.developer_id = old.developer_id
                     and t.content_hash = old.content_hash) then
        raise exception 'memori.memories keep what they say' using errcode = 'restrict_violation';
    end if;
    return new;
end
$$;

-- is_searching
-- Under row-level security PostgreSQL does not use the index of words: `@@` is not leakproof, so the policy is checked
-- first, row by row. The two search functions run as the owner, filter by workspace and developer themselves, and have
-- one additional policy, which calls this function. It is marked immutable so that the planner evaluates it: it is true
-- for a statement that is planned inside those two functions and false for the owner anywhere else. It has no effect
-- for other roles.
create or replace function memori.is_searching() returns boolean
language sql immutable as $$ select coalesce(current_setting('holdfast.searching', true), '') = 'yes' $$;

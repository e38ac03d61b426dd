-- need_tombstone
-- For memories: a text goes only where a tombstone stands.
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
-- Under row-level security the index of words is out of reach: `@@` might leak, so it has to wait for the policy,
-- row by row. The two functions that search run as the owner, name the workspace and the developer themselves, and
-- have one policy besides, with this. It is marked immutable so that the planner settles it: true for a statement
-- that is planned inside those two functions, false for the owner anywhere else, and nothing to anybody who is not
-- the owner.
create or replace function memori.is_searching() returns boolean
language sql immutable as $$ select coalesce(current_setting('holdfast.searching', true), '') = 'yes' $$;

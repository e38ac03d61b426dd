-- An offer to a developer who became private is hidden from its giver too. It ends all the same when its giver releases
-- the reservation or offers it to another: the owner of the tables does that, where `team.withdraw_hidden` says so. A role
-- that is not the owner sees no more by setting the same word.
do $do$
declare
    rule text := format($rule$coalesce(to_developer_id, '') in ('', current_setting('holdfast.developer', true))
        or (select d.visibility from team.developers d
            where d.workspace_id = nullif(current_setting('holdfast.workspace', true), '')
              and d.developer_id = handoffs.to_developer_id) = 'public'
        or (current_user = %L and current_setting('holdfast.withdrawing', true) = 'yes')$rule$, current_user);
begin
    execute format('alter policy recipient_is_visible on team.handoffs using (%1$s) with check (%1$s)', rule);
end
$do$;

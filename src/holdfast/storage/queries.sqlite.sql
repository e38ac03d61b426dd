-- outbox_after
-- What happened beyond a cursor, in the order of the commits.
select id, topic, data, created_at
from outbox
where workspace_id = $1 and developer_id = $2 and id > $3 and data <> '{}'
order by id
limit $4;

-- outbox_end
-- Where a listener starts who wants only what is to come.
select coalesce(max(id), 0)
from outbox
where workspace_id = $1 and developer_id = $2;

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

-- find_key
-- Whether a request was done already, with which content, and what it was about.
select request_hash, subject
from idempotency_keys
where workspace_id = $1 and developer_id = $2 and operation = $3 and key = $4;

-- keep_key
-- Notes a request in the transaction that does it.
insert into idempotency_keys (workspace_id, developer_id, operation, key, request_hash, subject, created_at)
values ($1, $2, $3, $4, $5, $6, now_utc())
returning subject;

-- beat
-- A write that means nothing, to see whether writing works.
update heartbeats set beats = beats + 1
where workspace_id = $1 and developer_id = $2
returning beats;
insert into heartbeats (workspace_id, developer_id, beats) values ($1, $2, 1)
returning beats;

-- last_beat
-- The read that belongs to it.
select beats
from heartbeats
where workspace_id = $1 and developer_id = $2;

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

-- keep_entry
-- One document more in the journal; the same id again finds the first.
insert into journal (workspace_id, developer_id, id, kind, subject, content, created_at)
select $1, $2, $3, $4, $5, $6, now_utc()
where not exists (select 1 from journal where workspace_id = $1 and id = $3);
select id, subject, content, created_at, erased_at
from journal
where workspace_id = $1 and developer_id = $2 and id = $3;

-- find_entry
-- One document by its id, if it is this developer's and of this kind.
select id, subject, content, created_at, erased_at
from journal
where workspace_id = $1 and developer_id = $2 and id = $4 and kind = $3;

-- newest_entries
-- The newest documents about one subject; numbers rise.
select id, subject, content, created_at, erased_at
from journal
where workspace_id = $1 and developer_id = $2 and kind = $3 and subject = $4
order by number desc
limit $5;

-- newest_of_kind
-- The newest documents of a kind, whatever they are about.
select id, subject, content, created_at, erased_at
from journal
where workspace_id = $1 and developer_id = $2 and kind = $3
order by number desc
limit $4;

-- entries_with_text
-- Which documents hold a text exactly as it is written.
select id, kind
from journal
where workspace_id = $1 and developer_id = $2 and erased_at is null and instr(content, $3) > 0
order by id;

-- erase_entry
-- Empty one document and leave its place.
update journal set content = '', erased_at = now_utc()
where workspace_id = $1 and developer_id = $2 and id = $3 and erased_at is null
returning id;

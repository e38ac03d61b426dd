-- outbox_after
-- The entries after a cursor, in the order of the commits.
select id, topic, data, created_at
from outbox
where workspace_id = ?1 and developer_id = ?2 and id > ?3 and data <> '{}'
order by id
limit ?4;

-- outbox_end
-- The cursor of a listener that wants only future entries.
select coalesce(max(id), 0)
from outbox
where workspace_id = ?1 and developer_id = ?2;

-- find_key
-- Whether a request was already executed, the hash of its content, and its subject.
select request_hash, subject
from idempotency_keys
where workspace_id = ?1 and developer_id = ?2 and operation = ?3 and key = ?4;

-- keep_key
-- Records a request in the transaction of its effect.
insert into idempotency_keys (workspace_id, developer_id, operation, key, request_hash, subject, created_at)
values (?1, ?2, ?3, ?4, ?5, ?6, now_utc())
returning subject;

-- beat
-- A write without content, to test whether writing works.
update heartbeats set beats = beats + 1
where workspace_id = ?1 and developer_id = ?2
returning beats;
insert into heartbeats (workspace_id, developer_id, beats) values (?1, ?2, 1)
returning beats;

-- last_beat
-- The read that checks that write.
select beats
from heartbeats
where workspace_id = ?1 and developer_id = ?2;

-- keep_entry
-- Adds a document to the journal; if the id exists, returns the existing document.
insert into journal (workspace_id, developer_id, id, kind, subject, content, created_at)
select ?1, ?2, ?3, ?4, ?5, ?6, now_utc()
where not exists (select 1 from journal where workspace_id = ?1 and id = ?3);
select id, subject, content, created_at, erased_at
from journal
where workspace_id = ?1 and developer_id = ?2 and id = ?3;

-- find_entry
-- One document by its id, if it is this developer's and of this kind.
select id, subject, content, created_at, erased_at
from journal
where workspace_id = ?1 and developer_id = ?2 and id = ?4 and kind = ?3;

-- newest_entries
-- The newest documents about one subject; numbers increase.
select id, subject, content, created_at, erased_at
from journal
where workspace_id = ?1 and developer_id = ?2 and kind = ?3 and subject = ?4
order by number desc
limit ?5;

-- newest_by_subject
-- The newest document about each subject of a range: one step of the index for each, however many documents it has.
with recursive subjects (subject) as (
    select min(subject) from journal
    where workspace_id = ?1 and developer_id = ?2 and kind = ?3 and subject >= ?4 and subject < ?5
    union all
    select (
        select min(j.subject) from journal j
        where j.workspace_id = ?1 and j.developer_id = ?2 and j.kind = ?3 and j.subject > s.subject and j.subject < ?5
    ) from subjects s
    where s.subject is not null
    limit ?6
)
select e.id, e.subject, e.content, e.created_at, e.erased_at
from subjects s
join journal e on e.number = (
    select number from journal j
    where j.workspace_id = ?1 and j.developer_id = ?2 and j.kind = ?3 and j.subject = s.subject
    order by number desc
    limit 1
)
where s.subject is not null;

-- newest_of_kind
-- The newest documents of a kind, for all subjects.
select id, subject, content, created_at, erased_at
from journal
where workspace_id = ?1 and developer_id = ?2 and kind = ?3
order by number desc
limit ?4;

-- entries_with_text
-- A page of the documents that contain an exact text; all pages read every document of the developer, to miss none.
select id, kind
from journal
where workspace_id = ?1 and developer_id = ?2 and erased_at is null and id > ?4
  and instr(content, ?3) > 0
order by id
limit ?5;

-- erase_entry
-- Empties one document and keeps its row.
update journal set content = '', erased_at = now_utc()
where workspace_id = ?1 and developer_id = ?2 and id = ?3 and erased_at is null
returning id;

-- list_owners
-- Whose rows a workspace has, private developers too: for retention, which is decided for all of them.
select developer_id from sessions where workspace_id = ?1 and ?2 = ?2
union
select developer_id from developers where workspace_id = ?1
order by 1;

-- count_receipts
-- How many receipts from before a time still have their text.
select count(*) as receipts
from journal
where workspace_id = ?1 and developer_id = ?2 and kind = 'receipt' and created_at < ?3 and erased_at is null;

-- erase_receipts
-- Empties them: they quote sessions.
update journal set content = '', erased_at = now_utc()
where workspace_id = ?1 and developer_id = ?2 and kind = 'receipt' and created_at < ?3 and erased_at is null
returning id;

-- keep_pruning
-- The audit row, which also allows emptying what ended before its time.
insert into prunings (workspace_id, developer_id, id, before_at, found, created_at)
values (?1, ?2, ?3, ?4, ?5, now_utc())
returning id;

-- find_session
-- Whose session it is, since when, and where the person went back to, if anywhere.
select parent_id, agent, time_created,
  case when json_valid(revert) then json_extract(revert, '$.messageID') end
from session
where id = ?1

-- find_origin
-- The session of which a fork has copies: they keep the times of their originals, and originals have the lower ids.
select original.session_id
from message as original
where original.time_created = (
    select max(time_created) from message where session_id = ?1 and time_created < ?2
  )
  and original.session_id in (
    select other.id
    from session as own join session as other on other.project_id = own.project_id
    where own.id = ?1 and other.id <> ?1 and other.parent_id is null
  )
order by original.id
limit 1

-- list_family
-- A session and those that it started as subagents, however deep.
with recursive family(id) as (
  select id from session where id = ?1
  union
  select child.id from session as child join family on child.parent_id = family.id
)
select id from family limit ?2

-- list_sessions
-- Those of a folder that changed since then; a subagent's belongs to the one that started it.
select id, time_updated, directory
from session
where parent_id is null and time_updated >= ?2
  and (directory = ?1 or substr(directory, 1, length(?1) + 1) = ?1 || '/')
order by time_updated desc
limit ?3

-- list_messages
-- What came after a place, in order; a fork's copies keep the times of their originals.
select id, time_created,
  case when json_valid(data) then json_extract(data, '$.role') end,
  case when json_valid(data) then
    coalesce(json_extract(data, '$.time.completed'), json_extract(data, '$.error.name'))
  end,
  case when json_valid(data) then json_extract(data, '$.summary') end,
  case when json_valid(data) then json_extract(data, '$.parentID') end
from message
where session_id = ?1 and (time_created, id) > (?2, ?3)
order by time_created, id
limit ?4

-- find_last_message
-- What a session ends with: when it was finished, or which error has finished it.
select id,
  case when json_valid(data) then json_extract(data, '$.role') end,
  time_created,
  case when json_valid(data) then json_extract(data, '$.time.completed') end,
  case when json_valid(data) then json_extract(data, '$.error.name') end,
  case when json_valid(data) then json_extract(data, '$.error.data.message') end
from message
where session_id = ?1
order by time_created desc, id desc
limit 1

-- list_parts
-- What a reader knows of a message; without its text where that is too long to be read.
select id, case when size <= ?2 then data end, size
from (
  select id, data, length(data) as size,
    case when json_valid(data) then json_extract(data, '$.type') else 'damaged' end as type
  from part
  where message_id = ?1
)
where type in ('text', 'tool', 'compaction', 'damaged')
order by id

-- list_left
-- Which of these messages are still there: going back removes them.
select id from message where session_id = ?1 and id in (select value from json_each(?2))

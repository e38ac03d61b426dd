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
-- A turn that goes on changes its last message and what is in it, and not the session.
with found as (
  select id, directory, time_updated, (
      select max(message.time_updated, coalesce(
        (select max(part.time_updated) from part where part.message_id = message.id), 0))
      from message
      where message.session_id = session.id
      order by message.time_created desc, message.id desc
      limit 1
    ) as last_changed
  from session
  where parent_id is null
    and (directory = ?1 or substr(directory, 1, length(?1) + 1) = ?1 || '/')
)
select id, max(time_updated, coalesce(last_changed, 0)) as changed, directory
from found
where changed >= ?2
order by changed desc
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

-- list_window
-- What a model has since the last compaction that brought a summary: that, and the messages that it kept.
with compaction as (
  select asked.time_created, asked.id, json_extract(part.data, '$.tail_start_id') as tail_id
  from part
    join message as asked on asked.id = part.message_id
    join message as summary on summary.session_id = ?1 and json_valid(summary.data)
  where part.session_id = ?1 and json_valid(part.data) and json_extract(part.data, '$.type') = 'compaction'
    and json_extract(summary.data, '$.summary') = 1
    and json_extract(summary.data, '$.parentID') = asked.id
    and json_extract(summary.data, '$.finish') is not null
  order by asked.time_created desc, asked.id desc
  limit 1
)
select part.data
from compaction
  left join message as tail on tail.id = compaction.tail_id
  join message on message.session_id = ?1
    and (message.time_created, message.id)
      >= (coalesce(tail.time_created, compaction.time_created), coalesce(tail.id, compaction.id))
  join part on part.message_id = message.id
where length(part.data) <= ?3
order by message.time_created desc, part.id desc
limit ?2

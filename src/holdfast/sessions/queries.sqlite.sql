-- create_session
-- A new session with its scratchpad. If a session with the same id, or an open session with the same native id,
-- exists, returns that one. A new one is returned as it was given, without reading it again.
insert into sessions (workspace_id, developer_id, id, user_id, chatmode, workflow, skill, git_branch, client, native_id,
                      repo, worktree, resumed_from, metadata, head_hash, started_at, active_at, noted_at)
select ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?16, now_utc(),
       case when ?13 is not null or ?15 <> '{}' then now_utc() end, case when ?15 <> '{}' then now_utc() end
where not exists (select 1 from sessions where workspace_id = ?1 and id = ?3)
  and not exists (select 1 from sessions
                  where workspace_id = ?1 and developer_id = ?2 and client = ?9 and native_id = ?10 and ended_at is null);
insert into outbox (workspace_id, developer_id, id, topic, data, created_at)
select ?1, ?2,
       (select coalesce(max(id), 0) + 1 from outbox where workspace_id = ?1 and developer_id = ?2 and id > 0),
       'session.started', json_object('session_id', ?3), now_utc() where changes() = 1;
insert into session_state (workspace_id, developer_id, session_id, scratchpad, updated_at)
select ?1, ?2, ?3, ?15, now_utc() where changes() = 1
returning ?3, ?4, ?5, ?6, ?7, ?8, now_utc(), null, ?14, ?9, ?10, ?11, ?12, json_extract(?14, '$.name'), ?13, 1, 0, ?16;
select id, user_id, chatmode, workflow, skill, git_branch, started_at, ended_at, metadata, client, native_id, repo,
       worktree, name, resumed_from, revision, last_sequence, head_hash
from sessions
where workspace_id = ?1 and developer_id = ?2
  and (id = ?3 or (client = ?9 and native_id = ?10 and ended_at is null))
order by id = ?3 desc
limit 1;

-- find_session
-- One session by its id, if it is this developer's.
select id, user_id, chatmode, workflow, skill, git_branch, started_at, ended_at, metadata, client, native_id, repo,
       worktree, name, resumed_from, revision, last_sequence, head_hash
from sessions
where workspace_id = ?1 and developer_id = ?2 and id = ?3;

-- lock_session
-- The same, with a lock until the transaction ends; on SQLite the transaction itself is the lock.
select id, user_id, chatmode, workflow, skill, git_branch, started_at, ended_at, metadata, client, native_id, repo,
       worktree, name, resumed_from, revision, last_sequence, head_hash
from sessions
where workspace_id = ?1 and developer_id = ?2 and id = ?3;

-- active_session
-- The newest open session of a chatmode; the partial index holds open ones only.
select id, user_id, chatmode, workflow, skill, git_branch, started_at, ended_at, metadata, client, native_id, repo,
       worktree, name, resumed_from, revision, last_sequence, head_hash
from sessions
where workspace_id = ?1 and developer_id = ?2 and chatmode = ?3 and user_id = ?4 and ended_at is null
order by started_at desc, id desc
limit 1;

-- open_sessions
-- The newest open sessions of a worktree: the session that a person's write means, and whether it is the only one.
select id, user_id, chatmode, workflow, skill, git_branch, started_at, ended_at, metadata, client, native_id, repo,
       worktree, name, resumed_from, revision, last_sequence, head_hash
from sessions indexed by sessions_open_by_worktree
where workspace_id = ?1 and developer_id = ?2 and worktree = ?3 and ended_at is null
order by started_at desc, id desc
limit 2;

-- newest_sessions
-- The newest sessions of a worktree, open or ended: the session that is read where the caller has none, and whether it
-- is the only one.
select id, user_id, chatmode, workflow, skill, git_branch, started_at, ended_at, metadata, client, native_id, repo,
       worktree, name, resumed_from, revision, last_sequence, head_hash
from sessions indexed by sessions_by_worktree
where workspace_id = ?1 and developer_id = ?2 and worktree = ?3
order by started_at desc, id desc
limit 2;

-- last_session
-- The session in which something happened last, without one that is excluded, nor any that began after a time. Of a
-- worktree, if one is given; an index for each case. The index knows the minute; within the newest minute the last events
-- are compared, by when they happened.
with newest (minute) as (
    select substr(active_at, 1, 16) from sessions indexed by sessions_by_activity_in_worktree
    where workspace_id = ?1 and developer_id = ?2 and worktree = ?3 and active_at is not null and id is not ?4
      and (?5 is null or started_at <= ?5)
    order by active_at desc
    limit 1
)
select s.id, s.user_id, s.chatmode, s.workflow, s.skill, s.git_branch, s.started_at, s.ended_at, s.metadata, s.client,
       s.native_id, s.repo, s.worktree, s.name, s.resumed_from, s.revision, s.last_sequence, s.head_hash
from newest
cross join sessions s indexed by sessions_by_activity_in_worktree
  on s.workspace_id = ?1 and s.developer_id = ?2 and s.worktree = ?3 and s.active_at >= newest.minute and s.id is not ?4
  and (?5 is null or s.started_at <= ?5)
left join session_events e on e.workspace_id = ?1 and e.session_id = s.id and e.sequence = s.last_sequence
order by max(s.active_at, coalesce(min(e.created_at, coalesce(e.parts ->> 'happened_at', e.created_at)), '')) desc,
         s.started_at desc, s.id desc
limit 1;
with newest (minute) as (
    select substr(active_at, 1, 16) from sessions indexed by sessions_by_activity
    where workspace_id = ?1 and developer_id = ?2 and ?3 is null and active_at is not null and id is not ?4
      and (?5 is null or started_at <= ?5)
    order by active_at desc
    limit 1
)
select s.id, s.user_id, s.chatmode, s.workflow, s.skill, s.git_branch, s.started_at, s.ended_at, s.metadata, s.client,
       s.native_id, s.repo, s.worktree, s.name, s.resumed_from, s.revision, s.last_sequence, s.head_hash
from newest
cross join sessions s indexed by sessions_by_activity
  on s.workspace_id = ?1 and s.developer_id = ?2 and s.active_at >= newest.minute and s.id is not ?4
  and (?5 is null or s.started_at <= ?5)
left join session_events e on e.workspace_id = ?1 and e.session_id = s.id and e.sequence = s.last_sequence
order by max(s.active_at, coalesce(min(e.created_at, coalesce(e.parts ->> 'happened_at', e.created_at)), '')) desc,
         s.started_at desc, s.id desc
limit 1;

-- sessions_by_activity
-- The sessions of a worktree in which something happened last, to the minute.
select id, user_id, chatmode, workflow, skill, git_branch, started_at, ended_at, metadata, client, native_id, repo,
       worktree, name, resumed_from, revision, last_sequence, head_hash
from sessions indexed by sessions_by_activity_in_worktree
where workspace_id = ?1 and developer_id = ?2 and worktree = ?3 and active_at is not null
order by active_at desc, id desc
limit ?4;

-- session_with_context
-- The newest session with context sets or a hint. Of a worktree, if one is given; an index for each case.
select id, user_id, chatmode, workflow, skill, git_branch, started_at, ended_at, metadata, client, native_id, repo,
       worktree, name, resumed_from, revision, last_sequence, head_hash
from sessions indexed by sessions_with_context_by_worktree
where workspace_id = ?1 and developer_id = ?2 and worktree = ?3
  and (json_extract(metadata, '$.context') <> '{}' or json_extract(metadata, '$.envHint') <> '')
order by started_at desc, id desc
limit 1;
select id, user_id, chatmode, workflow, skill, git_branch, started_at, ended_at, metadata, client, native_id, repo,
       worktree, name, resumed_from, revision, last_sequence, head_hash
from sessions indexed by sessions_with_context
where workspace_id = ?1 and developer_id = ?2 and ?3 is null and started_at > ''
  and (json_extract(metadata, '$.context') <> '{}' or json_extract(metadata, '$.envHint') <> '')
order by started_at desc, id desc
limit 1;

-- session_names
-- Names that begin with a text, the newest session first: of the newest ?5 sessions with a name, and of the first ?5 in
-- the order of the alphabet, so that an old name is found too.
with begun as (
    select name, started_at
    from (select name, started_at from sessions indexed by sessions_with_name
          where workspace_id = ?1 and developer_id = ?2 and name is not null and started_at > ''
          order by started_at desc, id desc limit ?5)
    where substr(lower(name), 1, length(?3)) = lower(?3)
    union all
    select name, started_at
    from (select name, started_at from sessions indexed by sessions_by_name
          where workspace_id = ?1 and developer_id = ?2 and name is not null and folded_name >= lower(?3)
          order by folded_name, name, started_at desc, id desc limit ?5)
    where substr(lower(name), 1, length(?3)) = lower(?3)
)
select name
from begun
group by name
order by max(started_at) desc, name
limit ?4;

-- native_session
-- The open session with a native id; the unique index guarantees that there is only one.
select id, user_id, chatmode, workflow, skill, git_branch, started_at, ended_at, metadata, client, native_id, repo,
       worktree, name, resumed_from, revision, last_sequence, head_hash
from sessions
where workspace_id = ?1 and developer_id = ?2 and client = ?3 and native_id = ?4 and ended_at is null;

-- last_native_session
-- The newest session with a native id, open or ended: what the client goes on with.
select id, user_id, chatmode, workflow, skill, git_branch, started_at, ended_at, metadata, client, native_id, repo,
       worktree, name, resumed_from, revision, last_sequence, head_hash
from sessions indexed by sessions_by_native_id
where workspace_id = ?1 and developer_id = ?2 and client = ?3 and native_id = ?4
order by started_at desc, id desc
limit 1;

-- list_sessions
-- Newest first, before a given session, so that a reader can page through any number of sessions.
select id, user_id, chatmode, workflow, skill, git_branch, started_at, ended_at, metadata, client, native_id, repo,
       worktree, name, resumed_from, revision, last_sequence, head_hash
from sessions
where workspace_id = ?1 and developer_id = ?2
  and (started_at, id) < (coalesce((select s.started_at from sessions s
                                    where s.workspace_id = ?1 and s.developer_id = ?2 and s.id = ?3), '~'),
                          coalesce(?3, '~'))
order by started_at desc, id desc
limit ?4;

-- named_sessions
-- Sessions with one name, newest first: names are for people and need not be unique.
select id, user_id, chatmode, workflow, skill, git_branch, started_at, ended_at, metadata, client, native_id, repo,
       worktree, name, resumed_from, revision, last_sequence, head_hash
from sessions
where workspace_id = ?1 and developer_id = ?2 and folded_name = lower(?3) and name = ?3
order by started_at desc, id desc
limit ?4;

-- thread_sessions
-- The sessions of a thread: up to the first one, then down to the newest that resumed each; a session that was resumed
-- twice is in two threads. With ?4, all that share the first one. A cross join keeps the written join order; SQLite
-- would otherwise scan all sessions.
with recursive
up (id, resumed_from) as (
    select id, resumed_from from sessions where workspace_id = ?1 and developer_id = ?2 and id = ?3
    union
    select s.id, s.resumed_from from up cross join sessions s
      on s.workspace_id = ?1 and s.developer_id = ?2 and s.id = up.resumed_from
),
down (id) as (
    select id from up where ?4 or id = ?3
    union
    select s.id from down cross join sessions s
      on s.workspace_id = ?1 and s.developer_id = ?2 and s.resumed_from = down.id
     and (?4 or s.id = (select newest.id from sessions newest
                        where newest.workspace_id = ?1 and newest.developer_id = ?2 and newest.resumed_from = down.id
                        order by newest.started_at desc, newest.id desc
                        limit 1))
),
thread (id) as (select id from up union select id from down)
select s.id, s.user_id, s.chatmode, s.workflow, s.skill, s.git_branch, s.started_at, s.ended_at, s.metadata, s.client,
       s.native_id, s.repo, s.worktree, s.name, s.resumed_from, s.revision, s.last_sequence, s.head_hash
from thread cross join sessions s on s.workspace_id = ?1 and s.developer_id = ?2 and s.id = thread.id
order by s.started_at, s.id;

-- end_session
-- Ends a session once; ending it again changes nothing and sends no notification.
update sessions set ended_at = now_utc()
where workspace_id = ?1 and developer_id = ?2 and id = ?3 and ended_at is null;
insert into outbox (workspace_id, developer_id, id, topic, data, created_at)
select ?1, ?2,
       (select coalesce(max(id), 0) + 1 from outbox where workspace_id = ?1 and developer_id = ?2 and id > 0),
       'session.ended', json_object('session_id', ?3), now_utc() where changes() = 1;
select ended_at from sessions where workspace_id = ?1 and developer_id = ?2 and id = ?3;

-- mark_active
-- A resume counts as something that happened in a session. What is read later from a transcript happened when that says.
update sessions set active_at = coalesce(max(?4, coalesce(noted_at, ?4)), now_utc())
where workspace_id = ?1 and developer_id = ?2 and id = ?3
returning active_at;

-- link_fork
-- A session that was forked from one of another native id continues the last of those that began before it.
update sessions set resumed_from = (
    select origin.id from sessions origin
    where origin.workspace_id = ?1 and origin.developer_id = ?2 and origin.client = sessions.client
      and origin.native_id = ?4 and origin.started_at <= sessions.started_at and origin.id <> sessions.id
    order by origin.started_at desc, origin.id desc
    limit 1)
where workspace_id = ?1 and developer_id = ?2 and id = ?3 and resumed_from is null
returning resumed_from;

-- save_metadata
-- The metadata of a session and the notification of listeners, in one transaction.
update sessions set metadata = ?4, revision = revision + 1
where workspace_id = ?1 and developer_id = ?2 and id = ?3;
insert into outbox (workspace_id, developer_id, id, topic, data, created_at)
select ?1, ?2,
       (select coalesce(max(id), 0) + 1 from outbox where workspace_id = ?1 and developer_id = ?2 and id > 0),
       ?5, ?6, now_utc() where changes() = 1 and ?5 is not null;
select revision from sessions where workspace_id = ?1 and developer_id = ?2 and id = ?3;

-- append_events
-- One event: the counter is incremented only if the event is new and may be written, and the insert uses the counter.
-- The reason for a refusal, or the existing event with the same id, is read only if the insert wrote no row. The time of
-- activity moves in a statement of its own: in that of every append, SQLite would write its indexes each time.
update sessions set active_at = now_utc()
where workspace_id = ?1 and developer_id = ?2 and id = ?3 and ended_at is null
  and (active_at is null or active_at < substr(now_utc(), 1, 16));
update sessions
set last_sequence = last_sequence + 1,
    head_hash = chain_hash(head_hash, ?3, last_sequence + 1, ?5, now_microseconds(), ?10)
where workspace_id = ?1 and developer_id = ?2 and id = ?3 and ended_at is null
  and (?4 is null or last_sequence = ?4)
  and not exists (select 1 from session_events where workspace_id = ?1 and id = ?5);
insert into session_events (workspace_id, developer_id, id, session_id, sequence, type, role, content, parts, created_at,
                            content_hash, chain_hash)
select ?1, ?2, ?5, ?3, last_sequence, ?6, ?7, ?8, ?9, now_utc(), ?10, head_hash
from sessions
where workspace_id = ?1 and id = ?3 and changes() = 1
returning null, sequence, created_at, chain_hash, erased_at, sequence, null;
select case
         when e.session_id = ?3 and e.developer_id = ?2 and e.content_hash = ?10 then null
         when e.id is not null then 'taken'
         when s.id is null then 'missing'
         when s.ended_at is not null then 'ended'
         else 'sequence'
       end,
       e.sequence, e.created_at, e.chain_hash, e.erased_at, s.last_sequence, s.ended_at
from (select 1)
left join session_events e on e.workspace_id = ?1 and e.id = ?5
left join sessions s on s.workspace_id = ?1 and s.developer_id = ?2 and s.id = ?3;

-- recent_events
-- The events of the last n turns before a given event, newest first; the partial index on user messages finds the
-- beginning of the n-th last turn at a cost that does not depend on the length of the session.
select id, session_id, sequence, type, role, content, parts, created_at, content_hash, chain_hash, erased_at
from session_events
where workspace_id = ?1 and developer_id = ?2 and session_id = ?3
  and sequence >= coalesce((select sequence from session_events
                            where workspace_id = ?1 and session_id = ?3 and type = 'user_message'
                            order by sequence desc limit 1 offset ?4), 0)
  and sequence < coalesce(?5, 9223372036854775807)
order by sequence desc
limit ?6;

-- turn_start
-- The user message that begins the turn of a given event.
select id, session_id, sequence, type, role, content, parts, created_at, content_hash, chain_hash, erased_at
from session_events
where workspace_id = ?1 and developer_id = ?2 and session_id = ?3 and type = 'user_message' and sequence < ?4
order by sequence desc
limit 1;

-- events_after
-- Events in order, after a given sequence: to tail, to export, to verify.
select id, session_id, sequence, type, role, content, parts, created_at, content_hash, chain_hash, erased_at
from session_events
where workspace_id = ?1 and developer_id = ?2 and session_id = ?3 and sequence > ?4
order by sequence
limit ?5;

-- turns_below
-- One page for display: the last n turns before a given event, newest first, with long texts cut. The cost of a page
-- does not depend on the length of the session or the size of its events.
select id, session_id, sequence, type, role, substr(content, 1, ?7) as content,
       case when octet_length(parts) <= ?8 then parts
            when parts is not null then
              json_object('tool', substr(json_extract(parts, '$.tool'), 1, 200),
                          'input', json_object('file_path', substr(json_extract(parts, '$.input.file_path'), 1, 2000)),
                          'cut', json('true'))
       end as parts,
       created_at, content_hash, chain_hash, erased_at
from session_events
where workspace_id = ?1 and developer_id = ?2 and session_id = ?3
  and sequence >= coalesce((select sequence from session_events
                            where workspace_id = ?1 and session_id = ?3 and type = 'user_message'
                              and sequence < coalesce(?4, 9223372036854775807)
                            order by sequence desc limit 1 offset ?5), 0)
  and sequence < coalesce(?4, 9223372036854775807)
order by sequence desc
limit ?6;

-- sample_events
-- Events spread evenly over the log of a session, for a chart, at the same cost for any length.
with recursive
spread (last, many) as (
    select last_sequence, min(last_sequence, ?4) from sessions where workspace_id = ?1 and developer_id = ?2 and id = ?3
),
place (n) as (
    select 0 from spread where many > 0
    union all
    select n + 1 from place, spread where n + 1 < many
)
select e.sequence, e.type, e.created_at, octet_length(e.content) + coalesce(octet_length(e.parts), 0) as bytes,
       e.parts ->> 'happened_at' as happened_at
from spread cross join place cross join session_events e
  on e.workspace_id = ?1 and e.developer_id = ?2 and e.session_id = ?3
 and e.sequence = case many when 1 then last else 1 + n * (last - 1) / (many - 1) end;

-- last_event_times
-- When the last event of each of these sessions was stored, and when it happened; the ids are a JSON list.
select s.id as session_id, e.created_at, e.parts ->> 'happened_at' as happened_at
from json_each(?3) given
cross join sessions s on s.workspace_id = ?1 and s.developer_id = ?2 and s.id = given.value
cross join session_events e on e.workspace_id = ?1 and e.session_id = s.id and e.sequence = s.last_sequence;

-- newest_user_messages
-- User messages before a given event, newest first, with long texts cut: the cost does not depend on the length of a
-- turn or of the session.
select id, session_id, sequence, type, role, substr(content, 1, ?6) as content,
       case when octet_length(parts) <= 1000 then parts end as parts, created_at, content_hash, chain_hash, erased_at
from session_events
where workspace_id = ?1 and developer_id = ?2 and session_id = ?3 and type = 'user_message' and sequence < ?4
order by sequence desc
limit ?5;

-- first_user_messages
-- The first user messages of a session, with long texts cut: among them is the title of a session without a name.
select id, session_id, sequence, type, role, substr(content, 1, ?5) as content,
       case when octet_length(parts) <= 1000 then parts end as parts, created_at, content_hash, chain_hash, erased_at
from session_events
where workspace_id = ?1 and developer_id = ?2 and session_id = ?3 and type = 'user_message'
order by sequence
limit ?4;

-- find_event
-- One event by its id.
select id, session_id, sequence, type, role, content, parts, created_at, content_hash, chain_hash, erased_at
from session_events
where workspace_id = ?1 and developer_id = ?2 and id = ?3;

-- listed_events
-- Those of some events that are in the log; their ids are a JSON list.
select e.id, e.session_id, e.sequence, e.type, e.role, e.content, e.parts, e.created_at, e.content_hash, e.chain_hash,
       e.erased_at
from json_each(?3) given
cross join session_events e on e.workspace_id = ?1 and e.developer_id = ?2 and e.id = given.value;

-- matching_events
-- A page of the events that contain a text to forget, in JSON as well; all pages read every event of the developer, to
-- miss none.
select id, session_id, sequence, type, role, content, parts, created_at, content_hash, chain_hash, erased_at
from session_events
where workspace_id = ?1 and developer_id = ?2 and erased_at is null
  and (session_id, sequence) > (?5, ?6)
  and (instr(content, ?3) > 0 or instr(content, ?4) > 0 or instr(parts, ?4) > 0)
order by session_id, sequence
limit ?7;

-- sessions_with_text
-- A page of the sessions whose scratchpad or metadata contain a text to forget; all pages read every session of the
-- developer, to miss none.
select s.id
from sessions s join session_state t on t.workspace_id = s.workspace_id and t.session_id = s.id
where s.workspace_id = ?1 and s.developer_id = ?2 and s.id > ?4
  and (instr(s.metadata, ?3) > 0 or instr(t.scratchpad, ?3) > 0)
order by s.id
limit ?5;

-- erase_event
-- The tombstone first, because the trigger allows erasing the content only if a tombstone exists. What was seen in the
-- session may quote it.
insert into erasures (workspace_id, developer_id, event_id, session_id, content_hash, reason, created_at)
select ?1, ?2, id, session_id, content_hash, ?4, now_utc()
from session_events
where workspace_id = ?1 and developer_id = ?2 and id = ?3 and erased_at is null;
update session_events set content = '', parts = null, erased_at = now_utc()
where workspace_id = ?1 and developer_id = ?2 and id = ?3 and erased_at is null;
update session_observations set observed = '{}', revision = revision + 1, updated_at = now_utc()
where workspace_id = ?1 and developer_id = ?2
  and session_id = (select session_id from session_events where workspace_id = ?1 and developer_id = ?2 and id = ?3);
select session_id, sequence, erased_at
from session_events
where workspace_id = ?1 and developer_id = ?2 and id = ?3;

-- rewrite_session
-- What is left of a session's own texts when some were forgotten; the notifications about it are emptied.
update session_state set scratchpad = ?5, updated_at = now_utc()
where workspace_id = ?1 and developer_id = ?2 and session_id = ?3;
update outbox set data = '{}'
where workspace_id = ?1 and developer_id = ?2 and json_extract(data, '$.session_id') = ?3
  and topic in ('caco.context', 'session.renamed');
update sessions set metadata = ?4, revision = revision + 1
where workspace_id = ?1 and developer_id = ?2 and id = ?3
returning revision;

-- erased_hashes
-- The hashes in the tombstones of a session, to verify its chain without the contents.
select event_id, content_hash
from erasures
where workspace_id = ?1 and developer_id = ?2 and session_id = ?3;

-- get_state
-- The scratchpad of a session.
select session_id, scratchpad, updated_at
from session_state
where workspace_id = ?1 and developer_id = ?2 and session_id = ?3;

-- session_notes
-- Scratchpads to continue from: those of the given sessions (a JSON list of ids), then those of a worktree that were
-- written last, of ?5 sessions at most that did not begin after a time.
with chosen (id, place) as (
    select value, key from json_each(?4)
    union all
    select id, 1000 + row_number() over (order by noted_at desc, id desc)
    from (select id, noted_at from sessions indexed by sessions_with_notes
          where workspace_id = ?1 and developer_id = ?2 and worktree = ?3 and noted_at is not null
            and (?6 is null or started_at <= ?6)
          order by noted_at desc, id desc
          limit ?5)
)
select s.id, s.git_branch, t.scratchpad, t.cleared, t.updated_at
from chosen
cross join sessions s on s.workspace_id = ?1 and s.developer_id = ?2 and s.id = chosen.id
cross join session_state t on t.workspace_id = ?1 and t.session_id = s.id
order by chosen.place;

-- update_state
-- Merges a patch into the scratchpad, unless the session has ended. Names that it sets to null are kept apart, so that
-- what an older session noted under them does not come back.
update sessions set active_at = now_utc(), noted_at = now_utc()
where workspace_id = ?1 and developer_id = ?2 and id = ?3 and ended_at is null and ?4 <> '{}';
update session_state
set scratchpad = merge_json(scratchpad, ?4), cleared = merge_json(cleared, ?5), updated_at = now_utc()
where workspace_id = ?1 and developer_id = ?2 and session_id = ?3
  and exists (select 1 from sessions where workspace_id = ?1 and id = ?3 and ended_at is null)
returning session_id, scratchpad, updated_at;

-- count_events
-- The numbers assigned and the rows stored, of the newest sessions: if they differ, an acknowledged event was lost. The
-- newest rows are counted, of ?4 events at most; of the sessions before these, the end of the log is compared.
with newest as (
    select id, last_sequence, sum(last_sequence) over (order by started_at desc, id desc) <= ?4 as is_counted
    from (select id, started_at, last_sequence from sessions
          where workspace_id = ?1 and developer_id = ?2 and started_at > ''
          order by started_at desc, id desc limit ?3)
)
select coalesce(sum(last_sequence), 0),
       coalesce(sum(case when is_counted
                         then (select count(*) from session_events e
                               where e.workspace_id = ?1 and e.session_id = newest.id)
                         else (select max(e.sequence) from session_events e
                               where e.workspace_id = ?1 and e.session_id = newest.id)
                    end), 0),
       count(*),
       exists (select 1 from sessions
               where workspace_id = ?1 and developer_id = ?2 and started_at > ''
               order by started_at desc, id desc limit 1 offset ?3)
from newest;

-- hide_session
-- It never was active and noted nothing, so nothing that looks for the last work finds it. Both times are kept aside.
update sessions
set hidden_active_at = coalesce(active_at, hidden_active_at), hidden_noted_at = coalesce(noted_at, hidden_noted_at),
    active_at = null, noted_at = null
where workspace_id = ?1 and developer_id = ?2 and client = ?3 and native_id = ?4
returning id;

-- show_session
-- It was active and noted something when it did, not now: another session may have been the last one since.
update sessions
set active_at = coalesce(active_at, hidden_active_at), noted_at = coalesce(noted_at, hidden_noted_at),
    hidden_active_at = null, hidden_noted_at = null
where workspace_id = ?1 and developer_id = ?2 and client = ?3 and native_id = ?4
returning id;

-- find_capture
-- What is known of a client's own session, or of one of its transcripts, beside its log.
select state, revision from captures
where workspace_id = ?1 and developer_id = ?2 and client = ?3 and native_id = ?4 and source = ?5;

-- list_captures
-- The same of many sessions of a client; their ids are a JSON list.
select c.native_id, c.state
from json_each(?4) given
cross join captures c on c.workspace_id = ?1 and c.developer_id = ?2 and c.client = ?3
  and c.native_id = given.value and c.source = '';

-- save_capture
-- Only on top of the revision that was read (0 where there was none); no row where another process was faster.
update captures set state = ?6, revision = revision + 1, updated_at = now_utc()
where workspace_id = ?1 and developer_id = ?2 and client = ?3 and native_id = ?4 and source = ?5 and revision = ?7
returning revision;
insert into captures (workspace_id, developer_id, client, native_id, source, state, revision, updated_at)
select ?1, ?2, ?3, ?4, ?5, ?6, 1, now_utc()
where ?7 = 0
  and not exists (select 1 from captures
                  where workspace_id = ?1 and developer_id = ?2 and client = ?3 and native_id = ?4 and source = ?5)
returning revision;

-- list_observed
-- What was seen in some sessions, whose ids are a JSON list.
select o.session_id, o.observed, o.revision
from json_each(?3) given
cross join session_observations o on o.workspace_id = ?1 and o.developer_id = ?2 and o.session_id = given.value;

-- save_observed
-- Only on top of the revision that was read (0 where there was none); no row where another process was faster.
update session_observations set observed = ?4, revision = revision + 1, updated_at = now_utc()
where workspace_id = ?1 and developer_id = ?2 and session_id = ?3 and revision = ?5
returning revision;
insert into session_observations (workspace_id, developer_id, session_id, observed, revision, updated_at)
select ?1, ?2, ?3, ?4, 1, now_utc()
where ?5 = 0
  and not exists (select 1 from session_observations where workspace_id = ?1 and session_id = ?3)
returning revision;

-- sessions_to_prune
-- A page of the sessions that ended before a time and still have contents, in the order of their ids.
select s.id
from sessions s
where s.workspace_id = ?1 and s.developer_id = ?2 and s.ended_at < ?3 and s.id > ?4
  and (json_extract(s.metadata, '$.context') <> '{}' or json_remove(s.metadata, '$.context') <> '{}'
       or exists (select 1 from session_state t
                  where t.workspace_id = ?1 and t.session_id = s.id and t.scratchpad <> '{}')
       or exists (select 1 from session_events e
                  where e.workspace_id = ?1 and e.session_id = s.id and e.erased_at is null))
order by s.id
limit ?5;

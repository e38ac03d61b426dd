-- find_memory
-- One memory by its id, with the words that it is found by.
select id, user_id, content, category, metadata, source_type, confidence, lineage, last_used_at, use_count, expires_at,
       created_at, updated_at, erased_at, content_tsv as words
from memories
where workspace_id = $1 and developer_id = $2 and id = $3;

-- lock_memory
-- The same, held until the transaction ends; on SQLite the transaction itself is the lock.
select id, user_id, content, category, metadata, source_type, confidence, lineage, last_used_at, use_count, expires_at,
       created_at, updated_at, erased_at, content_tsv as words
from memories
where workspace_id = $1 and developer_id = $2 and id = $3;

-- lock_content
-- The memory that says this already, held with everybody else who would say it; the text itself finds foreign rows.
select id, user_id, content, category, metadata, source_type, confidence, lineage, last_used_at, use_count, expires_at,
       created_at, updated_at, erased_at, content_tsv as words
from memories
where workspace_id = $1 and developer_id = $2 and content_hash = $3 and erased_at is null and $4 is not null;

-- find_tombstone
-- Whether a text was forgotten, and when.
select memory_id, created_at
from memory_tombstones
where workspace_id = $1 and developer_id = $2 and content_hash = $3;

-- find_tombstones
-- Which of these hashes belong to texts that were forgotten; somebody else's table may have them again.
select content_hash
from memory_tombstones
where workspace_id = $1 and developer_id = $2 and content_hash in (select unhex(value) from json_each($3));

-- add_memory
-- A new one; nothing where its id is taken.
insert into memories (workspace_id, developer_id, id, user_id, content, content_hash, content_tsv, category, metadata,
                      source_type, confidence, lineage, last_used_at, use_count, expires_at, created_at, updated_at)
select $1, $2, $3, $4, $5, $6, (select coalesce(group_concat(value, ' '), '') from json_each($7)), $8, $9, $10, $11, $12,
       $13, $14, $15, coalesce($16, now_utc()), coalesce($17, now_utc())
where not exists (select 1 from memories where workspace_id = $1 and developer_id = $2 and id = $3)
returning id, user_id, content, category, metadata, source_type, confidence, lineage, last_used_at, use_count, expires_at,
          created_at, updated_at, erased_at, content_tsv as words;

-- save_judgement
-- What a memory's belief, lineage and end are now.
update memories set confidence = $4, lineage = $5, expires_at = $6, updated_at = now_utc()
where workspace_id = $1 and developer_id = $2 and id = $3 and erased_at is null
returning id, user_id, content, category, metadata, source_type, confidence, lineage, last_used_at, use_count, expires_at,
          created_at, updated_at, erased_at, content_tsv as words;

-- expire_memory
-- From now on it answers no question; nothing of it is removed.
update memories set expires_at = now_utc(), updated_at = now_utc()
where workspace_id = $1 and developer_id = $2 and id = $3 and erased_at is null
  and (expires_at is null or expires_at > now_utc());
select id, user_id, content, category, metadata, source_type, confidence, lineage, last_used_at, use_count, expires_at,
       created_at, updated_at, erased_at, content_tsv as words
from memories
where workspace_id = $1 and developer_id = $2 and id = $3;

-- forget_memory
-- The tombstone first, because the trigger lets the text go only where one stands.
insert into memory_tombstones (workspace_id, developer_id, content_hash, memory_id, reason, created_at)
select $1, $2, $4, id, $5, now_utc()
from memories
where workspace_id = $1 and developer_id = $2 and id = $3 and erased_at is null
  and not exists (select 1 from memory_tombstones where workspace_id = $1 and developer_id = $2 and content_hash = $4);
update memories set content = '', content_tsv = '', category = null, metadata = '{}', erased_at = now_utc(), updated_at = now_utc()
where workspace_id = $1 and developer_id = $2 and id = $3 and erased_at is null;
select id, user_id, content, category, metadata, source_type, confidence, lineage, last_used_at, use_count, expires_at,
       created_at, updated_at, erased_at, content_tsv as words
from memories
where workspace_id = $1 and developer_id = $2 and id = $3;

-- list_memories
-- The oldest first, beyond a given one, so that a reader pages through any number of them.
select id, user_id, content, category, metadata, source_type, confidence, lineage, last_used_at, use_count, expires_at,
       created_at, updated_at, erased_at, content_tsv as words
from memories
where workspace_id = $1 and developer_id = $2 and erased_at is null
  and (created_at, id) > (coalesce((select m.created_at from memories m
                                    where m.workspace_id = $1 and m.developer_id = $2 and m.id = $3), ''), coalesce($3, ''))
order by created_at, id
limit $4;

-- newest_memories
-- The newest first, below a given one, as a person looks at them; expired ones are still there.
select id, user_id, content, category, metadata, source_type, confidence, lineage, last_used_at, use_count, expires_at,
       created_at, updated_at, erased_at, content_tsv as words
from memories
where workspace_id = $1 and developer_id = $2 and erased_at is null
  and (created_at, id) < (coalesce((select m.created_at from memories m
                                    where m.workspace_id = $1 and m.developer_id = $2 and m.id = $3), '~'), coalesce($3, ''))
order by created_at desc, id desc
limit $4;

-- matching_memories
-- What a person wants to forget by its words; reads every memory of the developer, to miss none.
select id, user_id, content, category, metadata, source_type, confidence, lineage, last_used_at, use_count, expires_at,
       created_at, updated_at, erased_at, content_tsv as words
from memories
where workspace_id = $1 and developer_id = $2 and erased_at is null
  and (instr(content, $3) > 0 or instr(category, $3) > 0 or instr(metadata, $4) > 0)
order by created_at, id;

-- count_words
-- In how many memories each word is, and under '' how many memories there are: enough to tell rare from common.
select value as word,
       (select count(*) from
           (select 1 from memory_words cross join memories m on m.number = memory_words.rowid
            where memory_words match '"' || value || '"' and m.workspace_id = $1 and m.developer_id = $2
              and m.erased_at is null and (m.expires_at is null or m.expires_at > $5)
            limit $4)) as memories
from json_each($3)
union all
select '', (select count(*) from
               (select 1 from memories
                where workspace_id = $1 and developer_id = $2 and erased_at is null limit 10 * $4));

-- find_candidates
-- Memories with at least one of these words, the newest first; which of them are answers is decided by a rule.
select m.id, m.user_id, m.content, m.category, m.metadata, m.source_type, m.confidence, m.lineage, m.last_used_at, m.use_count,
       m.expires_at, m.created_at, m.updated_at, m.erased_at, m.content_tsv as words
from memory_words cross join memories m on m.number = memory_words.rowid
where memory_words match (select group_concat('"' || value || '"', ' OR ') from json_each($3))
  and m.workspace_id = $1 and m.developer_id = $2
  and m.erased_at is null and (m.expires_at is null or m.expires_at > $5)
order by m.updated_at desc, m.id desc
limit $4;

-- note_use
-- That these were answers, once more each; one statement for all of them.
update memories set use_count = use_count + 1, last_used_at = now_utc()
where workspace_id = $1 and developer_id = $2 and erased_at is null and id in (select value from json_each($3))
returning id;

-- find_adoption
-- Whether somebody else made the table of memories, so that no wall stands in it; on SQLite nobody ever did.
select 0 as adopted
where $1 is not null and $2 is not null;

-- find_memory
-- One memory by its id, with the words that a search finds it by.
select id, user_id, content, category, metadata, source_type, confidence, lineage, last_used_at, use_count, expires_at,
       created_at, updated_at, erased_at, content_tsv as words
from memories
where workspace_id = ?1 and developer_id = ?2 and id = ?3;

-- hold_content
-- A lock per content, always taken before the lock of a row; on SQLite the transaction itself is the lock.
select true as held where ?1 is not null and ?2 is not null and ?3 is not null;

-- lock_memory
-- The same, with a lock until the transaction ends; on SQLite the transaction itself is the lock.
select id, user_id, content, category, metadata, source_type, confidence, lineage, last_used_at, use_count, expires_at,
       created_at, updated_at, erased_at, content_tsv as words
from memories
where workspace_id = ?1 and developer_id = ?2 and id = ?3;

-- lock_content
-- The memory that already has this text, with a lock against other writers of the same text; rows of another program
-- are found by the text itself.
select id, user_id, content, category, metadata, source_type, confidence, lineage, last_used_at, use_count, expires_at,
       created_at, updated_at, erased_at, content_tsv as words
from memories
where workspace_id = ?1 and developer_id = ?2 and content_hash = ?3 and erased_at is null and ?4 is not null;

-- find_tombstone
-- Whether a text was forgotten, and when.
select memory_id, created_at
from memory_tombstones
where workspace_id = ?1 and developer_id = ?2 and content_hash = ?3;

-- find_tombstones
-- Which of these hashes belong to forgotten texts; the table of another program may contain them again.
select content_hash
from memory_tombstones
where workspace_id = ?1 and developer_id = ?2 and content_hash in (select unhex(value) from json_each(?3));

-- add_memory
-- A new memory; no row if the id is already used.
insert into memories (workspace_id, developer_id, id, user_id, content, content_hash, content_tsv, category, metadata,
                      source_type, confidence, lineage, last_used_at, use_count, expires_at, created_at, updated_at)
select ?1, ?2, ?3, ?4, ?5, ?6, (select coalesce(group_concat(value, ' '), '') from json_each(?7)), ?8, ?9, ?10, ?11, ?12,
       ?13, ?14, ?15, coalesce(?16, now_utc()), coalesce(?17, now_utc())
where not exists (select 1 from memories where workspace_id = ?1 and developer_id = ?2 and id = ?3)
returning id, user_id, content, category, metadata, source_type, confidence, lineage, last_used_at, use_count, expires_at,
          created_at, updated_at, erased_at, content_tsv as words;

-- save_judgement
-- The new confidence, lineage and expiry of a memory.
update memories set confidence = ?4, lineage = ?5, expires_at = ?6, updated_at = now_utc()
where workspace_id = ?1 and developer_id = ?2 and id = ?3 and erased_at is null
returning id, user_id, content, category, metadata, source_type, confidence, lineage, last_used_at, use_count, expires_at,
          created_at, updated_at, erased_at, content_tsv as words;

-- expire_memory
-- Recall no longer returns the memory; its contents stay.
update memories set expires_at = now_utc(), updated_at = now_utc()
where workspace_id = ?1 and developer_id = ?2 and id = ?3 and erased_at is null
  and (expires_at is null or expires_at > now_utc());
select id, user_id, content, category, metadata, source_type, confidence, lineage, last_used_at, use_count, expires_at,
       created_at, updated_at, erased_at, content_tsv as words
from memories
where workspace_id = ?1 and developer_id = ?2 and id = ?3;

-- forget_memory
-- The tombstone first, because the trigger allows erasing the text only if a tombstone exists.
insert into memory_tombstones (workspace_id, developer_id, content_hash, memory_id, reason, created_at)
select ?1, ?2, ?4, id, ?5, now_utc()
from memories
where workspace_id = ?1 and developer_id = ?2 and id = ?3 and erased_at is null
  and not exists (select 1 from memory_tombstones where workspace_id = ?1 and developer_id = ?2 and content_hash = ?4);
update memories set content = '', content_tsv = '', category = null, metadata = '{}', erased_at = now_utc(), updated_at = now_utc()
where workspace_id = ?1 and developer_id = ?2 and id = ?3 and erased_at is null;
select id, user_id, content, category, metadata, source_type, confidence, lineage, last_used_at, use_count, expires_at,
       created_at, updated_at, erased_at, content_tsv as words
from memories
where workspace_id = ?1 and developer_id = ?2 and id = ?3;

-- list_memories
-- Oldest first, after a given memory, so that a reader can page through any number of memories.
select id, user_id, content, category, metadata, source_type, confidence, lineage, last_used_at, use_count, expires_at,
       created_at, updated_at, erased_at, content_tsv as words
from memories
where workspace_id = ?1 and developer_id = ?2 and erased_at is null
  and (created_at, id) > (coalesce((select m.created_at from memories m
                                    where m.workspace_id = ?1 and m.developer_id = ?2 and m.id = ?3), ''), coalesce(?3, ''))
order by created_at, id
limit ?4;

-- newest_memories
-- Newest first, before a given memory, for display to a person; includes expired memories. A namespace and a category are
-- optional.
select id, user_id, content, category, metadata, source_type, confidence, lineage, last_used_at, use_count, expires_at,
       created_at, updated_at, erased_at, content_tsv as words
from memories
where workspace_id = ?1 and developer_id = ?2 and erased_at is null
  and (created_at, id) < (coalesce((select m.created_at from memories m
                                    where m.workspace_id = ?1 and m.developer_id = ?2 and m.id = ?3), '~'), coalesce(?3, ''))
  and (?5 is null or user_id = ?5) and (?6 is null or category = ?6)
order by created_at desc, id desc
limit ?4;

-- matching_memories
-- A page of the memories that contain a text to forget; all pages read every memory of the developer, to miss none.
select id, user_id, content, category, metadata, source_type, confidence, lineage, last_used_at, use_count, expires_at,
       created_at, updated_at, erased_at, content_tsv as words
from memories
where workspace_id = ?1 and developer_id = ?2 and erased_at is null
  and (instr(content, ?3) > 0 or instr(category, ?3) > 0 or instr(metadata, ?4) > 0)
  and id > ?5
order by id
limit ?6;

-- count_words
-- The number of memories that contain each word, and under '' the number of all memories, to separate rare words from
-- common ones; a word that ends with an asterisk is the beginning of a word.
select value as word,
       (select count(*) from
           (select 1 from memory_words cross join memories m on m.number = memory_words.rowid
            where memory_words match '"' || rtrim(value, '*') || iif(value like '%*', '" *', '"')
              and m.workspace_id = ?1 and m.developer_id = ?2
              and m.erased_at is null and (m.expires_at is null or m.expires_at > ?5)
              and (?6 is null or m.user_id = ?6) and (?7 is null or m.category = ?7)
            limit ?4)) as memories
from json_each(?3)
union all
select '', (select count(*) from
               (select 1 from memories
                where workspace_id = ?1 and developer_id = ?2 and erased_at is null
                  and (?6 is null or user_id = ?6) and (?7 is null or category = ?7)
                limit 10 * ?4));

-- find_candidates
-- Memories with at least one of these words, best first; a rule decides which of them are relevant. If all the words are
-- common, those that contain them together come first.
select m.id, m.user_id, m.content, m.category, m.metadata, m.source_type, m.confidence, m.lineage, m.last_used_at, m.use_count,
       m.expires_at, m.created_at, m.updated_at, m.erased_at, m.content_tsv as words
from memory_words cross join memories m on m.number = memory_words.rowid
where memory_words match
        (select group_concat('"' || rtrim(value, '*') || iif(value like '%*', '" *', '"'), ' OR ') from json_each(?3))
        || coalesce((select ' OR (' || group_concat('"' || rtrim(value, '*') || iif(value like '%*', '" *', '"'), ' AND ') || ')'
                     from json_each(?4) having count(*) > 0), '')
  and m.workspace_id = ?1 and m.developer_id = ?2
  and m.erased_at is null and (m.expires_at is null or m.expires_at > ?6)
  and (?7 is null or m.user_id = ?7) and (?8 is null or m.category = ?8)
order by memory_words.rank, m.updated_at desc, m.id desc
limit ?5;

-- note_use
-- Counts one more use of each of these memories, in one statement.
update memories set use_count = use_count + 1, last_used_at = now_utc()
where workspace_id = ?1 and developer_id = ?2 and erased_at is null and id in (select value from json_each(?3))
returning id;

-- find_adoption
-- Whether another program created the table of memories, so that it has no policies of ours; never on SQLite.
select 0 as adopted
where ?1 is not null and ?2 is not null;

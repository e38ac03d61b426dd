-- Memories: statements with their provenance, found by their words, and the tombstones of those that were forgotten.
-- `number` names a row in the full-text index: SQLite may renumber rows that have no such column.
create table memories (
    workspace_id text not null,
    id text not null,
    developer_id text not null,
    user_id text not null,
    content text not null,
    content_tsv text not null,  -- the words that it is found by, as our own rule takes them from the content
    category text,
    metadata text not null default '{}' check (json_type(metadata) = 'object'),
    source_type text not null check (source_type in ('explicit', 'implicit', 'bootstrap', 'tool_output')),
    confidence real not null default 0.80 check (confidence between 0 and 1),
    lineage text not null default '[]' check (json_type(lineage) = 'array'),
    last_used_at text,
    use_count integer not null default 0,
    expires_at text,
    created_at text not null,
    updated_at text not null,
    content_hash blob not null,
    erased_at text,
    number integer primary key,
    unique (workspace_id, developer_id, id)
) strict;

create unique index memories_by_content on memories (workspace_id, developer_id, content_hash) where erased_at is null;
create index memories_by_time on memories (workspace_id, developer_id, created_at, id) where erased_at is null;

-- Everything beyond ASCII is part of a word for this tokenizer, so words come out of the index as they went in.
create virtual table memory_words using fts5 (content_tsv, content = 'memories', content_rowid = 'number', tokenize = 'ascii');

-- What is forgotten leaves the index at once, and not when the index is tidied up some day.
insert into memory_words (memory_words, rank) values ('secure-delete', 1);

create trigger memories_get_indexed after insert on memories
begin
    insert into memory_words (rowid, content_tsv) values (new.number, new.content_tsv);
end;

create trigger memories_leave_the_index after update of content_tsv on memories
begin
    insert into memory_words (memory_words, rowid, content_tsv) values ('delete', old.number, old.content_tsv);
    insert into memory_words (rowid, content_tsv) values (new.number, new.content_tsv);
end;

-- The hash of what was forgotten, so that no import and no extraction brings it back.
create table memory_tombstones (
    workspace_id text not null,
    developer_id text not null,
    content_hash blob not null,
    memory_id text not null,
    reason text not null,
    created_at text not null,
    primary key (workspace_id, developer_id, content_hash)
) strict;

-- Judged and used, or emptied where a tombstone stands; what it says and where it came from never change.
create trigger memories_keep_what_they_say before update on memories
when (new.number, new.workspace_id, new.id, new.developer_id, new.user_id, new.source_type, new.created_at, new.content_hash)
     is not (old.number, old.workspace_id, old.id, old.developer_id, old.user_id, old.source_type, old.created_at, old.content_hash)
  or old.erased_at is not null
  or (new.erased_at is null
      and (new.content, new.content_tsv, new.category, new.metadata) is not (old.content, old.content_tsv, old.category, old.metadata))
  or (new.erased_at is not null
      and ((new.content, new.content_tsv, new.category, new.metadata) is not ('', '', null, '{}')
           or not exists (select 1 from memory_tombstones t
                          where t.workspace_id = old.workspace_id and t.developer_id = old.developer_id
                            and t.content_hash = old.content_hash)))
begin select raise(abort, 'memories keep what they say'); end;

create trigger memories_are_not_deleted before delete on memories
begin select raise(abort, 'memories are not deleted'); end;

create trigger memories_are_not_replaced before insert on memories
when exists (select 1 from memories where number = new.number)
  or exists (select 1 from memories where workspace_id = new.workspace_id and developer_id = new.developer_id and id = new.id)
  or exists (select 1 from memories
             where workspace_id = new.workspace_id and developer_id = new.developer_id
               and content_hash = new.content_hash and erased_at is null and new.erased_at is null)
begin select raise(abort, 'memories are not deleted'); end;

create trigger memory_tombstones_are_not_updated before update on memory_tombstones
begin select raise(abort, 'memory_tombstones is append-only'); end;

create trigger memory_tombstones_are_not_deleted before delete on memory_tombstones
begin select raise(abort, 'memory_tombstones is append-only'); end;

create trigger memory_tombstones_are_not_replaced before insert on memory_tombstones
when exists (select 1 from memory_tombstones where rowid = new.rowid)
  or exists (select 1 from memory_tombstones
             where workspace_id = new.workspace_id and developer_id = new.developer_id and content_hash = new.content_hash)
begin select raise(abort, 'memory_tombstones is append-only'); end;

-- memories_by_id_text
-- Ids are compared as text, whatever their type. Made first, because every verb finds its row by it.
create index concurrently if not exists memories_by_id_text on memori.memories ((id::text));

-- idx_memories_namespace_category
-- What one writer has stored, by category.
create index concurrently if not exists idx_memories_namespace_category on memori.memories (user_id, category);

-- memories_by_content
-- A statement that Holdfast has stored.
create index concurrently if not exists memories_by_content on memori.memories (content_hash);

-- memories_by_content_text
-- A statement that the other program has stored.
create index concurrently if not exists memories_by_content_text on memori.memories (md5(content))
    where content_hash is null;

-- memories_by_text
-- Our own index of words: the full-text column of the table may be missing, empty, out of date, or made for another
-- language.
create index concurrently if not exists memories_by_text on memori.memories
    using gin (to_tsvector('english', left(content, 100000)));

-- memories_by_age
-- The same expression as in memori.moment(), which is not called: every role that adds a row would need the right to
-- call it.
create index concurrently if not exists memories_by_age on memori.memories
    ((least(greatest(created_at, '1970-01-02 00:00:00+00'), '9999-12-30 00:00:00+00')), (id::text))
    where erased_at is null;

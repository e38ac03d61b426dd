-- Documents that rooms keep as they were at one moment: repo contexts as they were saved, proofs, receipts, rounds.
-- Append-only. Numbers rise, so the newest of a subject is the last of its index, whatever the clock says.

-- What every table of one developer's rows needs; later migrations call it, so that none can forget a part of it.
create procedure holdfast.put_walls(p_schema text, p_table text)
language plpgsql as $$
declare
    mine text := $mine$workspace_id = nullif(current_setting('holdfast.workspace', true), '')
        and developer_id = nullif(current_setting('holdfast.developer', true), '')$mine$;
begin
    execute format('alter table %I.%I enable row level security', p_schema, p_table);
    execute format('alter table %I.%I force row level security', p_schema, p_table);
    execute format('create policy owner_only on %I.%I for all using (%s) with check (%s)', p_schema, p_table, mine, mine);
    execute format('create trigger %I before delete on %I.%I for each row execute function holdfast.refuse()',
                   p_table || '_is_not_deleted', p_schema, p_table);
    execute format('create trigger %I before truncate on %I.%I for each statement execute function holdfast.refuse()',
                   p_table || '_is_not_truncated', p_schema, p_table);
end
$$;

create table holdfast.journal (
    workspace_id text collate "C" not null,
    developer_id text collate "C" not null,
    id uuid not null,
    kind text collate "C" not null,
    subject text collate "C" not null,
    content text not null,
    created_at timestamptz not null,
    erased_at timestamptz,
    number bigint generated always as identity,
    primary key (workspace_id, id)
);

create index journal_by_subject on holdfast.journal (workspace_id, developer_id, kind, subject, number desc);
create index journal_by_kind on holdfast.journal (workspace_id, developer_id, kind, number desc);

call holdfast.put_walls('holdfast', 'journal');

create trigger journal_is_only_erased before update on holdfast.journal
    for each row
    when (not (
        old.erased_at is null and new.erased_at is not null and new.content = ''
        and (new.workspace_id, new.developer_id, new.id, new.kind, new.subject, new.created_at, new.number)
          = (old.workspace_id, old.developer_id, old.id, old.kind, old.subject, old.created_at, old.number)
    ))
    execute function holdfast.refuse();

create function holdfast.keep_entry(
    p_workspace text, p_developer text, p_id uuid, p_kind text, p_subject text, p_content text
) returns table (id text, subject text, content text, created_at timestamptz, erased_at timestamptz)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    insert into holdfast.journal (workspace_id, developer_id, id, kind, subject, content, created_at)
    values (p_workspace, p_developer, p_id, p_kind, p_subject, p_content, clock_timestamp())
    on conflict on constraint journal_pkey do nothing;
    return query
        select j.id::text, j.subject, j.content, j.created_at, j.erased_at from holdfast.journal j
        where j.workspace_id = p_workspace and j.developer_id = p_developer and j.id = p_id;
end
$$;

create function holdfast.find_entry(p_workspace text, p_developer text, p_kind text, p_id uuid)
returns table (id text, subject text, content text, created_at timestamptz, erased_at timestamptz)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select j.id::text, j.subject, j.content, j.created_at, j.erased_at from holdfast.journal j
        where j.workspace_id = p_workspace and j.developer_id = p_developer and j.id = p_id and j.kind = p_kind;
end
$$;

create function holdfast.newest_entries(p_workspace text, p_developer text, p_kind text, p_subject text, p_limit bigint)
returns table (id text, subject text, content text, created_at timestamptz, erased_at timestamptz)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select j.id::text, j.subject, j.content, j.created_at, j.erased_at from holdfast.journal j
        where j.workspace_id = p_workspace and j.developer_id = p_developer and j.kind = p_kind and j.subject = p_subject
        order by j.number desc
        limit p_limit;
end
$$;

create function holdfast.newest_of_kind(p_workspace text, p_developer text, p_kind text, p_limit bigint)
returns table (id text, subject text, content text, created_at timestamptz, erased_at timestamptz)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select j.id::text, j.subject, j.content, j.created_at, j.erased_at from holdfast.journal j
        where j.workspace_id = p_workspace and j.developer_id = p_developer and j.kind = p_kind
        order by j.number desc
        limit p_limit;
end
$$;

create function holdfast.entries_with_text(p_workspace text, p_developer text, p_text text)
returns table (id text, kind text)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        select j.id::text, j.kind from holdfast.journal j
        where j.workspace_id = p_workspace and j.developer_id = p_developer and j.erased_at is null
          and strpos(j.content, p_text) > 0
        order by j.id;
end
$$;

create function holdfast.erase_entry(p_workspace text, p_developer text, p_id uuid) returns table (id text)
language plpgsql as $$
begin
    perform holdfast.act_for(p_workspace, p_developer);
    return query
        update holdfast.journal j set content = '', erased_at = clock_timestamp()
        where j.workspace_id = p_workspace and j.developer_id = p_developer and j.id = p_id and j.erased_at is null
        returning j.id::text;
end
$$;

revoke all on all functions in schema holdfast from public;
grant execute on all functions in schema holdfast to holdfast_runtime;
revoke all on procedure holdfast.put_walls(text, text) from public, holdfast_runtime;
grant select, insert, update (content, erased_at) on holdfast.journal to holdfast_runtime;

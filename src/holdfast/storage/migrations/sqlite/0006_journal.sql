-- Documents that rooms keep as they were at one moment: repo contexts as they were saved, proofs, receipts, rounds.
-- Append-only. Numbers rise, so the newest of a subject is the last of its index, whatever the clock says.
create table journal (
    number integer primary key autoincrement,
    workspace_id text not null,
    developer_id text not null,
    id text not null,
    kind text not null,
    subject text not null,
    content text not null,
    created_at text not null,
    erased_at text,
    unique (workspace_id, id)
) strict;

create index journal_by_subject on journal (workspace_id, developer_id, kind, subject, number desc);
create index journal_by_kind on journal (workspace_id, developer_id, kind, number desc);

create trigger journal_is_only_erased before update on journal
when not (
    old.erased_at is null and new.erased_at is not null and new.content = ''
    and (new.number, new.workspace_id, new.developer_id, new.id, new.kind, new.subject, new.created_at)
      = (old.number, old.workspace_id, old.developer_id, old.id, old.kind, old.subject, old.created_at)
)
begin select raise(abort, 'journal is append-only'); end;

create trigger journal_is_not_deleted before delete on journal
begin select raise(abort, 'journal is append-only'); end;

create trigger journal_is_not_replaced before insert on journal
when exists (select 1 from journal where number = new.number)
  or exists (select 1 from journal where workspace_id = new.workspace_id and id = new.id)
begin select raise(abort, 'journal is append-only'); end;

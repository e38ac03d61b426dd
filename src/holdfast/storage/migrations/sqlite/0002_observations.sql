-- What was seen in the log of a session, and up to which event; emptied when one of its events is erased. Derived, and
-- made again from the log where it is missing.
create table session_observations (
    workspace_id text not null,
    session_id text not null,
    developer_id text not null,
    observed text not null check (json_type(observed) = 'object'),
    revision integer not null,
    updated_at text not null,
    primary key (workspace_id, session_id),
    foreign key (workspace_id, developer_id, session_id) references sessions (workspace_id, developer_id, id)
) strict;

create trigger session_observations_are_not_deleted before delete on session_observations
begin select raise(abort, 'session_observations are not deleted'); end;

create trigger session_observations_are_not_replaced before insert on session_observations
when exists (select 1 from session_observations where rowid = new.rowid)
  or exists (select 1 from session_observations where workspace_id = new.workspace_id and session_id = new.session_id)
begin select raise(abort, 'session_observations are not deleted'); end;

create trigger session_observations_keep_their_session before update on session_observations
when (new.rowid, new.workspace_id, new.session_id, new.developer_id)
     != (old.rowid, old.workspace_id, old.session_id, old.developer_id)
  or new.revision <= old.revision
begin select raise(abort, 'session_observations keep their session'); end;

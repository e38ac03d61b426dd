-- What was seen in the logs of sessions: derived, and made again from the log where it is missing.
create table context.session_observations (
    workspace_id text collate "C" not null,
    session_id uuid not null,
    developer_id text collate "C" not null,
    observed jsonb not null check (jsonb_typeof(observed) = 'object'),
    revision bigint not null,
    updated_at timestamptz not null,
    primary key (workspace_id, session_id),
    foreign key (workspace_id, developer_id, session_id) references context.sessions (workspace_id, developer_id, id)
) with (fillfactor = 60);
comment on table context.session_observations is
    'What was seen in the log of a session, and up to which event; emptied when one of its events is erased';

call holdfast.put_walls('context', 'session_observations', 'are');
create trigger session_observations_keep_their_session before update on context.session_observations
    for each row
    when ((new.workspace_id, new.session_id, new.developer_id) <> (old.workspace_id, old.session_id, old.developer_id)
          or new.revision <= old.revision)
    execute function holdfast.refuse();
grant select, insert, update (observed, revision, updated_at) on context.session_observations to holdfast_runtime;

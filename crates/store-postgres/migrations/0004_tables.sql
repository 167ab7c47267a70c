-- Layout 4: jobs, runs and incidents in tables with columns and indexes of their own, and SQL views of them for people.
-- The columns are those that the contract declares. They follow from the events, which only Ordo can read: a database that
-- has any takes no commits from here on until `ordo store reindex` has filled the tables. All nodes must be stopped for it.

CREATE TABLE stored_jobs (
    id             uuid        PRIMARY KEY,
    partition      smallint    NOT NULL,
    value          bytea       NOT NULL,
    label          text        COLLATE "C" NOT NULL,
    state          text        COLLATE "C" NOT NULL,
    trigger        text        COLLATE "C" NOT NULL,
    schedule       text,
    timezone       text,
    hook           text        COLLATE "C",
    tool           text        NOT NULL,
    executor_group text        NOT NULL,
    priority       bigint      NOT NULL,
    created_at     timestamptz NOT NULL
);

CREATE INDEX stored_jobs_by_state ON stored_jobs (state, id);
CREATE INDEX stored_jobs_by_label ON stored_jobs (label, id);
CREATE INDEX stored_jobs_by_hook ON stored_jobs (hook, id) WHERE hook IS NOT NULL;

CREATE TABLE stored_runs (
    id            uuid        PRIMARY KEY,
    partition     smallint    NOT NULL,
    value         bytea       NOT NULL,
    job_id        uuid        NOT NULL,
    label         text        NOT NULL,
    status        text        COLLATE "C" NOT NULL,
    cause         text        NOT NULL,
    scheduled_for timestamptz,
    fired_at      timestamptz NOT NULL,
    started_at    timestamptz,
    finished_at   timestamptz,
    lateness_ms   bigint,
    timeliness    text        NOT NULL,
    attempt       bigint      NOT NULL,
    executor      text,
    parent_id     uuid,
    reason        text,
    skipped_to    timestamptz,
    skipped_count bigint
);

CREATE INDEX stored_runs_by_job ON stored_runs (job_id, id);
-- Completed runs are the many: they are found by job or by time.
CREATE INDEX stored_runs_by_status ON stored_runs (status, id) WHERE status <> 'completed';
-- Runs are stored about in the order of their times: a summary of each piece of the table is enough.
CREATE INDEX stored_runs_by_time ON stored_runs USING brin (fired_at) WITH (pages_per_range = 32, autosummarize = on);

CREATE TABLE stored_incidents (
    id              uuid        PRIMARY KEY,
    partition       smallint    NOT NULL,
    value           bytea       NOT NULL,
    title           text        NOT NULL,
    severity        text        COLLATE "C" NOT NULL,
    status          text        COLLATE "C" NOT NULL,
    assignee        text,
    identifier      text        COLLATE "C",
    job_id          uuid,
    started_by      text        NOT NULL,
    source          text        NOT NULL,
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL,
    acknowledged_at timestamptz,
    ended_at        timestamptz
);

CREATE INDEX stored_incidents_by_status ON stored_incidents (status, created_at);
CREATE INDEX stored_incidents_by_time ON stored_incidents (created_at);
CREATE INDEX stored_incidents_by_job ON stored_incidents (job_id) WHERE job_id IS NOT NULL;

-- What follows is for people, and a promise: these names and columns stay.

CREATE VIEW jobs AS
SELECT j.id, j.label, j.state, j.trigger, j.schedule, j.timezone, j.hook, j.tool, j.executor_group, j.priority, j.created_at,
       to_timestamp(e.alarm_at / 1000.0) AS next_wake_at, e.version
FROM stored_jobs j LEFT JOIN entities e ON e.kind = 1 AND e.id = j.id;

CREATE VIEW runs AS
SELECT id, job_id, label, status, cause, scheduled_for, fired_at, started_at, finished_at, lateness_ms,
       (extract(epoch FROM finished_at - started_at) * 1000)::bigint AS duration_ms,
       attempt, executor, parent_id, reason
FROM stored_runs;

CREATE VIEW incidents AS
SELECT id, title, severity, status, assignee, identifier, job_id, started_by, source, created_at, updated_at, acknowledged_at,
       ended_at
FROM stored_incidents;

CREATE VIEW occurrences AS
SELECT job_id, label, scheduled_for,
       CASE WHEN status = 'skipped' THEN 'skipped' WHEN timeliness = 'on_time' THEN 'fired' ELSE 'fired_late' END AS outcome,
       CASE WHEN status = 'skipped' THEN reason WHEN timeliness = 'misfire' THEN 'misfire' END AS reason,
       skipped_to, coalesce(skipped_count, 1) AS count, id AS run_id, status AS run_status, fired_at
FROM stored_runs WHERE scheduled_for IS NOT NULL AND parent_id IS NULL;

COMMENT ON VIEW jobs IS 'One row per job.';
COMMENT ON COLUMN jobs.id IS 'The job''s id, as in the API and in the name of its stream.';
COMMENT ON COLUMN jobs.label IS 'What people call it; several jobs may have one label.';
COMMENT ON COLUMN jobs.state IS 'active, paused, held, finished or cancelled.';
COMMENT ON COLUMN jobs.trigger IS 'scheduled, webhook or manual.';
COMMENT ON COLUMN jobs.schedule IS 'A cron expression, an interval (5m) or a time; NULL where the trigger is no schedule.';
COMMENT ON COLUMN jobs.timezone IS 'The time zone of a cron expression.';
COMMENT ON COLUMN jobs.hook IS 'The hook that triggers it, if one does.';
COMMENT ON COLUMN jobs.tool IS 'The tool that does the work: shell, http, …';
COMMENT ON COLUMN jobs.executor_group IS 'The group of executors that may run it.';
COMMENT ON COLUMN jobs.priority IS 'Higher goes first among runs that wait.';
COMMENT ON COLUMN jobs.created_at IS 'When it was created.';
COMMENT ON COLUMN jobs.next_wake_at IS 'When Ordo looks at it next: an occurrence, a retry or a timeout. NULL: nothing is to come.';
COMMENT ON COLUMN jobs.version IS 'How many events it has had.';

COMMENT ON VIEW runs IS 'One row per run that retention has kept: each firing of a job, and each skipped occurrence.';
COMMENT ON COLUMN runs.id IS 'The run''s id; later runs have greater ids.';
COMMENT ON COLUMN runs.job_id IS 'Whose run it is: jobs.id.';
COMMENT ON COLUMN runs.label IS 'The label of the job when the run began.';
COMMENT ON COLUMN runs.status IS 'pending, running, completed, failed, cancelled or skipped.';
COMMENT ON COLUMN runs.cause IS 'schedule, manual, backfill, retry, webhook or after.';
COMMENT ON COLUMN runs.scheduled_for IS 'The nominal time; NULL where somebody asked for the run.';
COMMENT ON COLUMN runs.fired_at IS 'When it came to be.';
COMMENT ON COLUMN runs.started_at IS 'When its first attempt began.';
COMMENT ON COLUMN runs.finished_at IS 'When it ended.';
COMMENT ON COLUMN runs.lateness_ms IS 'Start of the first attempt minus the nominal time, in milliseconds.';
COMMENT ON COLUMN runs.duration_ms IS 'End minus start, in milliseconds.';
COMMENT ON COLUMN runs.attempt IS 'Which attempt is, or was, the last.';
COMMENT ON COLUMN runs.executor IS 'Who executes it, or did.';
COMMENT ON COLUMN runs.parent_id IS 'Of a shard: the broadcast run it belongs to.';
COMMENT ON COLUMN runs.reason IS 'Why it failed, was cancelled or skipped: the first 500 characters.';

COMMENT ON VIEW incidents IS 'One row per incident.';
COMMENT ON COLUMN incidents.id IS 'The incident''s id.';
COMMENT ON COLUMN incidents.title IS 'What it is about.';
COMMENT ON COLUMN incidents.severity IS 'sev1 (worst) to sev5.';
COMMENT ON COLUMN incidents.status IS 'open, mitigating, resolved or declined.';
COMMENT ON COLUMN incidents.assignee IS 'Who works on it.';
COMMENT ON COLUMN incidents.identifier IS 'The name of what it is about, if it has one: a job, a thread.';
COMMENT ON COLUMN incidents.job_id IS 'The first job it is linked to.';
COMMENT ON COLUMN incidents.started_by IS 'Who started it.';
COMMENT ON COLUMN incidents.source IS 'By which way: api, cli, page, slack, job, monitor or escalation.';
COMMENT ON COLUMN incidents.created_at IS 'When it was started.';
COMMENT ON COLUMN incidents.updated_at IS 'When it was changed last.';
COMMENT ON COLUMN incidents.acknowledged_at IS 'When somebody acknowledged it.';
COMMENT ON COLUMN incidents.ended_at IS 'When it was resolved or declined.';

COMMENT ON VIEW occurrences IS 'One row per nominal time with its outcome; a long gap of skipped ones is one row.';
COMMENT ON COLUMN occurrences.job_id IS 'Whose occurrence it is: jobs.id.';
COMMENT ON COLUMN occurrences.label IS 'The label of the job then.';
COMMENT ON COLUMN occurrences.scheduled_for IS 'The nominal time, or that of the first of a gap.';
COMMENT ON COLUMN occurrences.outcome IS 'fired, fired_late or skipped.';
COMMENT ON COLUMN occurrences.reason IS 'Why it was skipped, or misfire where the misfire policy fired it.';
COMMENT ON COLUMN occurrences.skipped_to IS 'The last nominal time of a gap.';
COMMENT ON COLUMN occurrences.count IS 'How many occurrences the row stands for.';
COMMENT ON COLUMN occurrences.run_id IS 'The run, or the record of what was skipped: runs.id.';
COMMENT ON COLUMN occurrences.run_status IS 'The status of the run.';
COMMENT ON COLUMN occurrences.fired_at IS 'When it was fired or skipped.';

-- Of internal tables the comments say so. They change without notice.

COMMENT ON TABLE meta IS 'Internal: the layout of this schema.';
COMMENT ON COLUMN meta.one IS 'Always 1.';
COMMENT ON COLUMN meta.layout IS 'How many migrations have run.';
COMMENT ON TABLE partitions IS 'Internal: one row per partition. A commit locks those it writes in.';
COMMENT ON COLUMN partitions.partition IS '0 to 255.';
COMMENT ON COLUMN partitions.last IS 'The number of its last event.';
COMMENT ON COLUMN partitions.rebuilding IS 'Whether the derived tables are incomplete, so that commits are refused.';
COMMENT ON TABLE writers IS 'Internal: one row per open store, by which it finds out what became of its last commit.';
COMMENT ON COLUMN writers.writer IS 'A name that each open store gives itself.';
COMMENT ON COLUMN writers.committed IS 'Its last commit.';
COMMENT ON COLUMN writers.seen_at IS 'When it was opened, in milliseconds.';
COMMENT ON TABLE events IS 'Internal: the log, from which everything else follows.';
COMMENT ON COLUMN events.partition IS 'That of the entity.';
COMMENT ON COLUMN events.number IS 'The place in the partition.';
COMMENT ON COLUMN events.kind IS 'The kind of the entity: 1 is a job.';
COMMENT ON COLUMN events.id IS 'The entity.';
COMMENT ON COLUMN events.version IS 'The place in the stream of the entity.';
COMMENT ON COLUMN events.at IS 'When it happened, in milliseconds.';
COMMENT ON COLUMN events.name IS 'What happened.';
COMMENT ON COLUMN events.data IS 'The event as JSON.';
COMMENT ON COLUMN events.actor IS 'Who brought it about. NULL: Ordo itself. Empty: not recorded.';
COMMENT ON TABLE entities IS 'Internal: the folded state of each entity and its next alarm.';
COMMENT ON COLUMN entities.kind IS 'The kind of the entity: 1 is a job.';
COMMENT ON COLUMN entities.id IS 'The entity.';
COMMENT ON COLUMN entities.partition IS 'Follows from the id.';
COMMENT ON COLUMN entities.version IS 'How many events it has had.';
COMMENT ON COLUMN entities.committed IS 'The commit that wrote it last.';
COMMENT ON COLUMN entities.alarm_at IS 'When it wants to be woken, in milliseconds.';
COMMENT ON COLUMN entities.alarm_rank IS 'Its place among alarms of one moment.';
COMMENT ON COLUMN entities.claimed_until IS 'Until when an overdue alarm belongs to the node that found it, in milliseconds.';
COMMENT ON COLUMN entities.state IS 'The state, packed.';
COMMENT ON TABLE rows IS 'Internal: indexes that only Ordo understands.';
COMMENT ON COLUMN rows.view IS 'A number that follows from the name of the view.';
COMMENT ON COLUMN rows.key IS 'Sorts as the list is read.';
COMMENT ON COLUMN rows.partition IS 'That of the entity that wrote it.';
COMMENT ON COLUMN rows.value IS 'Depends on the view.';
COMMENT ON TABLE dedup IS 'Internal: what must not happen twice for a while.';
COMMENT ON COLUMN dedup.key IS 'What it is.';
COMMENT ON COLUMN dedup.partition IS 'Follows from the key.';
COMMENT ON COLUMN dedup.until IS 'For how long, in milliseconds.';
COMMENT ON COLUMN dedup.value IS 'Returned to whoever comes second.';
COMMENT ON TABLE chunks IS 'Internal: logs of runs and large results.';
COMMENT ON COLUMN chunks.owner IS 'The run.';
COMMENT ON COLUMN chunks.seq IS 'Its place, with the highest bit turned.';
COMMENT ON COLUMN chunks.partition IS 'Follows from the owner.';
COMMENT ON COLUMN chunks.bytes IS 'The text.';
COMMENT ON TABLE nodes IS 'Internal: processes that share this schema.';
COMMENT ON COLUMN nodes.generation IS 'New with every start.';
COMMENT ON COLUMN nodes.name IS 'As it was configured.';
COMMENT ON COLUMN nodes.about IS 'What it does and where it is reached, as JSON.';
COMMENT ON COLUMN nodes.draining IS 'Whether it was asked to leave its work to others.';
COMMENT ON COLUMN nodes.joined_at IS 'When it came, in milliseconds.';
COMMENT ON COLUMN nodes.beat_at IS 'When it was last heard of, in milliseconds.';
COMMENT ON COLUMN nodes.until IS 'Until when it counts as alive, in milliseconds.';
COMMENT ON TABLE leases IS 'Internal: which node serves which partition.';
COMMENT ON COLUMN leases.partition IS '0 to 255.';
COMMENT ON COLUMN leases.generation IS 'The node.';
COMMENT ON COLUMN leases.epoch IS 'Grows when the partition changes hands.';
COMMENT ON COLUMN leases.until IS 'For how long, in milliseconds.';
COMMENT ON TABLE stored_jobs IS 'Internal: read the view jobs.';
COMMENT ON COLUMN stored_jobs.partition IS 'Follows from the id.';
COMMENT ON COLUMN stored_jobs.value IS 'Empty.';
COMMENT ON COLUMN stored_jobs.id IS 'The job''s id, as in the API and in the name of its stream.';
COMMENT ON COLUMN stored_jobs.label IS 'What people call it; several jobs may have one label.';
COMMENT ON COLUMN stored_jobs.state IS 'active, paused, held, finished or cancelled.';
COMMENT ON COLUMN stored_jobs.trigger IS 'scheduled, webhook or manual.';
COMMENT ON COLUMN stored_jobs.schedule IS 'A cron expression, an interval (5m) or a time; NULL where the trigger is no schedule.';
COMMENT ON COLUMN stored_jobs.timezone IS 'The time zone of a cron expression.';
COMMENT ON COLUMN stored_jobs.hook IS 'The hook that triggers it, if one does.';
COMMENT ON COLUMN stored_jobs.tool IS 'The tool that does the work: shell, http, …';
COMMENT ON COLUMN stored_jobs.executor_group IS 'The group of executors that may run it.';
COMMENT ON COLUMN stored_jobs.priority IS 'Higher goes first among runs that wait.';
COMMENT ON COLUMN stored_jobs.created_at IS 'When it was created.';
COMMENT ON TABLE stored_runs IS 'Internal: read the views runs and occurrences.';
COMMENT ON COLUMN stored_runs.partition IS 'That of the job.';
COMMENT ON COLUMN stored_runs.value IS 'The run as Ordo reads it, packed.';
COMMENT ON COLUMN stored_runs.id IS 'The run''s id; later runs have greater ids.';
COMMENT ON COLUMN stored_runs.job_id IS 'Whose run it is: jobs.id.';
COMMENT ON COLUMN stored_runs.label IS 'The label of the job when the run began.';
COMMENT ON COLUMN stored_runs.status IS 'pending, running, completed, failed, cancelled or skipped.';
COMMENT ON COLUMN stored_runs.cause IS 'schedule, manual, backfill, retry, webhook or after.';
COMMENT ON COLUMN stored_runs.scheduled_for IS 'The nominal time; NULL where somebody asked for the run.';
COMMENT ON COLUMN stored_runs.fired_at IS 'When it came to be.';
COMMENT ON COLUMN stored_runs.started_at IS 'When its first attempt began.';
COMMENT ON COLUMN stored_runs.finished_at IS 'When it ended.';
COMMENT ON COLUMN stored_runs.lateness_ms IS 'Start of the first attempt minus the nominal time, in milliseconds.';
COMMENT ON COLUMN stored_runs.attempt IS 'Which attempt is, or was, the last.';
COMMENT ON COLUMN stored_runs.executor IS 'Who executes it, or did.';
COMMENT ON COLUMN stored_runs.parent_id IS 'Of a shard: the broadcast run it belongs to.';
COMMENT ON COLUMN stored_runs.reason IS 'Why it failed, was cancelled or skipped: the first 500 characters.';
COMMENT ON COLUMN stored_runs.timeliness IS 'on_time, late or misfire.';
COMMENT ON COLUMN stored_runs.skipped_to IS 'The last nominal time of a gap that was skipped.';
COMMENT ON COLUMN stored_runs.skipped_count IS 'How many occurrences a gap has.';
COMMENT ON TABLE stored_incidents IS 'Internal: read the view incidents.';
COMMENT ON COLUMN stored_incidents.partition IS 'Follows from the id.';
COMMENT ON COLUMN stored_incidents.value IS 'Empty.';
COMMENT ON COLUMN stored_incidents.id IS 'The incident''s id.';
COMMENT ON COLUMN stored_incidents.title IS 'What it is about.';
COMMENT ON COLUMN stored_incidents.severity IS 'sev1 (worst) to sev5.';
COMMENT ON COLUMN stored_incidents.status IS 'open, mitigating, resolved or declined.';
COMMENT ON COLUMN stored_incidents.assignee IS 'Who works on it.';
COMMENT ON COLUMN stored_incidents.identifier IS 'The name of what it is about, if it has one: a job, a thread.';
COMMENT ON COLUMN stored_incidents.job_id IS 'The first job it is linked to.';
COMMENT ON COLUMN stored_incidents.started_by IS 'Who started it.';
COMMENT ON COLUMN stored_incidents.source IS 'By which way: api, cli, page, slack, job, monitor or escalation.';
COMMENT ON COLUMN stored_incidents.created_at IS 'When it was started.';
COMMENT ON COLUMN stored_incidents.updated_at IS 'When it was changed last.';
COMMENT ON COLUMN stored_incidents.acknowledged_at IS 'When somebody acknowledged it.';
COMMENT ON COLUMN stored_incidents.ended_at IS 'When it was resolved or declined.';

-- The log is the truth; the tables are filled from it by `ordo store reindex`. Until then nothing is committed, by no version.
UPDATE partitions SET rebuilding = true WHERE EXISTS (SELECT 1 FROM events);

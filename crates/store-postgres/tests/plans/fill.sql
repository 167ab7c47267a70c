-- :jobs jobs, each with four events, a snapshot with an alarm, rows of two views (queue and index), a dedup key, a piece of
-- a log, and :runs runs; one run in forty failed, a few are pending.
INSERT INTO entities (kind, id, partition, version, committed, alarm_at, alarm_rank, state)
SELECT 1, md5(n::text)::uuid, n % 256, 4, md5(n::text)::uuid,
       CASE WHEN n % 50 = 0 THEN 1000 + n ELSE (extract(epoch FROM now()) * 1000)::bigint + 86400000 + n * 100 END,
       5, decode(repeat(md5(n::text), 20), 'hex')
FROM generate_series(1, :jobs) AS n;

INSERT INTO events (partition, number, kind, id, version, at, name, data)
SELECT n % 256, (n / 256) * 4 + v, 1, md5(n::text)::uuid, v, 1000 + n, 'JobTriggered', decode(repeat(md5(n::text), 12), 'hex')
FROM generate_series(1, :jobs) AS n, generate_series(1, 4) AS v;

UPDATE partitions SET last = :jobs * 4::bigint, rebuilding = false;

INSERT INTO rows (view, key, partition, value)
SELECT view, decode(md5(n::text), 'hex') || decode(md5((n + view)::text), 'hex'), n % 256, '\x00'
FROM generate_series(1, :jobs) AS n, (VALUES (-186664776), (151693739)) AS v (view);

INSERT INTO dedup (key, partition, until, value)
SELECT decode(md5(n::text), 'hex'), n % 256, n, '\x00' FROM generate_series(1, :jobs) AS n;

INSERT INTO starts (key, number, partition, at, until)
SELECT decode(md5((n % 500)::text), 'hex'), n / 500 + 1, n % 256, n, n FROM generate_series(1, :jobs) AS n;

INSERT INTO chunks (owner, seq, partition, bytes)
SELECT md5(n::text)::uuid, v, n % 256, '\x00' FROM generate_series(1, :jobs) AS n, generate_series(1, 2) AS v;

INSERT INTO stored_jobs (id, partition, value, label, state, trigger, schedule, timezone, tool, executor_group, priority, created_at)
SELECT md5(n::text)::uuid, n % 256, '', 'job ' || n, CASE WHEN n % 20 = 0 THEN 'paused' ELSE 'active' END, 'scheduled',
       '*/5 * * * *', 'UTC', 'noop', 'default', 5, to_timestamp(1700000000 + n)
FROM generate_series(1, :jobs) AS n;

INSERT INTO stored_runs (id, partition, value, job_id, label, status, cause, scheduled_for, fired_at, started_at, finished_at,
                         lateness_ms, timeliness, attempt, executor)
SELECT (lpad(to_hex(1700000000000 + r), 12, '0') || substr(md5(r::text), 1, 20))::uuid, r % 256,
       decode(repeat(md5(r::text), 10), 'hex'), md5((r % :jobs + 1)::text)::uuid, 'job ' || r % :jobs + 1,
       CASE WHEN r % 40 = 0 THEN 'failed' WHEN r % 40 = 1 THEN 'pending' ELSE 'completed' END, 'schedule',
       to_timestamp(1700000000 + r / 1000.0), to_timestamp(1700000000 + r / 1000.0), to_timestamp(1700000000 + r / 1000.0),
       to_timestamp(1700000001 + r / 1000.0), 3, 'on_time', 1, 'node-1'
FROM generate_series(1::bigint, :jobs::bigint * :runs) AS r;

INSERT INTO stored_incidents (id, partition, value, title, severity, status, started_by, source, created_at, updated_at)
SELECT md5(n::text)::uuid, n % 256, '', 'incident ' || n, 'sev3', CASE WHEN n % 10 = 0 THEN 'open' ELSE 'resolved' END, 'ordo',
       'job', to_timestamp(1700000000 + n), to_timestamp(1700000000 + n)
FROM generate_series(1, :jobs) AS n;

INSERT INTO submissions (id, label, state, job_id, settled_at, next_try_at)
SELECT md5(n::text)::uuid, 'job ' || n, CASE WHEN n % 4 = 0 THEN 'waiting' WHEN n % 100 = 1 THEN 'refused' ELSE 'accepted' END,
       md5(n::text)::uuid, CASE WHEN n % 4 <> 0 THEN to_timestamp(1700000000 + n) END,
       CASE WHEN n % 8 = 0 THEN now() + interval '1 hour' ELSE to_timestamp(1700000000 + n) END
FROM generate_series(1, :jobs) AS n;

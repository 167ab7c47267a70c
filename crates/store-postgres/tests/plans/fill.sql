-- :jobs jobs, each with four events, a snapshot with an alarm, rows of two views (queue and index), a dedup key and a log.
INSERT INTO entities (kind, id, partition, version, committed, alarm_at, alarm_rank, state)
SELECT 1, md5(n::text)::uuid, n % 256, 4, md5(n::text)::uuid,
       CASE WHEN n % 50 = 0 THEN 1000 + n ELSE (extract(epoch FROM now()) * 1000)::bigint + 86400000 + n * 100 END,
       5, decode(repeat(md5(n::text), 20), 'hex')
FROM generate_series(1, :jobs) AS n;

INSERT INTO events (partition, number, kind, id, version, at, name, data)
SELECT n % 256, (n / 256) * 4 + v, 1, md5(n::text)::uuid, v, 1000 + n, 'JobTriggered', decode(repeat(md5(n::text), 12), 'hex')
FROM generate_series(1, :jobs) AS n, generate_series(1, 4) AS v;

UPDATE partitions SET last = :jobs * 4;

INSERT INTO rows (view, key, partition, value)
SELECT view, decode(md5(n::text), 'hex') || decode(md5((n + view)::text), 'hex'), n % 256, '\x00'
FROM generate_series(1, :jobs) AS n, (VALUES (-186664776), (151693739)) AS v (view);

INSERT INTO dedup (key, partition, until, value)
SELECT decode(md5(n::text), 'hex'), n % 256, n, '\x00' FROM generate_series(1, :jobs) AS n;

INSERT INTO chunks (owner, seq, partition, bytes)
SELECT md5(n::text)::uuid, v, n % 256, '\x00' FROM generate_series(1, :jobs) AS n, generate_series(1, 2) AS v;

-- Layout 1: the contract (docs/storage-format.md says what stands where).
-- Kinds, views and shards are numbers that never change; times are milliseconds since 1970 in UTC.

-- One row per shard: the number of its last event. A commit holds the rows of its shards until it is over, so that an
-- event is never seen before the ones with smaller numbers.
CREATE TABLE shards (
    shard      smallint PRIMARY KEY,
    last       bigint   NOT NULL,
    rebuilding boolean  NOT NULL
) WITH (fillfactor = 20);

INSERT INTO shards (shard, last, rebuilding) SELECT number, 0, false FROM generate_series(0, 255) AS number;

-- One row per process that writes: its last commit, by which it finds out what became of it.
CREATE TABLE writers (
    writer    uuid   PRIMARY KEY,
    committed uuid   NOT NULL,
    seen_at   bigint NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE events (
    shard   smallint NOT NULL,
    number  bigint   NOT NULL,
    kind    smallint NOT NULL,
    id      uuid     NOT NULL,
    version bigint   NOT NULL,
    at      bigint   NOT NULL,
    name    text     NOT NULL,
    data    bytea    NOT NULL,
    PRIMARY KEY (shard, number)
);

CREATE UNIQUE INDEX events_of_a_stream ON events (kind, id, version);

-- Snapshot and alarm of an entity, and the commit that wrote them.
CREATE TABLE entities (
    kind          smallint NOT NULL,
    id            uuid     NOT NULL,
    shard         smallint NOT NULL,
    version       bigint   NOT NULL,
    committed     uuid     NOT NULL,
    alarm_at      bigint,
    alarm_rank    smallint NOT NULL,
    claimed_until bigint   NOT NULL DEFAULT 0,
    state         bytea    NOT NULL,
    PRIMARY KEY (kind, id)
);

CREATE INDEX entities_by_alarm ON entities (alarm_at, id, kind, shard, alarm_rank) WHERE alarm_at IS NOT NULL;

-- The derived views, in the order of their keys over all shards.
CREATE TABLE rows (
    view  integer  NOT NULL,
    key   bytea    NOT NULL,
    shard smallint NOT NULL,
    value bytea    NOT NULL,
    PRIMARY KEY (view, key)
);

CREATE TABLE dedup (
    key   bytea    PRIMARY KEY,
    shard smallint NOT NULL,
    until bigint   NOT NULL,
    value bytea    NOT NULL
);

CREATE INDEX dedup_by_expiry ON dedup (until);

CREATE TABLE chunks (
    owner uuid     NOT NULL,
    seq   bigint   NOT NULL,
    shard smallint NOT NULL,
    bytes bytea    NOT NULL,
    PRIMARY KEY (owner, seq)
);

-- Nodes that share the store, and who looks after which shard.
CREATE TABLE nodes (
    life      uuid    PRIMARY KEY,
    name      text    NOT NULL,
    about     bytea   NOT NULL,
    draining  boolean NOT NULL,
    joined_at bigint  NOT NULL,
    beat_at   bigint  NOT NULL,
    until     bigint  NOT NULL
);

CREATE TABLE leases (
    shard smallint PRIMARY KEY,
    life  uuid     NOT NULL,
    epoch bigint   NOT NULL,
    until bigint   NOT NULL
) WITH (fillfactor = 20);

INSERT INTO leases (shard, life, epoch, until)
SELECT number, '00000000-0000-0000-0000-000000000000', 0, 0 FROM generate_series(0, 255) AS number;

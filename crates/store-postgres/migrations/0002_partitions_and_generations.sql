-- Layout 2: the words of layout 1 that nobody else uses become the usual ones. Nothing is rewritten.
ALTER TABLE shards RENAME TO partitions;
ALTER TABLE partitions RENAME COLUMN shard TO partition;
ALTER TABLE events RENAME COLUMN shard TO partition;
ALTER TABLE entities RENAME COLUMN shard TO partition;
ALTER TABLE rows RENAME COLUMN shard TO partition;
ALTER TABLE dedup RENAME COLUMN shard TO partition;
ALTER TABLE chunks RENAME COLUMN shard TO partition;
ALTER TABLE leases RENAME COLUMN shard TO partition;
ALTER TABLE leases RENAME COLUMN life TO generation;
ALTER TABLE nodes RENAME COLUMN life TO generation;

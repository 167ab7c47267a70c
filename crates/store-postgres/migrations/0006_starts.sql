-- Layout 6: what began under a rate that jobs share, numbered by key. Nothing is rewritten; nodes of layout 5 go on beside it,
-- and count what they start for themselves until they are upgraded too.
CREATE TABLE starts (
    key       bytea    NOT NULL,
    number    bigint   NOT NULL,
    partition smallint NOT NULL,
    at        bigint   NOT NULL,
    until     bigint   NOT NULL,
    PRIMARY KEY (key, number)
);

CREATE INDEX starts_by_expiry ON starts (until);

COMMENT ON TABLE starts IS 'Internal: what began under a rate limit, as long as the limit reaches back.';
COMMENT ON COLUMN starts.key IS 'The key of the limit.';
COMMENT ON COLUMN starts.number IS 'Grows by one with each start under the key.';
COMMENT ON COLUMN starts.partition IS 'Follows from the key. A commit that starts holds the row of this partition.';
COMMENT ON COLUMN starts.at IS 'When it began, in milliseconds.';
COMMENT ON COLUMN starts.until IS 'When it no longer counts, in milliseconds.';

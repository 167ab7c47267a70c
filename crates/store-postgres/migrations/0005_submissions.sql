-- Layout 5: what other programs ask for with SQL, in their own transactions. Nothing is rewritten.
-- Who inserts takes no lock but that of the row; a row that waits is found by when it is next to be tried.

CREATE TABLE submissions (
    id           uuid        PRIMARY KEY DEFAULT gen_random_uuid(),
    label        text,
    input        jsonb,
    tool         text,
    run_at       timestamptz,
    job          jsonb,
    submitted_at timestamptz NOT NULL DEFAULT now(),
    submitted_by text        NOT NULL DEFAULT session_user,
    state        text        COLLATE "C" NOT NULL DEFAULT 'waiting',
    reason       text,
    job_id       uuid,
    run_id       uuid,
    settled_at   timestamptz,
    tries        integer     NOT NULL DEFAULT 0,
    taken_at     timestamptz,
    next_try_at  timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT submissions_give_a_label_or_a_job CHECK ((label IS NULL) <> (job IS NULL)),
    CONSTRAINT submissions_a_job_says_everything_itself
        CHECK (job IS NULL OR (input IS NULL AND tool IS NULL AND run_at IS NULL)),
    CONSTRAINT submissions_run_at_goes_with_a_tool CHECK (run_at IS NULL OR tool IS NOT NULL),
    CONSTRAINT submissions_label_has_1_to_200_bytes CHECK (octet_length(label) BETWEEN 1 AND 200),
    CONSTRAINT submissions_input_has_at_most_524288_bytes CHECK (octet_length(input::text) <= 524288),
    CONSTRAINT submissions_job_has_at_most_524288_bytes CHECK (octet_length(job::text) <= 524288)
) WITH (fillfactor = 80);

CREATE INDEX submissions_that_wait ON submissions (next_try_at, id) WHERE state = 'waiting';
CREATE INDEX submissions_that_are_settled ON submissions (state, settled_at) WHERE settled_at IS NOT NULL;

COMMENT ON TABLE submissions IS 'Insert a row in your own transaction: after its commit a node carries it out, once (docs/sql.md).';
COMMENT ON COLUMN submissions.id IS 'Give one of your own to submit the same thing once however often you try.';
COMMENT ON COLUMN submissions.label IS 'The job to run. With a tool: the label of a new job.';
COMMENT ON COLUMN submissions.input IS 'What the tool is given; NULL: what the job has.';
COMMENT ON COLUMN submissions.tool IS 'The tool of a new job that runs once.';
COMMENT ON COLUMN submissions.run_at IS 'When the new job runs; NULL: at once.';
COMMENT ON COLUMN submissions.job IS 'Instead of all these: a new job, as POST /v1/jobs takes it.';
COMMENT ON COLUMN submissions.submitted_at IS 'When the transaction began that inserted it.';
COMMENT ON COLUMN submissions.submitted_by IS 'The role that inserted it. The events it leads to are signed so.';
COMMENT ON COLUMN submissions.state IS 'waiting, accepted or refused.';
COMMENT ON COLUMN submissions.reason IS 'Why it was refused, or has to wait.';
COMMENT ON COLUMN submissions.job_id IS 'Of an accepted one: the job, jobs.id.';
COMMENT ON COLUMN submissions.run_id IS 'Of an accepted one that asked for a run: the run, runs.id.';
COMMENT ON COLUMN submissions.settled_at IS 'When it was accepted or refused.';
COMMENT ON COLUMN submissions.tries IS 'How often a node has taken it.';
COMMENT ON COLUMN submissions.taken_at IS 'When a node took it that has not said since what came of it.';
COMMENT ON COLUMN submissions.next_try_at IS 'When it is taken next: not before, a node has it or it has to wait.';

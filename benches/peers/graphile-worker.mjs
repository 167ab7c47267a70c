// graphile-worker: one call of add_jobs per batch, one pool of workers.

import pg from "pg";
import { Logger, makeWorkerUtils, run } from "graphile-worker";

const logger = new Logger(() => () => {});

/// What its page on performance measures with (24 at once, a local queue of 500, completions in batches), and a poll
/// every 10 ms: a job whose time comes is found by polling only, and this is the shortest poll that still leaves the
/// database idle most of the time. The other settings are its defaults, with 24 workers instead of one.
const TUNED = { maxPoolSize: 25, pollInterval: 10, localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 };
const DEFAULT = { maxPoolSize: 25 };

export async function open(url, tuned) {
  const pool = new pg.Pool({ connectionString: url, max: 2 });
  const utils = await makeWorkerUtils({ connectionString: url, logger });
  await utils.migrate();
  let runner;
  return {
    add: (jobs) => utils.addJobs(jobs.map(({ at, payload }) => ({ identifier: "noop", payload, runAt: at }))),
    work: async (onStart) => {
      const worker = { connectionString: url, concurrentJobs: 24, ...(tuned ? TUNED : DEFAULT) };
      runner = await run({ preset: { worker: { ...worker, logger } }, logger, taskList: { noop: async (payload) => onStart(payload) } });
    },
    // A job that is done is deleted.
    unfinished: async () => (await pool.query("SELECT count(*)::int AS left FROM graphile_worker.jobs")).rows[0].left,
    close: async () => {
      await runner?.stop();
      await utils.release();
      await pool.end();
    },
  };
}

// pg-boss: one insert per batch, a few workers that fetch in batches.

import pg from "pg";
import { PgBoss } from "pg-boss";

const QUEUE = "bench";

/// Half a second is the shortest poll it allows. Full batches are followed at once by the next, and eight workers that
/// poll by themselves shorten the wait further. By default one worker fetches one job every two seconds, which no one
/// would run at these rates: the default poll is measured with batches that can keep up.
const TUNED = { pollingIntervalSeconds: 0.5, batchSize: 500, localConcurrency: 8, burstWhenBatchFull: true };
const DEFAULT = { batchSize: 2_000, burstWhenBatchFull: true };

export async function open(url, tuned) {
  const pool = new pg.Pool({ connectionString: url, max: 2 });
  // Neither cron nor maintenance takes part in what is measured.
  const boss = new PgBoss({ connectionString: url, max: 10, schedule: false, supervise: false });
  boss.on("error", (error) => console.error(error));
  await boss.start();
  await boss.createQueue(QUEUE);
  return {
    add: (jobs) => boss.insert(QUEUE, jobs.map(({ at, payload }) => ({ data: payload, startAfter: at }))),
    work: async (onStart) => {
      await boss.work(QUEUE, tuned ? TUNED : DEFAULT, async (jobs) => jobs.forEach((job) => onStart(job.data)));
    },
    unfinished: async () =>
      (await pool.query("SELECT count(*)::int AS left FROM pgboss.job WHERE name = $1 AND state <> 'completed'", [QUEUE])).rows[0].left,
    close: async () => {
      await boss.stop({ graceful: false });
      await pool.end();
    },
  };
}

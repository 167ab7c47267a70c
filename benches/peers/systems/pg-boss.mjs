// pg-boss on a PostgreSQL of its own.
//
// Half a second is the shortest poll it allows. A full batch is followed by the next at once; fifty workers that poll by
// themselves shorten the wait further. By default one worker fetches one job every two seconds.

import pg from "pg";
import { PgBoss } from "pg-boss";
import { withHandlers } from "../lib/handlers.mjs";
import { installed } from "../lib/installed.mjs";
import { startPostgres } from "../lib/postgres.mjs";

const QUEUE = "bench";
const SETTINGS = { pollingIntervalSeconds: 0.5, batchSize: 50, localConcurrency: 50, burstWhenBatchFull: true };

export async function open() {
  const server = await startPostgres();
  const pool = new pg.Pool({ connectionString: server.url, max: 2 });
  pool.on("error", () => {}); // a connection that the server cuts is noticed by the next query, if there is one
  const boss = new PgBoss({ connectionString: server.url, max: 64 });
  let closing = false;
  boss.on("error", (error) => closing || console.error(error));
  await boss.start();
  await boss.createQueue(QUEUE);
  return withHandlers({
    about: { version: installed("pg-boss"), server: `PostgreSQL ${server.version}` },
    servers: () => [server.pid],
    add: ({ at, payload }) => boss.send(QUEUE, payload, { startAfter: new Date(at) }),
    addBulk: (jobs) => boss.insert(QUEUE, jobs.map(({ at, payload }) => ({ data: payload, startAfter: new Date(at) }))),
    work: (onStart) => boss.work(QUEUE, SETTINGS, async (jobs) => jobs.forEach((job) => onStart(job.data))),
    unfinished: async (dueBy) => {
      const left = "SELECT count(*)::int AS jobs FROM pgboss.job WHERE name = $1 AND state <> 'completed' AND start_after <= $2";
      return (await pool.query(left, [QUEUE, new Date(dueBy)])).rows[0].jobs;
    },
    close: async () => {
      closing = true;
      await boss.stop({ graceful: false });
      await pool.end();
      await server.stop();
    },
  });
}

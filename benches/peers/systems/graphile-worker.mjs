// graphile-worker on a PostgreSQL of its own.
//
// A job whose time comes is found by polling: 10 ms is the shortest interval that leaves the database idle most of the
// time (the default is two seconds). The local queue and the batches of completions are what its page on performance
// uses.

import pg from "pg";
import { Logger, makeWorkerUtils, run } from "graphile-worker";
import { withHandlers } from "../lib/handlers.mjs";
import { installed } from "../lib/installed.mjs";
import { startPostgres } from "../lib/postgres.mjs";

const SETTINGS = { concurrentJobs: 100, maxPoolSize: 20, pollInterval: 10, localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 };

export async function open() {
  const server = await startPostgres();
  const logger = new Logger(() => () => {});
  const pgPool = new pg.Pool({ connectionString: server.url, max: 64 });
  // A connection that the server cuts is noticed by the next query, if there is one.
  pgPool.on("error", () => {}).on("connect", (client) => client.on("error", () => {}));
  const utils = await makeWorkerUtils({ pgPool, logger });
  await utils.migrate();
  let runner;
  return withHandlers({
    about: { version: installed("graphile-worker"), server: `PostgreSQL ${server.version}` },
    servers: () => [server.pid],
    add: ({ at, payload }) => utils.addJob("noop", payload, { runAt: new Date(at) }),
    addBulk: (jobs) => utils.addJobs(jobs.map(({ at, payload }) => ({ identifier: "noop", payload, runAt: new Date(at) }))),
    work: async (onStart) => {
      const worker = { connectionString: server.url, ...SETTINGS };
      runner = await run({ logger, noHandleSignals: true, preset: { worker }, taskList: { noop: async (payload) => onStart(payload) } });
    },
    // A job that is done is deleted.
    unfinished: async (dueBy) => {
      const left = "SELECT count(*)::int AS jobs FROM graphile_worker.jobs WHERE run_at <= $1";
      return (await pgPool.query(left, [new Date(dueBy)])).rows[0].jobs;
    },
    close: async () => {
      await runner?.stop();
      await utils.release();
      await pgPool.end();
      await server.stop();
    },
  });
}

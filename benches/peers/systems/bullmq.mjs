// BullMQ on a Redis of its own that syncs its file before it answers (appendfsync always). The default, once a second,
// loses up to a second of acknowledged jobs with the power.

import { Queue, Worker } from "bullmq";
import { withHandlers } from "../lib/handlers.mjs";
import { installed } from "../lib/installed.mjs";
import { emptyFolder, freePort, output, ready, start, stop } from "../lib/process.mjs";

const NAME = "bench";
const CONCURRENCY = 100;

const redisVersion = () => /v=(\S+)/.exec(output("redis-server", ["--version"]))?.[1];

/// It takes a delay and counts it from `timestamp`: due at `at`, whenever the call arrives.
function options(at) {
  const timestamp = Date.now();
  return { timestamp, delay: Math.max(0, at - timestamp), removeOnComplete: true, removeOnFail: true };
}

export async function open() {
  const [version, folder, port] = [redisVersion(), emptyFolder(), await freePort()];
  const durable = ["--appendonly", "yes", "--appendfsync", "always", "--save", "", "--maxmemory-policy", "noeviction"];
  const server = start("redis-server", ["--bind", "127.0.0.1", "--port", port, "--dir", folder, ...durable], { cwd: folder });
  await ready(server, () => output("redis-cli", ["-p", port, "ping"]));
  const connection = { host: "127.0.0.1", port, maxRetriesPerRequest: null };
  const queue = new Queue(NAME, { connection });
  await queue.waitUntilReady();
  let worker;
  return withHandlers({
    about: { version: installed("bullmq"), server: `Redis ${version}` },
    servers: () => [server.pid],
    add: ({ at, payload }) => queue.add("noop", payload, options(at)),
    addBulk: (jobs) => queue.addBulk(jobs.map(({ at, payload }) => ({ name: "noop", data: payload, opts: options(at) }))),
    work: async (onStart) => {
      worker = new Worker(NAME, async (job) => onStart(job.data), { connection, concurrency: CONCURRENCY });
      await worker.waitUntilReady();
    },
    // All handlers have begun: what is not done is active.
    unfinished: () => queue.getActiveCount(),
    close: async () => {
      await worker?.close(true);
      await queue.close();
      await stop(server);
    },
  });
}

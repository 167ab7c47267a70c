// Restate, one node with its defaults (an acknowledged call is in the synced log), its handlers in this process.
// `drive` starts this in a network namespace with a loopback interface alone.
//
// It has no call for many jobs at once; the closest is a durable handler that sends delayed calls to another.

import * as restate from "@restatedev/restate-sdk";
import http2 from "node:http2";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { Pool } from "undici";
import { withHandlers } from "../lib/handlers.mjs";
import { installed } from "../lib/installed.mjs";
import { emptyFolder, freePort, ready, start, stop } from "../lib/process.mjs";

const require = createRequire(import.meta.url);
const PROGRAM = join(dirname(require.resolve(`@restatedev/restate-server-linux-${process.arch}/package.json`)), "bin/restate-server");
const RETENTION = { journalRetention: 0, idempotencyRetention: 0 };

const delayMs = (at) => Math.max(0, Math.round(at - Date.now()));

function service(onStart) {
  const noop = async (_, payload) => onStart(payload);
  const many = async (context, jobs) => {
    const self = context.serviceSendClient({ name: "bench" });
    for (const { at, payload } of jobs) self.noop(payload, restate.rpc.sendOpts({ delay: delayMs(at) }));
  };
  return restate.service({ name: "bench", options: RETENTION, handlers: { noop, many } });
}

async function serve(port, services) {
  const server = http2.createServer(restate.createEndpointHandler({ services }));
  await new Promise((listening) => server.listen(port, "127.0.0.1", listening));
}

async function post(pool, path, body) {
  const { statusCode, body: reply } = await pool.request({ path, method: "POST", headers: { "content-type": "application/json", accept: "application/json" }, body: JSON.stringify(body) });
  const text = await reply.text();
  if (statusCode >= 300) throw new Error(`${path}: ${statusCode} ${text}`);
  return text;
}

export async function open() {
  const folder = emptyFolder();
  const [ingress, admin, node, handlers] = [await freePort(), await freePort(), await freePort(), await freePort()];
  const env = {
    RESTATE_BASE_DIR: folder,
    RESTATE_NODE_NAME: "bench",
    RESTATE_DISABLE_TELEMETRY: "true",
    RESTATE_LISTEN_MODE: "tcp",
    RESTATE_BIND_IP: "127.0.0.1",
    RESTATE_BIND_PORT: String(node),
    RESTATE_INGRESS__BIND_PORT: String(ingress),
    RESTATE_ADMIN__BIND_PORT: String(admin),
    RESTATE_ADMIN__DISABLE_WEB_UI: "true",
    RESTATE_LOG_FILTER: "warn",
  };
  let begun = () => {};
  await serve(handlers, [service((payload) => begun(payload))]);
  const server = start(PROGRAM, ["--no-logo"], { cwd: folder, env });
  const [calls, control] = [new Pool(`http://127.0.0.1:${ingress}`, { connections: 64 }), new Pool(`http://127.0.0.1:${admin}`)];
  await ready(server, () => post(control, "/deployments", { uri: `http://127.0.0.1:${handlers}`, force: true }));
  await ready(server, () => post(calls, "/bench/many", []));
  return withHandlers({
    about: { version: installed("@restatedev/restate-server") },
    servers: () => [server.pid],
    add: ({ at, payload }) => post(calls, `/bench/noop/send?delay=${delayMs(at)}ms`, payload),
    addBulk: (jobs) => post(calls, "/bench/many", jobs),
    work: async (onStart) => void (begun = onStart),
    // What is done is not kept, and nothing that waits for its time has begun.
    unfinished: async () => {
      const query = "SELECT count(*) AS jobs FROM sys_invocation WHERE status NOT IN ('scheduled', 'completed')";
      return JSON.parse(await post(control, "/query", { query })).rows[0].jobs;
    },
    close: async () => {
      await calls.destroy();
      await control.destroy();
      await stop(server);
    },
  });
}

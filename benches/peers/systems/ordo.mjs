// Ordo as it is shipped: `ordo serve` with its defaults, over HTTP. Jobs run the tool `noop` in the daemon itself.
//
// One and 64 callers are played by wrk: a client in node would be the limit. What was recorded is read from /metrics
// (`ordo_runs_completed_total` counts committed runs), how late each run began from /v1/runs.

import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { spawn } from "node:child_process";
import http from "node:http";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startPostgres } from "../lib/postgres.mjs";
import { emptyFolder, freePort, output, ready, start, stop } from "../lib/process.mjs";
import { now } from "../lib/workloads.mjs";

const PAGE = 200;
const POLL_MS = 10;
const GIVE_UP_MS = 240_000;

const definition = ({ at, payload }) => ({ label: "bench", tool_name: "noop", tool_input: payload, block: "concurrent", trigger: { type: "scheduled", at: new Date(at).toISOString() } });
const every = (first, end) => ({ label: "bench", tool_name: "noop", tool_input: {}, trigger: { type: "scheduled", every: "1s", start: new Date(first).toISOString(), end: new Date(end).toISOString() } });

function client(port, token) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 64 });
  return (method, path, body) =>
    new Promise((resolve, reject) => {
      const headers = { authorization: `Bearer ${token()}`, "content-type": "application/json" };
      const request = http.request({ agent, host: "127.0.0.1", port, method, path, headers }, async (response) => {
        let text = "";
        for await (const chunk of response.setEncoding("utf8")) text += chunk;
        if (response.statusCode >= 300) reject(new Error(`${method} ${path}: ${response.statusCode} ${text.slice(0, 300)}`));
        else resolve(text);
      });
      request.on("error", reject).end(body && JSON.stringify(body));
    });
}

/// wrk calls this for each request; every job gets an id of its own.
function script(token, body) {
  const [before, after] = JSON.stringify(body).split('"id":0');
  return `local id = 0
wrk.method, wrk.headers["Authorization"], wrk.headers["Content-Type"] = "POST", "Bearer ${token}", "application/json"
function request() id = id + 1; return wrk.format(nil, nil, nil, [[${before}"id":]] .. id .. [[${after}]]) end
function done(summary, latency) print(string.format("%d %d %d", summary.requests, summary.duration, summary.errors.status + summary.errors.connect + summary.errors.read + summary.errors.timeout)) end
`;
}

async function wrk(folder, token, url, callers, seconds, body) {
  const file = join(folder, "wrk.lua");
  writeFileSync(file, script(token, body));
  const child = spawn("wrk", ["-t1", `-c${callers}`, `-d${seconds}s`, "-s", file, url], { stdio: ["ignore", "pipe", "inherit"] });
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (chunk) => (text += chunk));
  await new Promise((ended, failed) => child.on("close", ended).on("error", () => failed(new Error("wrk is not installed"))));
  rmSync(file);
  const [requests, micros, errors] = text.trim().split("\n").at(-1).split(" ").map(Number);
  if (!(requests > 0) || errors > 0) throw new Error(`wrk: ${errors} of ${requests} requests failed\n${text}`);
  return { jobs: requests, per_s: Math.round((requests * 1e6) / micros) };
}

export async function open({ store }) {
  const binary = process.env.ORDO_BINARY;
  if (!binary) throw new Error("ORDO_BINARY is not set: the path of the ordo to measure");
  const database = store === "postgres" ? await startPostgres() : undefined;
  const [folder, port] = [emptyFolder(), await freePort()];
  const token = () => readFileSync(join(folder, ".ordo/token"), "utf8").trim();
  const call = client(port, token);
  const args = ["serve", "--listen", `127.0.0.1:${port}`, ...(database ? ["--store", `${database.url}?sslmode=disable`] : [])];
  const up = async (everyMs) => {
    const server = start(binary, args, { cwd: folder, env: { NO_COLOR: "1" } });
    await ready(server, () => call("GET", "/readyz"), { everyMs });
    return server;
  };
  let server = await up(50);
  const addBulk = async (jobs) => {
    const { results } = JSON.parse(await call("POST", "/v1/jobs/batch", { jobs }));
    const refused = results.find(({ error }) => error);
    if (refused) throw new Error(`a job was refused: ${refused.error.detail}`);
  };
  const metric = (page, name) => Number(new RegExp(`^${name} (\\S+)$`, "m").exec(page)?.[1] ?? 0);
  return {
    about: { version: output(binary, ["--version"]).split("\n")[0].trim(), server: database ? `PostgreSQL ${database.version}` : "its own file" },
    servers: () => [server.pid, ...(database ? [database.pid] : [])],
    addBulk: (jobs) => addBulk(jobs.map(definition)),
    schedule: (callers, seconds, job) => {
      const { at, payload } = job(Math.round(now()) + 3_600_000);
      return wrk(folder, token(), `http://127.0.0.1:${port}/v1/jobs`, callers, seconds, definition({ at, payload: { ...payload, id: 0 } }));
    },
    recurring: async (count, firstOf, lastsMs) => {
      const all = Array.from({ length: count }, (_, n) => every(firstOf(n), firstOf(n) + lastsMs));
      for (let from = 0; from < count; from += 1_000) await addBulk(all.slice(from, from + 1_000));
    },
    recorded: async (count, lastDue) => {
      await sleep(Math.max(0, lastDue - now()));
      for (const end = lastDue + GIVE_UP_MS; ; await sleep(POLL_MS)) {
        const done = metric(await call("GET", "/metrics"), "ordo_runs_completed_total");
        if (done >= count) return now();
        if (now() > end) throw new Error(`only ${done} of ${count} runs were completed`);
      }
    },
    lateness: async () => {
      const late = [];
      for (let cursor = ""; cursor !== null; ) {
        const page = JSON.parse(await call("GET", `/v1/runs?limit=${PAGE}${cursor && `&cursor=${encodeURIComponent(cursor)}`}`));
        for (const run of page.items) if (run.status.type === "completed") late.push(run.lateness_ms);
        cursor = page.next_cursor;
      }
      return late;
    },
    // Each commit of the file's journal is one sync; checkpoints sync the tables besides.
    counters: async () => {
      const page = await call("GET", "/metrics");
      return { commits: metric(page, "ordo_commit_seconds_count"), checkpoints: metric(page, "ordo_journal_checkpoints_total") };
    },
    restart: async () => {
      await stop(server, "SIGKILL");
      const begin = now();
      server = await up(2);
      return now() - begin;
    },
    close: async () => {
      await stop(server);
      await database?.stop();
    },
  };
}

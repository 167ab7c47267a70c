// Servers of others: each with a folder and a port of its own, ended by its process id, whatever becomes of the driver.

import { spawn, spawnSync } from "node:child_process";
import { openSync, readFileSync, rmSync, mkdtempSync, statfsSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const TMPFS = 0x01021994;
const STOP_MS = 20_000;
const running = new Set();

/// An empty folder on a disk. What is kept in memory syncs for nothing.
export function emptyFolder() {
  const folder = mkdtempSync(join(tmpdir(), "ordo-peers-"));
  if (statfsSync(folder).type === TMPFS) {
    rmSync(folder, { recursive: true });
    throw new Error(`${tmpdir()} is kept in memory: set TMPDIR to a folder on a disk`);
  }
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export async function freePort() {
  const probe = createServer().listen(0, "127.0.0.1");
  await new Promise((ready) => probe.once("listening", ready));
  const { port } = probe.address();
  await new Promise((closed) => probe.close(closed));
  return port;
}

/// Starts a server that ends with this process. `user` is needed for servers that refuse to be run by root.
export function start(program, args, { cwd, env = {}, user } = {}) {
  const log = join(cwd, "server.log");
  const file = openSync(log, "a");
  const as = user ? [`--reuid=${user}`, `--regid=${user}`, "--clear-groups"] : [];
  const child = spawn("setpriv", [...as, "--pdeathsig", "KILL", program, ...args.map(String)], {
    cwd,
    env: { ...process.env, ...env },
    stdio: ["ignore", file, file],
  });
  const server = { pid: child.pid, child, log, ended: new Promise((ended) => child.once("exit", ended)) };
  server.ended.then(() => running.delete(server));
  running.add(server);
  return server;
}

/// Waits until `probe` returns without an error; a server that ended meanwhile is a failure with what it wrote.
export async function ready(server, probe, { everyMs = 100, withinMs = 60_000 } = {}) {
  for (const end = performance.now() + withinMs; ; await sleep(everyMs)) {
    try {
      return await probe();
    } catch (error) {
      if (server.child.exitCode === null && performance.now() < end) continue;
      throw new Error(`the server did not come up (${error.message}):\n${readFileSync(server.log, "utf8").slice(-2_000)}`);
    }
  }
}

/// Ends a server by `signal`, and by force when it does not follow.
export async function stop(server, signal = "SIGTERM") {
  server.child.kill(signal);
  const late = setTimeout(() => server.child.kill("SIGKILL"), STOP_MS);
  await server.ended;
  clearTimeout(late);
}

/// The output of a program that has to succeed.
export function output(program, args, options = {}) {
  const done = spawnSync(program, args.map(String), { encoding: "utf8", ...options });
  if (done.error) throw new Error(`${program} cannot be started: ${done.error.message}`);
  if (done.status !== 0) throw new Error(`${program} ended with ${done.status}: ${done.stderr}`);
  return done.stdout;
}

process.on("exit", () => running.forEach((server) => server.child.kill("SIGKILL")));
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => process.exit(1));

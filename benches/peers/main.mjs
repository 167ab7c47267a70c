// The round: every measure, each of the three in turn, several times; then one table, and all figures as JSON.
// Shared machines differ from minute to minute: what is compared was measured side by side, and the middle one counts.

import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { promisify, parseArgs } from "node:util";
import pg from "pg";

const run = promisify(execFile);
const PEERS = ["graphile-worker", "pg-boss"];
const BATCHES = [256, 1_024, 4_096];
const { ORDO_BINARY: ordo, ORDO_PEERS_URL: server } = process.env;
const { values: given } = parseArgs({
  options: {
    rounds: { type: "string", default: "3" },
    jobs: { type: "string", default: "10000" },
    "per-second": { type: "string", default: "500" },
    seconds: { type: "string", default: "10" },
    out: { type: "string" },
  },
});
const { jobs, "per-second": perSecond, seconds } = given;
const figures = {};

/// A database that nobody has written to, and a server that has nothing left to do from before.
async function freshDatabase() {
  const client = new pg.Client({ connectionString: `${server}/postgres` });
  await client.connect();
  await client.query("DROP DATABASE IF EXISTS bench WITH (FORCE)");
  await client.query("CREATE DATABASE bench");
  await client.query("CHECKPOINT");
  await client.end();
  return `${server}/bench`;
}

function note(measure, who, value) {
  ((figures[measure] ??= {})[who] ??= []).push(value);
  console.error(`${measure}: ${who} ${value}`);
}

async function bench(...args) {
  const url = await freshDatabase();
  const { stdout } = await run(ordo, ["bench", ...args.map(String), "--store", `${url}?sslmode=disable`], { maxBuffer: 1e8 });
  return JSON.parse(stdout);
}

async function peer(name, ...args) {
  const url = await freshDatabase();
  const { stdout } = await run(process.execPath, [`${import.meta.dirname}/measure.mjs`, name, url, ...args.map(String)]);
  return JSON.parse(stdout.trim().split("\n").at(-1));
}

async function scheduling() {
  const { schedule } = await bench("schedule", "--jobs", jobs);
  for (const size of BATCHES) {
    const measure = `jobs/s scheduled in batches of ${size}`;
    note(measure, "raw loop", schedule[`batch_${size}`].raw_postgres_per_s);
    note(measure, "ordo", schedule[`batch_${size}`].jobs_per_s);
    for (const name of PEERS) note(measure, name, (await peer(name, "schedule", "tuned", jobs, size)).jobs_per_s);
  }
}

async function burst() {
  const measure = `runs/s of ${jobs} due at once`;
  note(measure, "ordo", (await bench("burst", "--jobs", jobs)).burst.runs_per_s);
  for (const name of PEERS) note(measure, name, (await peer(name, "burst", "tuned", jobs)).runs_per_s);
}

function noteLateness(who, settings, { p50_ms, p99_ms }) {
  note(`ms late at ${perSecond}/s, p50${settings}`, who, p50_ms);
  note(`ms late at ${perSecond}/s, p99${settings}`, who, p99_ms);
}

async function lateness() {
  const report = await bench("steady", "--per-second", perSecond, "--seconds", seconds);
  const ours = report[`steady_${perSecond}`].lateness;
  noteLateness("ordo", "", ours);
  noteLateness("ordo", ", peers' default poll", ours);
  for (const name of PEERS) {
    noteLateness(name, "", (await peer(name, "steady", "tuned", perSecond, seconds)).lateness);
    noteLateness(name, ", peers' default poll", (await peer(name, "steady", "default", perSecond, seconds)).lateness);
  }
}

/// Three nodes beside one, with the same work on the same database.
async function nodes() {
  const { nodes } = await bench("nodes", "--jobs", jobs);
  for (const [count, found] of Object.entries({ "one node": nodes.one, "three nodes": nodes.three })) {
    note("jobs/s scheduled by 3 callers", count, found.jobs_per_s);
    note(`runs/s of ${jobs} due at once, by nodes`, count, found.runs_per_s);
  }
}

const middle = (all) => all.toSorted((a, b) => a - b)[Math.floor(all.length / 2)];

function table() {
  const who = ["raw loop", "ordo", ...PEERS, "one node", "three nodes"];
  const rows = Object.entries(figures).map(([measure, found]) => {
    const of = Object.fromEntries(Object.entries(found).map(([name, all]) => [name, middle(all)]));
    const peers = PEERS.map((name) => of[name]).filter((value) => value !== undefined);
    const better = measure.startsWith("ms") ? Math.min(...peers) : Math.max(...peers);
    const ratio = (one, other) => (one === undefined || other === undefined ? "" : (one / other).toFixed(2));
    const last = of["one node"] ? [ratio(of["three nodes"], of["one node"])] : [ratio(of.ordo, of["raw loop"]), ratio(of.ordo, better)];
    return [measure, ...who.map((name) => String(of[name] ?? "")), ...(last.length === 1 ? ["", "", ...last] : [...last, ""])];
  });
  const head = ["", ...who, "ordo/raw", "ordo/better peer", "three/one"];
  const lines = [head, head.map((_, n) => (n === 0 ? "---" : "--:")), ...rows];
  return lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

for (let round = 1; round <= Number(given.rounds); round++) {
  console.error(`round ${round} of ${given.rounds}`);
  await scheduling();
  await burst();
  await lateness();
  await nodes();
}
console.log(table());
if (given.out) await writeFile(given.out, JSON.stringify({ settings: given, figures }, null, 2) + "\n");

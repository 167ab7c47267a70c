// The same three measures for every peer, as `ordo bench` takes them: scheduling, a burst, and lateness at a steady rate.
// A peer is { open(url, tuned) -> { add(jobs), work(onStart), unfinished(), close() } }; see the files beside this one.
// A job is { at, payload }; onStart is called with a job's payload at the beginning of its handler.
//
//   node measure.mjs PEER URL schedule|burst|steady tuned|default NUMBERS…      prints one line of JSON

import { setTimeout as sleep } from "node:timers/promises";

/// As large as the input of Ordo's own jobs, and the instant against which lateness is taken.
const payload = (due) => ({ payload: "x".repeat(85), due });
const BATCH_MAX = 4_096;

/// Milliseconds since 1970 with microseconds behind the point.
const now = () => performance.timeOrigin + performance.now();
const made = (count, at) => Array.from({ length: count }, (_, n) => ({ at: new Date(at(n)), payload: payload(at(n)) }));
/// Long enough to have everything scheduled before the first falls due, also where scheduling is slow.
const lead = (jobs) => 4_000 + jobs / 3;

async function addAll(peer, all, size = BATCH_MAX) {
  for (let from = 0; from < all.length; from += size) await peer.add(all.slice(from, from + size));
}

/// Jobs due in an hour, added in batches, each awaited: jobs per second.
async function schedule(peer, jobs, size) {
  const due = Math.ceil(now() + 3_600_000);
  const all = made(jobs, () => due);
  const start = now();
  await addAll(peer, all, size);
  return { jobs, batch: size, jobs_per_s: Math.round((jobs * 1_000) / (now() - start)) };
}

/// Jobs due at one instant, workers waiting for it: runs per second until the database says that all are done.
async function burst(peer, jobs) {
  const due = Math.ceil(now() + lead(jobs));
  const late = [];
  await peer.work(() => late.push(now() - due));
  await addAll(peer, made(jobs, () => due));
  if (now() > due) throw new Error("scheduling took longer than expected: the machine is too busy to measure");
  await finished(peer, late, jobs);
  const took = now() - due;
  return { jobs, runs_per_s: Math.round((jobs * 1_000) / took), until_all_completed_ms: Math.round(took), lateness: spread(late) };
}

/// So many jobs every second: how late the handler was called.
async function steady(peer, perSecond, seconds) {
  const jobs = perSecond * seconds;
  const first = Math.ceil(now() + lead(jobs));
  const late = [];
  await peer.work(({ due }) => late.push(now() - due));
  await addAll(peer, made(jobs, (n) => first + Math.floor((n * 1_000) / perSecond)));
  if (now() > first) throw new Error("scheduling took longer than expected: the machine is too busy to measure");
  await finished(peer, late, jobs);
  return { jobs, per_second: perSecond, lateness: spread(late) };
}

/// The database is asked only when all handlers were called: asking costs the peer what it could do its work with.
async function finished(peer, late, jobs) {
  for (let idle = 0, seen = 0; late.length < jobs; idle = late.length === seen ? idle + 1 : 0, seen = late.length) {
    if (idle > 12_000) throw new Error(`only ${late.length} of ${jobs} jobs began`);
    await sleep(5);
  }
  while ((await peer.unfinished()) > 0) await sleep(5);
}

function spread(late) {
  const sorted = late.toSorted((a, b) => a - b);
  const at = (part) => Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] * 1_000) / 1_000;
  return { p50_ms: at(0.5), p99_ms: at(0.99), max_ms: at(1), starts: late.length };
}

const [name, url, what, settings, ...numbers] = process.argv.slice(2);
const { open } = await import(`./${name}.mjs`);
const peer = await open(url, settings === "tuned");
const result = await { schedule, burst, steady }[what](peer, ...numbers.map(Number));
await peer.close();
console.log(JSON.stringify(result));
process.exit(0);

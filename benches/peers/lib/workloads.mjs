// The workloads, the same for every system. A system is
//   { about, servers(), add(job), addBulk(jobs), recorded(count), lateness(), close() }, and in addition
//   work(), where the handlers run in this process; schedule(callers, seconds), where another program makes the load;
//   recurring(), restart(), counters(), where only Ordo takes part.
// A job is { at, payload }; at is in milliseconds since 1970, the payload has about a hundred bytes.

import { setTimeout as sleep } from "node:timers/promises";
import { meter } from "./meter.mjs";

const HOUR_MS = 3_600_000;
const BULK = { size: 1_000, atOnce: 2 };
const IDLE = { settleMs: 5_000, watchMs: 10_000 };

/// Milliseconds since 1970 with microseconds behind the point.
export const now = () => performance.timeOrigin + performance.now();

let made = 0;
const job = (at) => ({ at, payload: { id: made++, due: at, name: "bench", filling: "x".repeat(60) } });

/// Calls `work` from `callers` at once until it returns false.
const callers = (count, work) => Promise.all(Array.from({ length: count }, async () => { while (await work()); }));

async function addAll(system, count, at, cutMs = Infinity) {
  let next = 0;
  let added = 0;
  const end = now() + cutMs;
  await callers(BULK.atOnce, async () => {
    const from = next;
    const to = (next = Math.min(count, from + BULK.size));
    if (from === to || now() > end) return false;
    await system.addBulk(Array.from({ length: to - from }, (_, n) => job(at(from + n))));
    added += to - from;
    return true;
  });
  return added;
}

export function spread(lateness) {
  const sorted = Float64Array.from(lateness).sort();
  const at = (part) => Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] * 100) / 100;
  return { late_p50_ms: at(0.5), late_p99_ms: at(0.99), late_max_ms: at(1) };
}

/// Measures `work`, which returns its figures and the number of jobs they are about.
async function measured(system, work) {
  const before = await system.counters?.();
  const stop = meter(system.servers);
  const { jobs, ...figures } = await work();
  const cost = stop(jobs);
  const after = await system.counters?.();
  const counted = Object.entries(after ?? {}).map(([name, value]) => [`${name}_per_job`, Math.round(((value - before[name]) / jobs) * 1_000) / 1_000]);
  return { jobs, ...figures, ...cost, ...(jobs ? Object.fromEntries(counted) : {}) };
}

async function scheduleOneByOne(system, count, seconds) {
  const warm = async () => (await system.add(job(Math.round(now()) + HOUR_MS)), false);
  await callers(count, warm); // connections are made
  return measured(system, () => addOneByOne(system, count, seconds));
}

async function addOneByOne(system, count, seconds) {
  const start = now();
  let jobs = 0;
  await callers(count, async () => {
    await system.add(job(Math.round(start) + HOUR_MS + jobs));
    jobs++;
    return now() < start + seconds * 1_000;
  });
  return { jobs, per_s: Math.round((jobs * 1_000) / (now() - start)) };
}

/// W1: jobs due in an hour, one by one and in bulk; each acknowledgement is awaited.
async function schedule(system, { seconds, jobs }) {
  const oneByOne = (count) => (system.schedule ? measured(system, () => system.schedule(count, seconds, job)) : scheduleOneByOne(system, count, seconds));
  const bulk = async () => {
    const start = now();
    await addAll(system, jobs, (n) => Math.round(start) + HOUR_MS + n);
    return { jobs, per_s: Math.round((jobs * 1_000) / (now() - start)) };
  };
  return {
    one: await oneByOne(1),
    many: await oneByOne(64),
    bulk: await measured(system, bulk),
  };
}

/// Schedules `jobs` one `gapMs` after the other, and measures from just before the first until all are recorded.
async function fire(system, jobs, gapMs) {
  // How long scheduling takes here and now: everything has to be in before the first falls due.
  const trial = Math.min(jobs, BULK.size * BULK.atOnce);
  const begin = now();
  await addAll(system, trial, () => Math.round(begin) + 30 * 24 * HOUR_MS);
  const first = Math.ceil(now() + 3_000 + (2.5 * jobs * (now() - begin)) / trial);
  await addAll(system, jobs, (n) => first + Math.floor(n * gapMs));
  if (now() > first - 200) throw new Error("scheduling took longer than expected: the machine is too busy to measure");
  await sleep(first - 100 - now());
  const run = await measured(system, async () => {
    const recordedAt = await system.recorded(jobs, first + (jobs - 1) * gapMs);
    return { jobs, runs_per_s: Math.round((jobs * 1_000) / (recordedAt - first)) };
  });
  const late = await system.lateness();
  if (late.length !== jobs) throw new Error(`${late.length} runs of ${jobs} jobs`);
  return { ...run, ...spread(late) };
}

/// W2: all due at one instant. W3: one after the other at a steady rate.
const burst = async (system, { jobs }) => (await system.work?.(), { run: await fire(system, jobs, 0) });
const steady = async (system, { rate, seconds }) => (await system.work?.(), { run: await fire(system, rate * seconds, 1_000 / rate) });

/// W4: a steady rate beside jobs that are due in 30 days; before that, what they cost when nothing happens.
async function mass(system, { pending, rate, seconds, cut_s: cutSeconds = 180 }) {
  await system.work?.();
  const start = now();
  const far = Math.round(start) + 30 * 24 * HOUR_MS;
  const load = await measured(system, async () => {
    const jobs = await addAll(system, pending, (n) => far + n, cutSeconds * 1_000);
    return { jobs, per_s: Math.round((jobs * 1_000) / (now() - start)) };
  });
  await sleep(IDLE.settleMs);
  const idle = await measured(system, async () => (await sleep(IDLE.watchMs), {}));
  return { load, idle, run: await fire(system, rate * seconds, 1_000 / rate) };
}

/// W5: recurring jobs, all of them every second: at one instant, or spread evenly over a part of it.
async function recurring(system, { jobs, seconds, spread_ms: spreadMs = 0 }) {
  const first = Math.ceil(now() / 1_000) * 1_000 + 5_000 + Math.round(jobs / 2);
  // An end is not part of the schedule: each job has as many occurrences as there are seconds.
  await system.recurring(jobs, (n) => first + Math.floor((n * spreadMs) / jobs), seconds * 1_000);
  if (now() > first - 200) throw new Error("scheduling took longer than expected: the machine is too busy to measure");
  await sleep(first - 100 - now());
  const runs = jobs * seconds;
  const run = await measured(system, async () => {
    const recordedAt = await system.recorded(runs, first + (seconds - 1) * 1_000 + spreadMs);
    return { jobs: runs, runs_per_s: Math.round((runs * 1_000) / (recordedAt - first)) };
  });
  const late = await system.lateness();
  return { run: { ...run, missing: runs - late.length, ...spread(late) } };
}

/// W6: killed with jobs pending; how long until it is ready again.
async function restart(system, { pending }) {
  const far = Math.round(now()) + 30 * 24 * HOUR_MS;
  await addAll(system, pending, (n) => far + n);
  const ready_ms = Math.round(await system.restart());
  return { run: { jobs: pending, ready_ms, ...(await measured(system, async () => (await sleep(1_000), {}))) } };
}

/// What each workload takes, and what a system must have for it.
export const WORKLOADS = {
  W1: { run: schedule, takes: ["seconds", "jobs"] },
  W2: { run: burst, takes: ["jobs"] },
  W3: { run: steady, takes: ["rate", "seconds"] },
  W4: { run: mass, takes: ["pending", "rate", "seconds"], may: ["cut_s"] },
  W5: { run: recurring, takes: ["jobs", "seconds"], may: ["spread_ms"], needs: "recurring" },
  W6: { run: restart, takes: ["pending"], needs: "restart" },
};

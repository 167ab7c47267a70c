// A page of a very large server is as quick as the same page of a small one that shows as much: a hundred jobs of the
// small one have beats too, and one of them has charts. ORDO_BROWSER_LONG=1 fills the large one with a million runs, which
// takes minutes; otherwise it has ten thousand.
import { check, flow } from "../main.mjs";
import { World } from "../world.mjs";

const SMALL = { jobs: 100, runs: 3300, incidents: 100 };
const LARGE = { jobs: 100000, runs: process.env.ORDO_BROWSER_LONG ? 1000000 : 10000, incidents: 1000 };
const LOOKS = 41;
/** So many jobs have run as often as a list shows; all other runs are those of few. */
const OFTEN = { jobs: 100, runs: 30 };
/** The most that one request brings back, and what a request may bring at once. */
const BACKFILL_MAX = 10000;
const BATCH_MAX = 10000;
const AT_ONCE = 8;

async function look(world, path) {
  const began = performance.now();
  const answer = await fetch(world.url + path, { headers: { Authorization: `Bearer ${world.token}`, Accept: "text/html" } });
  await answer.text();
  check(answer.status === 200, `${path} answered ${answer.status}`);
  return performance.now() - began;
}

/** By turns, so that whatever else this machine does slows both alike; the quieter looks count. */
async function compare(worlds, path) {
  const took = worlds.map(() => []);
  for (let turn = 0; turn < LOOKS; turn += 1) {
    for (const [place, world] of worlds.entries()) took[place].push(await look(world, path(world)));
  }
  return took.map((all) => all.sort((a, b) => a - b)[Math.floor(LOOKS / 4)]);
}

const jobs = (from, count) =>
  Array.from({ length: count }, (_, n) => ({ label: `job-${from + n}`, tool_name: "noop", trigger: { type: "scheduled", every: "30d" } }));

/** A job with runs of the past: every second of a job that no longer fires is made up for. */
async function backfilled(world, label, count) {
  const end = Math.floor(Date.now() / 1000) * 1000 - 3600000;
  const start = new Date(end - count * 1000).toISOString();
  const job = await world.job({
    label, tool_name: "noop", block: { concurrent: { max: 256 } }, retention: { runs: 1000000 },
    trigger: { type: "scheduled", every: "1s", start, exclude: [{ from: new Date(end).toISOString(), to: "2099-01-01T00:00:00Z" }] },
  });
  await world.api("POST", `/v1/jobs/${job.id}/backfill`, { from: start, to: new Date(end).toISOString() });
  return job;
}

async function runs(world, count) {
  for (let n = 0; n < OFTEN.jobs; n += 1) await backfilled(world, `often-${n}`, OFTEN.runs);
  for (let made = OFTEN.jobs * OFTEN.runs; made < count; made += BACKFILL_MAX) {
    const some = Math.min(BACKFILL_MAX, count - made);
    const job = await backfilled(world, `busy-${made}`, some);
    world.busy ??= job.id;
    const isOver = async () => (await world.api("GET", `/v1/runs?job_id=${job.id}&status=pending&limit=1`)).items.length === 0
      && (await world.api("GET", `/v1/runs?job_id=${job.id}&status=running&limit=1`)).items.length === 0
      && (await world.api("GET", `/v1/runs?job_id=${job.id}&limit=1`)).items.length > 0;
    await world.until(`${made + some} runs are over`, isOver, 600000);
  }
}

async function incidents(world, count) {
  for (let from = 0; from < count; from += AT_ONCE) {
    const some = Array.from({ length: Math.min(AT_ONCE, count - from) }, (_, n) => from + n);
    await Promise.all(some.map((n) => world.api("POST", "/v1/incidents", { title: `Incident ${n}`, severity: `sev${1 + (n % 5)}` })));
  }
}

async function fill(world, wanted) {
  for (let from = 0; from < wanted.jobs; from += BATCH_MAX) {
    await world.api("POST", "/v1/jobs/batch", { jobs: jobs(from, Math.min(BATCH_MAX, wanted.jobs - from)) });
  }
  await runs(world, wanted.runs);
  await incidents(world, wanted.incidents);
}

/** [name, address, whether it must hold the bound] */
const PAGES = [
  ["jobs", () => "/jobs", true],
  ["jobs by their next time", () => "/jobs?sort=next", true],
  ["newest jobs", () => "/jobs?sort=new", true],
  ["active jobs", () => "/jobs?q=state%3Aactive", true],
  ["runs", () => "/runs", true],
  ["completed runs", () => "/runs?status=completed", true],
  ["runs of a job", (world) => `/runs?status=&job=${world.busy}`, true],
  ["a job with many runs", (world) => `/jobs/${world.busy}`, true],
  ["its definition", (world) => `/jobs/${world.busy}/definition`, true],
  ["its history", (world) => `/jobs/${world.busy}/history`, true],
  ["incidents", () => "/incidents", true],
  ["open incidents", () => "/incidents?status=open", true],
  ["monitors", () => "/monitors", true],
  ["hooks", () => "/hooks", true],
  ["notifications", () => "/notifications", true],
  ["audit", () => "/audit", true],
  ["home", () => "/", true],
  ["timeline", () => "/runs?view=timeline", true],
  ["timeline by executor", () => "/runs?view=timeline&rows=executor", true],
  ["calendar", () => "/calendar", true],
  // It draws what there is up to a limit that the small server does not reach: 5,000 jobs that fire within the month.
  ["month", () => "/calendar?view=month", false],
];

flow("every list of a server with 100,000 jobs answers within twice the time of one with 100", async () => {
  const worlds = [await World.start(), await World.start()];
  const began = performance.now();
  for (const [place, wanted] of [SMALL, LARGE].entries()) await fill(worlds[place], wanted);
  console.log(`        ${LARGE.jobs} jobs, ${LARGE.runs} runs, ${LARGE.incidents} incidents in ${((performance.now() - began) / 1000).toFixed(0)} s`);
  const slow = [];
  for (const [name, path, isBound] of PAGES) {
    const [few, many] = await compare(worlds, path);
    console.log(`        ${name}: ${few.toFixed(1)} ms and ${many.toFixed(1)} ms`);
    if (isBound && many > 2 * few) slow.push(name);
  }
  for (const world of worlds) await world.stop();
  check(slow.length === 0, `slower than twice: ${slow.join(", ")}`);
});

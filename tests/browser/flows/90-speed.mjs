// A list of very many jobs is as quick as one of few.
import { check, flow } from "../main.mjs";
import { World } from "../world.mjs";

const FEW = 100;
const MANY = 100000;
const LOOKS = 41;

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
    for (const [place, world] of worlds.entries()) took[place].push(await look(world, path));
  }
  return took.map((all) => all.sort((a, b) => a - b)[Math.floor(LOOKS / 4)]);
}

const jobs = (from, count) =>
  Array.from({ length: count }, (_, n) => ({ label: `job-${from + n}`, tool_name: "noop", trigger: { type: "scheduled", every: "30d" } }));

flow("the list of 100,000 jobs answers within twice the time of 100", async () => {
  const worlds = [await World.start(), await World.start()];
  const [small, large] = worlds;
  await small.api("POST", "/v1/jobs/batch", { jobs: jobs(0, FEW) });
  for (let from = 0; from < MANY; from += 10000) await large.api("POST", "/v1/jobs/batch", { jobs: jobs(from, 10000) });
  const slow = [];
  for (const path of ["/jobs", "/jobs?sort=next", "/jobs?sort=new", "/jobs?q=state%3Aactive", "/"]) {
    const [few, many] = await compare(worlds, path);
    console.log(`        ${path}: ${few.toFixed(1)} ms with ${FEW}, ${many.toFixed(1)} ms with ${MANY}`);
    // The first page draws the day of up to 300 jobs; the lists must hold the bound.
    if (path !== "/" && many > 2 * few) slow.push(path);
  }
  for (const world of worlds) await world.stop();
  check(slow.length === 0, `slower than twice: ${slow.join(", ")}`);
});

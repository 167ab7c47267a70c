// A list of very many jobs is as quick as one of few.
import { check, flow } from "../main.mjs";
import { World } from "../world.mjs";

const FEW = 100;
const MANY = 100000;
const LOOKS = 21;

/** A quiet look: others use this machine too. */
async function quiet(world, path) {
  const took = [];
  for (let look = 0; look < LOOKS; look += 1) {
    const began = performance.now();
    const answer = await fetch(world.url + path, { headers: { Authorization: `Bearer ${world.token}`, Accept: "text/html" } });
    await answer.text();
    check(answer.status === 200, `${path} answered ${answer.status}`);
    took.push(performance.now() - began);
  }
  return took.sort((a, b) => a - b)[Math.floor(LOOKS / 4)];
}

const jobs = (from, count) =>
  Array.from({ length: count }, (_, n) => ({ label: `job-${from + n}`, tool_name: "noop", trigger: { type: "scheduled", every: "30d" } }));

flow("the list of 100,000 jobs answers within twice the time of 100", async () => {
  const world = await World.start();
  const paths = ["/jobs", "/jobs?sort=next", "/jobs?sort=new", "/jobs?q=state%3Aactive", "/"];
  await world.api("POST", "/v1/jobs/batch", { jobs: jobs(0, FEW) });
  const few = {};
  for (const path of paths) few[path] = await quiet(world, path);
  for (let from = FEW; from < MANY; from += 10000) {
    await world.api("POST", "/v1/jobs/batch", { jobs: jobs(from, Math.min(10000, MANY - from)) });
  }
  const slow = [];
  for (const path of paths) {
    const many = await quiet(world, path);
    console.log(`        ${path}: ${few[path].toFixed(1)} ms with ${FEW}, ${many.toFixed(1)} ms with ${MANY}`);
    // The first page draws the day of up to 300 jobs; the lists must hold the bound.
    if (path !== "/" && many > 2 * few[path] + 5) slow.push(path);
  }
  await world.stop();
  check(slow.length === 0, `slower than twice: ${slow.join(", ")}`);
});

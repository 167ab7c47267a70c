// A list of very many jobs is as quick as one of few.
import { check, flow } from "../main.mjs";
import { World } from "../world.mjs";

const FEW = 100;
const MANY = 100000;
const LOOKS = 21;

async function median(world, path) {
  const took = [];
  for (let look = 0; look < LOOKS; look += 1) {
    const began = performance.now();
    const answer = await fetch(world.url + path, { headers: { Authorization: `Bearer ${world.token}`, Accept: "text/html" } });
    await answer.text();
    check(answer.status === 200, `${path} answered ${answer.status}`);
    took.push(performance.now() - began);
  }
  return took.sort((a, b) => a - b)[(LOOKS - 1) / 2];
}

const jobs = (from, count) =>
  Array.from({ length: count }, (_, n) => ({ label: `job-${from + n}`, tool_name: "noop", trigger: { type: "scheduled", every: "30d" } }));

flow("the list of 100,000 jobs answers within twice the time of 100", async () => {
  const world = await World.start();
  const paths = ["/jobs", "/jobs?sort=next", "/jobs?sort=new", "/jobs?q=state%3Aactive", "/"];
  await world.api("POST", "/v1/jobs/batch", { jobs: jobs(0, FEW) });
  const few = {};
  for (const path of paths) few[path] = await median(world, path);
  for (let from = FEW; from < MANY; from += 10000) {
    await world.api("POST", "/v1/jobs/batch", { jobs: jobs(from, Math.min(10000, MANY - from)) });
  }
  const slow = [];
  for (const path of paths) {
    const many = await median(world, path);
    console.log(`        ${path}: ${few[path].toFixed(1)} ms with ${FEW}, ${many.toFixed(1)} ms with ${MANY}`);
    // The first page counts jobs of each state up to 10,000; the lists must hold the bound.
    if (path !== "/" && many > 2 * few[path] + 2) slow.push(path);
  }
  await world.stop();
  check(slow.length === 0, `slower than twice: ${slow.join(", ")}`);
});

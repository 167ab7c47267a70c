// Accessible to everybody: axe finds nothing on any page, and the accessibility tree of each page stays what it was.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { complaints } from "../browser.mjs";
import { check, flow } from "../main.mjs";
import { pages } from "../pages.mjs";

for (const theme of ["light", "dark"]) {
  flow(`axe finds nothing, ${theme}`, { theme, reduced: true }, async ({ page, url, jobs, world }) => {
    const found = [];
    for (const [name, path] of await pages(world, jobs)) {
      await page.goto(url + path);
      found.push(...(await complaints(page)).map((one) => `${name}: ${one}`));
    }
    check(found.length === 0, found.join("\n"));
  });
}

/** Names that never change; what depends on the moment is left out. */
const SNAPPED = ["form", "jobs", "job", "executors"];

flow("the accessibility tree of the pages is as it was", async ({ page, url, jobs, world }) => {
  const all = await pages(world, jobs);
  const here = (await world.api("GET", "/v1/executors")).items.filter((one) => !one.in_process);
  for (const { id } of here) await world.api("DELETE", `/v1/executors/${id}`);
  for (const [name, path] of all.filter(([name]) => SNAPPED.includes(name))) {
    await page.goto(url + path);
    const tree = steady(await page.locator("main").ariaSnapshot());
    const file = new URL(`../snapshots/${name}.yml`, import.meta.url);
    if (!existsSync(file) || process.env.ORDO_BROWSER_ACCEPT) writeFileSync(file, tree);
    const before = readFileSync(file, "utf8");
    const [left, right] = [before.split("\n"), tree.split("\n")];
    const at = left.findIndex((line, place) => line !== right[place]);
    check(before === tree, `${name}, line ${at + 1}: was ${left[at]}, is ${right[at]} (accept with ORDO_BROWSER_ACCEPT=1)`);
  }
});

/** Which jobs are slow depends on the machine: that region comes and goes. */
const withoutSlowJobs = (tree) => tree.replace(/^( *)- region "Jobs in the slow pool":\n(?:\1 +.*\n?)*/m, "");

function steady(tree) {
  return withoutSlowJobs(tree)
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "ID")
    .replace(/\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2} [A-Z+0-9]+/g, "TIME")
    .replace(/\b(in|up to)? ?\d+ (s|min|h|d|ms)( \d+ (s|min|h))?( ago)?\b/g, " LENGTH")
    .replace(/\b[A-Z][a-z]{2} \d{2}, \d{2}:\d{2}|\b\d{2}:\d{2}:\d{2}\b/g, "TIME")
    .replace(/\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun) \d{2}\b/g, "DAY")
    .replace(/\d{4}-\d{2}-\d{2}T\d{2}:\d{2}/g, "TIME")
    .replace(/(127\.0\.0\.1|10\.77\.0\.1):\d+/g, "SERVER")
    .replace(/(\d+) (running|waiting|failing)/g, "N $2");
}

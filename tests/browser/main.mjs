// Runs every flow against one server, then takes the pictures. Each flow gets a page of its own; whatever that page
// does wrong (an error on the console, a breach of the policy, a request elsewhere) fails the flow.
import { readdirSync } from "node:fs";
import { launch, open } from "./browser.mjs";
import { seed } from "./seed.mjs";
import { World } from "./world.mjs";

const args = process.argv.slice(2);
const only = args.includes("--only") ? args[args.indexOf("--only") + 1] : "";

const flows = [];
export function flow(name, options, steps) {
  flows.push(typeof options === "function" ? { name, options: {}, steps: options } : { name, options, steps });
}

export function check(it, what) {
  if (!it) throw new Error(what);
}

async function perform({ name, options, steps }, browser, world, jobs) {
  const began = Date.now();
  const { context, page } = await open(browser, world, options);
  // A busy machine is slow, not wrong.
  page.setDefaultTimeout(30000);
  try {
    await steps({ page, context, world, jobs, browser, url: world.url });
    const wrongs = page.wrongs.filter((wrong) => !page.expected.some((words) => wrong.includes(words)));
    check(wrongs.length === 0, `the page did what it should not:\n  ${wrongs.join("\n  ")}`);
    console.log(`ok      ${name} (${Date.now() - began} ms)`);
    return true;
  } catch (error) {
    console.log(`FAILED  ${name}\n        ${String(error.message ?? error).split("\n").slice(0, 8).join("\n        ")}`);
    if (process.env.ORDO_BROWSER_KEEP) await page.screenshot({ path: `${process.env.ORDO_BROWSER_KEEP}/${flows.findIndex((one) => one.name === name)}.png` }).catch(() => {});
    return false;
  } finally {
    await context.close();
  }
}

async function main() {
  for (const file of readdirSync(new URL("./flows", import.meta.url)).sort()) await import(`./flows/${file}`);
  const world = await World.start();
  const browser = await launch();
  let failed = 0;
  try {
    const jobs = await seed(world);
    await world.until("some runs have ended", async () => (await world.api("GET", "/v1/runs?status=failed")).items.length > 1);
    const wanted = flows.filter(({ name }) => only.split("|").some((words) => name.includes(words)));
    for (const one of wanted) if (!(await perform(one, browser, world, jobs))) failed += 1;
    console.log(`${wanted.length - failed} of ${wanted.length} flows passed`);
    if (!args.includes("--no-pictures") && !only) {
      const { pictures } = await import("./pictures.mjs");
      await pictures(browser);
    }
  } finally {
    await browser.close();
    await world.stop();
  }
  process.exitCode = failed ? 1 : 0;
}

// Flows import this file for `flow`: it must not begin twice.
if (process.argv[1] === new URL(import.meta.url).pathname) setTimeout(main);

// The pictures in docs/screenshots: each main page, light and dark, wide and narrow.
import { mkdirSync } from "node:fs";
import { NARROW, WIDE, open } from "./browser.mjs";
import { seed } from "./seed.mjs";
import { World } from "./world.mjs";

const PAGES = [
  ["home", "/"],
  ["jobs", "/jobs"],
  ["jobs-many", "/jobs?q=shard&sort=label"],
  ["jobs-none", "/jobs?q=nothing-like-it"],
  ["job", (jobs) => `/jobs/${jobs["backup-database"].id}`],
  ["job-form", "/jobs/new"],
  ["runs", "/runs"],
  ["run", (jobs) => `/runs/${jobs.exportRun}`],
  ["incidents", "/incidents"],
  ["executors", "/executors"],
  ["nodes", "/nodes"],
];
const FOLDER = process.env.ORDO_BROWSER_PICTURES ?? new URL("../../docs/screenshots/", import.meta.url).pathname;

/** Pages of one screen; the others are taken whole. */
const ONE_SCREEN = ["jobs", "jobs-many", "runs"];
/** How long jobs run before they are looked at, so that there is something to see. */
const HISTORY_MS = Number(process.env.ORDO_BROWSER_HISTORY_MS ?? 75000);

export async function pictures(browser) {
  mkdirSync(FOLDER, { recursive: true });
  // A server of its own: what the flows left behind is not what people have.
  const world = await World.start();
  const jobs = await seed(world);
  await new Promise((go) => setTimeout(go, HISTORY_MS));
  for (const [size, viewport] of [["wide", WIDE], ["narrow", NARROW]]) {
    for (const theme of ["light", "dark"]) {
      const { context, page } = await open(browser, world, { viewport, theme });
      for (const [name, place] of PAGES) {
        await page.goto(world.url + (typeof place === "function" ? place(jobs) : place));
        if (name === "job-form") await page.getByLabel("Label").fill("nightly-report");
        if (name === "job-form") await page.getByRole("textbox", { name: "Script", exact: true }).fill("./report.sh --all");
        await page.waitForTimeout(name === "job-form" ? 900 : 300);
        await page.screenshot({ path: `${FOLDER}/${name}-${size}-${theme}.png`, fullPage: size === "wide" && !ONE_SCREEN.includes(name) });
      }
      await context.close();
    }
  }
  await world.stop();
}

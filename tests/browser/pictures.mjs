// The pictures in docs/screenshots: each main page, light and dark, wide and narrow.
import { spawn } from "node:child_process";
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
  ["runs-timeline", "/runs?view=timeline&since=2m"],
  ["run", (jobs) => `/runs/${jobs.exportRun}`],
  ["calendar", "/calendar"],
  ["calendar-month", "/calendar?view=month"],
  ["chains", "/chains"],
  ["incidents", "/incidents"],
  ["incident", (jobs) => `/incidents/${jobs.incident}`],
  ["monitors", "/monitors"],
  ["hooks", "/hooks"],
  ["executors", "/executors"],
  ["broadcast", (jobs) => `/runs/${jobs.broadcast}`],
  ["nodes", "/nodes"],
  ["notifications", "/notifications"],
  ["channels", "/channels"],
  ["channel", "/channels/ops-alerts"],
  ["tokens", "/tokens"],
  ["audit", "/audit"],
];
const FOLDER = process.env.ORDO_BROWSER_PICTURES ?? new URL("../../docs/screenshots/", import.meta.url).pathname;

/** Pages of one screen; the others are taken whole. */
const ONE_SCREEN = ["jobs", "jobs-many", "runs"];
/** How long jobs run before they are looked at, so that there is something to see. */
const HISTORY_MS = Number(process.env.ORDO_BROWSER_HISTORY_MS ?? 75000);

/** What surrounds jobs: an incident, monitors, hooks, channels, tokens, executors that dialled in. */
async function surroundings(world, jobs) {
  const incident = await world.api("POST", "/v1/incidents", { title: "Payments are slow", description: "p99 over 4 s since 09:12", severity: "high" });
  jobs.incident = incident.id;
  await world.api("POST", `/v1/incidents/${incident.id}/assignee`, { assignee: "ada" });
  await world.api("POST", `/v1/incidents/${incident.id}/notes`, { text: "the bank answers late; asked them" });
  await world.api("POST", "/v1/monitors", { name: "nightly-backup", every: "1d", grace: "1h" });
  const monitor = await world.api("POST", "/v1/monitors", { name: "edge-heartbeat", every: "1m", grace: "10s" });
  await fetch(world.url + monitor.ping_path);
  await world.api("POST", "/v1/hooks", { slug: "github" });
  for (const ref of ["main", "release"]) await fetch(`${world.url}/hooks/github`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ ref }) });
  await world.api("POST", "/v1/hooks", { slug: "stripe", verify: { type: "stripe", secret: "whsec_0123456789abcdef" } });
  await world.api("POST", "/v1/channels", { name: "ops-alerts", kind: "slack", channel: "#ops", secret: "xoxb-made-up", description: "who is on call reads it" });
  await world.api("POST", "/v1/channels", { name: "status-page", kind: "webhook", url: "https://status.example.com/hooks/ordo", events: ["incident.*"] });
  await world.api("POST", "/v1/escalations", { name: "nights", escalation: { steps: [{ after: "15m", notify: "#ops", via: "ops-alerts" }, { after: "1h", notify: "head-of-operations", via: "ops-alerts" }] } });
  await world.api("POST", "/v1/tokens", { name: "ada", role: "viewer" });
  await world.api("POST", "/v1/tokens", { name: "builder-1", role: "executor" });
  const load = await world.job({ label: "load-warehouse", tool_name: "noop", trigger: { type: "manual" }, after: { jobs: [jobs["sync-inventory"].id, jobs["ping-status"].id] } });
  await world.job({ label: "refresh-dashboards", tool_name: "noop", trigger: { type: "manual" }, after: { jobs: [load.id], on: "either" } });
  await world.job({ label: "page-the-vault-team", tool_name: "noop", trigger: { type: "manual" }, after: { jobs: [jobs["backup-database"].id], on: "failure" } });
  const children = [["studio-1", "films"], ["studio-2", "films"], ["builder-1", "builders"]].map(([name, group]) => executor(world, name, group));
  await world.job({ label: "render-film", group: "films", tool_name: "shell", tool_input: { script: "echo frame; sleep 2" }, trigger: { type: "scheduled", every: "3s" } });
  await world.until("they are there", async () => (await world.api("GET", "/v1/executors")).items.length === 4);
  const sweep = await world.job({ label: "sweep-caches", group: "films", routing: "sharding_broadcast", tool_name: "shell", tool_input: { script: "echo share $ORDO_SHARD_INDEX of $ORDO_SHARD_TOTAL" }, trigger: { type: "manual" } });
  jobs.broadcast = (await world.api("POST", `/v1/jobs/${sweep.id}/trigger`)).run_id;
  children.push(executor(world, "old-hand", "builders"));
  await world.until("the last one too", async () => (await world.api("GET", "/v1/executors")).items.length === 5);
  children.at(-1).kill("SIGKILL");
  return children;
}

function executor(world, name, group) {
  const env = { ...process.env, ORDO_TOKEN: world.token, NO_COLOR: "1" };
  return spawn(world.binary, ["--server", world.url, "executor", "--name", name, "--group", group], { cwd: world.folder, env, stdio: "ignore" });
}

function ended(child) {
  if (child.exitCode !== null || child.signalCode !== null) return null;
  const gone = new Promise((done) => child.once("exit", done));
  child.kill("SIGTERM");
  return gone;
}

export async function pictures(browser) {
  mkdirSync(FOLDER, { recursive: true });
  // A server of its own: what the flows left behind is not what people have.
  const world = await World.start();
  const jobs = await seed(world);
  const children = await surroundings(world, jobs);
  await new Promise((go) => setTimeout(go, HISTORY_MS));
  for (const [size, viewport] of [["wide", WIDE], ["narrow", NARROW]]) {
    for (const theme of ["light", "dark"]) {
      const { context, page } = await open(browser, world, { viewport, theme });
      for (const [name, place] of PAGES) {
        await page.goto(world.url + (typeof place === "function" ? place(jobs) : place));
        if (name === "job-form") await page.getByLabel("Label").fill("nightly-report");
        if (name === "job-form") await page.getByRole("textbox", { name: "Script", exact: true }).fill("./report.sh --all");
        if (name === "job-form") await page.locator("#preview").getByText("ordo job add nightly-report").waitFor();
        await page.waitForTimeout(300);
        await page.screenshot({ path: `${FOLDER}/${name}-${size}-${theme}.png`, fullPage: size === "wide" && !ONE_SCREEN.includes(name) });
      }
      await context.close();
    }
  }
  // Before their server: an executor says good-bye to it.
  await Promise.all(children.map(ended));
  await world.stop();
}

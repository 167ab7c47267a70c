import { check, flow } from "../main.mjs";

flow("a job's page shows its charts, runs, fires, policies and history", async ({ page, url, jobs }) => {
  await page.goto(`${url}/jobs/${jobs.heartbeat.id}`);
  await page.locator(".plot.dots .dot").first().waitFor({ state: "attached" });
  await page.locator(".heat .good").first().waitFor({ state: "attached" });
  for (const name of ["Duration", "Outcomes by hour", "Late by", "Latest runs", "Next fires", "Policies"]) {
    await page.getByRole("heading", { name, exact: true }).waitFor();
  }
  check((await page.locator(".fires li").count()) === 10, "ten fires");
  await page.getByText("100 %").waitFor();
  await page.getByRole("navigation", { name: "Parts of this page" }).getByRole("link", { name: "History" }).click();
  await page.locator(".timeline").getByText("fired by its schedule").first().waitFor();
});

flow("a failing job says why, and leads to the run", async ({ page, url, jobs }) => {
  await page.goto(`${url}/jobs/${jobs["backup-database"].id}`);
  await page.locator(".notice.failed a").click();
  await page.waitForURL(/\/runs\//);
  await page.getByText("connection refused").first().waitFor();
});

flow("a job is run with another input", async ({ page, url, world, jobs }) => {
  await page.goto(`${url}/jobs/${jobs["deploy-on-push"].id}`);
  await page.getByText("Run with another input").click();
  await page.getByRole("textbox", { name: "Input" }).fill('{"script": "echo edited input"}');
  await page.getByRole("button", { name: "Run with this input" }).click();
  await page.waitForURL(/\/runs\//);
  await page.locator("#log-lines").getByText("edited input").waitFor();
  await page.getByText("given by hand").waitFor();
  check(world, "");
});

flow("an input that is no JSON is refused with a word", async ({ page, url, jobs }) => {
  await page.goto(`${url}/jobs/${jobs["deploy-on-push"].id}`);
  await page.getByText("Run with another input").click();
  await page.getByRole("textbox", { name: "Input" }).fill("{");
  await page.getByRole("button", { name: "Run with this input" }).click();
  await page.getByText("the input is not JSON").waitFor();
});

flow("a backfill is tried dry, then done", async ({ page, url, world }) => {
  const start = new Date(Date.now() - 600000).toISOString();
  const job = await world.job({ label: "to-backfill", tool_name: "noop", trigger: { type: "scheduled", every: "1m", start } });
  await page.goto(`${url}/jobs/${job.id}`);
  await page.getByText("Backfill", { exact: true }).first().click();
  await page.getByRole("button", { name: "Dry run" }).click();
  await page.getByText(/A backfill would run \d+ occurrences/).waitFor();
  await page.getByText("Backfill", { exact: true }).first().click();
  await page.getByRole("button", { name: "Backfill" }).click();
  await page.getByText(/Backfilling \d+ occurrences/).waitFor();
});

flow("a job is paused with a reason and resumed", async ({ page, url, world }) => {
  const job = await world.job({ label: "to-pause", tool_name: "noop", trigger: { type: "scheduled", every: "1h" } });
  await page.goto(`${url}/jobs/${job.id}`);
  await page.getByText("Pause…").click();
  await page.getByLabel("Reason", { exact: false }).first().fill("holiday");
  await page.getByRole("button", { name: "Pause", exact: true }).click();
  await page.getByText(": holiday").first().waitFor();
  await page.getByRole("button", { name: "Resume" }).click();
  await page.getByText("Resumed to-pause").waitFor();
});

flow("a paused job is paused, and says when it would fire", async ({ page, url, jobs }) => {
  await page.goto(`${url}/jobs/${jobs["rotate-keys"].id}`);
  await page.getByText("Paused. If it is resumed, it fires at:").waitFor();
  check((await page.locator(".fires li").count()) === 10, "the times are listed");
  check((await page.getByText("does not fire by itself").count()) === 0, "it has a schedule");
});

flow("a chained run is not said to be given by hand", async ({ page, url, world }) => {
  const first = await world.job({ label: "chain-first", tool_name: "shell", tool_input: { script: "echo 1" }, trigger: { type: "manual" } });
  const second = await world.job({ label: "chain-second", tool_name: "noop", trigger: { type: "manual" }, after: { jobs: [first.id] } });
  await page.goto(`${url}/jobs/${second.id}`);
  await page.getByText("It runs after the jobs before it in its chain.").waitFor();
  await world.api("POST", `/v1/jobs/${first.id}/trigger`);
  const run = await world.until("it has run", async () => (await world.api("GET", `/v1/runs?job_id=${second.id}`)).items[0]);
  await page.goto(`${url}/runs/${run.id}`);
  await page.getByText("after run").waitFor();
  check((await page.getByText("given by hand").count()) === 0, "nobody gave it");
});

flow("a job is cancelled for good and offers no button to change it", async ({ page, url, world }) => {
  const job = await world.job({ label: "to-cancel", tool_name: "noop", trigger: { type: "manual" } });
  await page.goto(`${url}/jobs/${job.id}`);
  await page.locator("summary[aria-label='More actions']").click();
  await page.getByLabel("Cancel it for good").check();
  await page.getByRole("button", { name: "Cancel job" }).click();
  await page.getByText("Cancelled to-cancel").waitFor();
  check((await page.getByRole("button", { name: "Run now" }).count()) === 0, "nothing to run");
});

flow("a job is copied into a new form", async ({ page, url, jobs }) => {
  await page.goto(`${url}/jobs/${jobs["nightly-report"].id}`);
  await page.locator("summary[aria-label='More actions']").click();
  await page.getByRole("link", { name: "Make a copy" }).click();
  check((await page.getByLabel("Label").inputValue()) === "nightly-report copy", "with its label");
  check((await page.locator("#timezone").inputValue()) === "Europe/Berlin", "and its zone");
});

flow("the page of a job that is not there says so", async ({ page, url }) => {
  page.expected.push("404");
  const answer = await page.goto(`${url}/jobs/00000000-0000-7000-8000-000000000000`);
  check(answer.status() === 404, "404");
  await page.getByText("job_not_found").waitFor();
});

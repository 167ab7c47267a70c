import { check, flow } from "../main.mjs";

const act = (page, name) => page.getByRole("radiogroup").locator("label").filter({ hasText: name }).click();

flow("a job is made by the form and seen to fire live without reloading", async ({ page, url }) => {
  await page.goto(`${url}/jobs/new`);
  await page.getByLabel("Label").fill("made-by-form");
  await page.getByRole("textbox", { name: "Script", exact: true }).fill("echo from the form");
  await act(page, "Interval");
  await page.getByLabel("Every").fill("1s");
  await page.locator("#preview").getByText("every second", { exact: false }).waitFor();
  await page.getByRole("button", { name: "Create job" }).click();
  await page.getByRole("heading", { name: "made-by-form" }).waitFor();
  await page.evaluate(() => (window.stayed = true));
  await page.getByRole("region", { name: "Runs" }).first().getByText("completed").first().waitFor();
  check(await page.evaluate(() => window.stayed), "the page was not loaded anew");
});

flow("a cron expression is explained while it is typed", async ({ page, url }) => {
  await page.goto(`${url}/jobs/new`);
  await page.getByLabel("Cron expression").fill("0 9 * * MON-FRI");
  await page.locator("#preview").getByText("09:00", { exact: false }).first().waitFor();
  check((await page.locator("#preview .fires li").count()) === 10, "ten fires are shown");
  await page.getByLabel("Cron expression").fill("61 * * * *");
  await page.locator("#cron-error").filter({ hasText: /./ }).waitFor();
  check((await page.getByLabel("Cron expression").getAttribute("aria-invalid")) === "true", "marked as wrong");
});

flow("clock changes are marked, in the job's zone and in mine", { zone: "America/New_York" }, async ({ page, url, world }) => {
  const when = new Date();
  await page.goto(`${url}/jobs/new`);
  await page.locator("#timezone").fill("Europe/Berlin");
  // The last Sunday of March and of October, whichever year it is.
  await page.getByLabel("Cron expression").fill("30 2 * 3,10 SUN#L");
  await page.locator("#preview .dst").first().waitFor();
  const first = page.locator("#preview .fires li").first();
  check(/CES?T/.test(await first.locator(".fire-local").textContent()), "the job's zone");
  check((await first.locator(".fire-mine time").getAttribute("title")).match(/E[SD]T/), "mine");
  check(when && world, "");
});

flow("the same as a command line and as a request is shown as it is typed", async ({ page, url }) => {
  await page.goto(`${url}/jobs/new`);
  await page.getByLabel("Label").fill("typed");
  await page.getByRole("textbox", { name: "Script", exact: true }).fill("make report");
  const cli = page.locator("#preview code").first();
  await cli.filter({ hasText: "ordo job add typed" }).waitFor();
  check((await cli.textContent()).includes("--cron '0 2 * * *'"), "with its schedule");
  check((await page.locator("#preview code").nth(1).textContent()).includes('"label": "typed"'), "as JSON");
});

flow("a refused form keeps what was typed and says what is wrong beside it", async ({ page, url }) => {
  page.expected.push("422");
  await page.goto(`${url}/jobs/new`);
  await page.getByLabel("Label").fill("kept");
  await act(page, "Interval");
  await page.getByLabel("Every").fill("soon");
  await page.getByRole("textbox", { name: "Script", exact: true }).fill("echo kept");
  await page.getByRole("button", { name: "Create job" }).click();
  await page.locator("#every-error").filter({ hasText: "not a duration" }).waitFor();
  check((await page.getByRole("textbox", { name: "Script", exact: true }).inputValue()) === "echo kept", "the script is still there");
  check((await page.getByLabel("Every").inputValue()) === "soon", "and the mistake too");
});

flow("an HTTP job is made by the form", async ({ page, url, world }) => {
  await page.goto(`${url}/jobs/new`);
  await page.getByLabel("Label").fill("http-by-form");
  await act(page, "HTTP request");
  await page.getByLabel("Address").fill(`${url}/healthz`);
  await page.getByLabel("Headers").fill("X-Team: ops");
  await act(page, "By hand");
  await page.getByRole("button", { name: "Create job" }).click();
  await page.getByRole("heading", { name: "http-by-form" }).waitFor();
  const { items } = await world.api("GET", "/v1/jobs?label=http-by-form");
  check(items[0].tool_input.headers["X-Team"] === "ops" && items[0].trigger.type === "manual", JSON.stringify(items[0]));
});

flow("a shortcut fills in the cron expression", async ({ page, url }) => {
  await page.goto(`${url}/jobs/new`);
  await page.getByRole("button", { name: "weekdays at 9" }).click();
  check((await page.getByLabel("Cron expression").inputValue()) === "0 9 * * MON-FRI", "filled in");
});

flow("a job is changed by the form, and what the form does not show stays", async ({ page, url, world }) => {
  const job = await world.job({ label: "to-change", tool_name: "noop", routing: "random", trigger: { type: "scheduled", cron: "0 3 * * *", exclude: [{ type: "weekly", days: ["sat"] }].filter(() => false) }, misfire: { fire_all: { cap: 7, window: "2h" } } });
  await page.goto(`${url}/jobs/${job.id}/edit`);
  await page.getByLabel("Cron expression").fill("0 4 * * *");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved").waitFor();
  const after = await world.api("GET", `/v1/jobs/${job.id}`);
  check(after.trigger.cron === "0 4 * * *" && after.misfire.fire_all.cap === 7 && after.routing === "random", JSON.stringify(after));
});

flow("a change on top of somebody else's is refused, not laid over it", async ({ page, url, world }) => {
  page.expected.push("422");
  const job = await world.job({ label: "contested", tool_name: "noop", trigger: { type: "manual" } });
  await page.goto(`${url}/jobs/${job.id}/edit`);
  await world.api("PATCH", `/v1/jobs/${job.id}`, { priority: 9 });
  await page.getByLabel("Label").fill("mine");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("changed by somebody else").waitFor();
  check((await page.getByLabel("Label").inputValue()) === "mine", "what was typed is kept");
});

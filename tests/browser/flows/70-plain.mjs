// Without scripts everything can be read, and the main actions work.
import { check, flow } from "../main.mjs";

const PLAIN = { scripts: false };

flow("without scripts: home, jobs, a job and a run can be read", PLAIN, async ({ page, url, jobs }) => {
  await page.goto(url);
  await page.getByRole("region", { name: "Failing" }).getByRole("link", { name: "backup-database" }).click();
  await page.getByRole("heading", { name: "backup-database" }).waitFor();
  await page.goto(`${url}/runs/${jobs.exportRun}`);
  await page.locator("#log-lines").getByText("row 1 written").waitFor();
  await page.getByRole("link", { name: "stderr" }).click();
  check((await page.locator("#log-lines .stdout").count()) === 0, "the log is filtered by the server");
});

flow("without scripts: a job is made, previewed, run, paused and changed", PLAIN, async ({ page, url }) => {
  await page.goto(`${url}/jobs/new`);
  await page.getByLabel("Label").fill("made-plainly");
  await page.getByRole("textbox", { name: "Script", exact: true }).fill("echo plain");
  await page.getByRole("button", { name: "Preview" }).click();
  check((await page.locator("#preview .fires li").count()) === 10, "the preview is shown");
  await page.getByRole("button", { name: "Create job" }).click();
  await page.getByText("Created made-plainly").waitFor();
  await page.getByRole("button", { name: "Run now" }).click();
  await page.waitForURL(/\/runs\//);
  await page.getByText("Triggered made-plainly").waitFor();
  await page.getByRole("link", { name: "made-plainly" }).click();
  await page.getByText("Pause…").click();
  await page.getByRole("button", { name: "Pause", exact: true }).click();
  await page.getByText("Paused made-plainly").waitFor();
  await page.getByRole("link", { name: "Edit" }).click();
  await page.getByLabel("Label").fill("renamed-plainly");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("heading", { name: "renamed-plainly" }).waitFor();
});

flow("without scripts: several jobs are triggered after a question", PLAIN, async ({ page, url }) => {
  await page.goto(`${url}/jobs?q=shard-0001&sort=label`);
  await page.getByRole("checkbox", { name: "Select shard-00011" }).check();
  await page.getByRole("checkbox", { name: "Select shard-00012" }).check();
  await page.locator("#bulk-bar").getByRole("button", { name: "Trigger" }).click();
  await page.getByRole("button", { name: "Trigger them" }).click();
  await page.getByText("Triggered 2 jobs").waitFor();
});

flow("without scripts: theme and zone are chosen", PLAIN, async ({ page, url }) => {
  await page.goto(`${url}/jobs`);
  await page.locator(".settings summary").click();
  await page.getByRole("button", { name: "Dark" }).click();
  check((await page.locator("html").getAttribute("data-theme")) === "dark", "dark");
  check(page.url().endsWith("/jobs"), "on the same page");
});

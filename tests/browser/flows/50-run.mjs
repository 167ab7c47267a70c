import { check, flow } from "../main.mjs";

flow("the log of a run is followed while it is written", async ({ page, url, jobs }) => {
  await page.goto(`${url}/runs/${jobs.exportRun}`);
  const lines = () => page.locator("#log-lines .line").count();
  const before = await lines();
  await page.waitForFunction((before) => document.querySelectorAll("#log-lines .line").length > before + 3, before);
  const end = await page.locator("#log-lines").evaluate((box) => box.scrollHeight - box.scrollTop - box.clientHeight);
  check(end < 40, `it is ${end} px from the end`);
});

flow("the log is searched and filtered", async ({ page, url, jobs, world }) => {
  await world.until("a warning was written", async () => (await world.api("GET", `/v1/runs/${jobs.exportRun}/logs?limit=200`)).items.some((line) => line.stream === "stderr"));
  await page.goto(`${url}/runs/${jobs.exportRun}`);
  await page.getByRole("searchbox", { name: "Search the log" }).fill("row 12");
  await page.locator("#log-lines mark").first().waitFor();
  await page.getByText(/\d+ found/).waitFor();
  await page.getByRole("link", { name: "stderr" }).click();
  check((await page.locator("#log-lines .line.stdout:not(.off)").count()) === 0, "only stderr is shown");
  check((await page.locator("#log-lines .line.stderr:not(.off)").count()) > 0, "and it is shown");
});

flow("a link leads to a line of the log", async ({ page, url, jobs }) => {
  await page.goto(`${url}/runs/${jobs.exportRun}#L7`);
  await page.locator("#L7.here").waitFor();
  check(await page.locator("#L7").isVisible(), "and it is in view");
});

flow("the log is downloaded", async ({ page, url, jobs }) => {
  await page.goto(`${url}/runs/${jobs.exportRun}`);
  const file = await page.getByRole("link", { name: "Download the log" }).evaluate(async (link) => {
    const answer = await fetch(link.href);
    return { name: answer.headers.get("content-disposition"), text: await answer.text() };
  });
  check(file.name.includes(".txt") && file.text.includes("stdout row 1 written"), "with its lines");
});

flow("colours of the terminal are shown as text", async ({ page, url, world, jobs }) => {
  const { items } = await world.api("GET", `/v1/runs?job_id=${jobs.heartbeat.id}&status=completed&limit=1`);
  await page.goto(`${url}/runs/${items[0].id}`);
  check((await page.locator("#log-lines .t .c2").first().textContent()) === "ok", "green");
});

flow("a run shows its timeline, facts and result", async ({ page, url, world, jobs }) => {
  const { items } = await world.api("GET", `/v1/runs?job_id=${jobs["sync-inventory"].id}&status=completed&limit=1`);
  await page.goto(`${url}/runs/${items[0].id}`);
  await page.getByRole("region", { name: "Timeline" }).getByText("attempt 1 completed").waitFor();
  await page.getByRole("region", { name: "Result" }).getByText("exit_code").waitFor();
  await page.getByRole("region", { name: "Facts" }).getByText("local").waitFor();
});

flow("attempts stand apart in the log and in the timeline", async ({ page, url, world }) => {
  const job = await world.job({ label: "tried-twice", tool_name: "shell", tool_input: { script: "echo try $ORDO_ATTEMPT; [ $ORDO_ATTEMPT -gt 1 ]" }, retry: { max_attempts: 2, backoff: "100ms" }, trigger: { type: "manual" } });
  const { run_id } = await world.api("POST", `/v1/jobs/${job.id}/trigger`);
  await page.goto(`${url}/runs/${run_id}`);
  await page.locator("#log-lines").getByText("try 2").waitFor();
  await page.locator("#log-lines .attempt").getByText("attempt 2").waitFor();
  await page.getByRole("region", { name: "Timeline" }).getByText(/attempt 1 failed/).waitFor();
});

flow("a run that goes on is cancelled, and the page says so by itself", async ({ page, url, world }) => {
  const job = await world.job({ label: "to-stop", tool_name: "shell", tool_input: { script: "echo begun; sleep 60" }, trigger: { type: "manual" } });
  const { run_id } = await world.api("POST", `/v1/jobs/${job.id}/trigger`);
  await page.goto(`${url}/runs/${run_id}`);
  await page.locator("#log-lines").getByText("begun").waitFor();
  await page.getByText("Cancel run…").click();
  await page.getByRole("button", { name: "Cancel run" }).click();
  await page.locator(".under").getByText("cancelled").waitFor();
  await page.getByRole("button", { name: "Run again" }).waitFor();
});

flow("a run that is over is run again", async ({ page, url, world, jobs }) => {
  const { items } = await world.api("GET", `/v1/runs?job_id=${jobs["backup-database"].id}&status=failed&limit=1`);
  await page.goto(`${url}/runs/${items[0].id}`);
  await page.getByRole("button", { name: "Run again" }).click();
  await page.getByText("Running again").waitFor();
  await page.getByText("repeats run").waitFor();
});

flow("the list of runs is live and filtered by outcome", async ({ page, url }) => {
  await page.goto(`${url}/runs`);
  const first = () => page.locator("tbody tr").first().getAttribute("id");
  const before = await first();
  await page.waitForFunction((before) => document.querySelector("tbody tr").id !== before, before);
  await page.getByRole("link", { name: "failed", exact: true }).click();
  await page.waitForURL(/status=failed/);
  const badges = await page.locator("tbody .badge").allTextContents();
  check(badges.length > 1 && badges.every((badge) => badge === "failed"), badges.join());
});

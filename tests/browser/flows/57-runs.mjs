// The page of runs: searched, chosen from by time, and drawn on a line of time; and what the log of a run offers.
import { complaints, open } from "../browser.mjs";
import { check, flow } from "../main.mjs";

const badges = (page) => page.locator("tbody .badge").allTextContents();

flow("runs are searched by job, reason, duration and executor, and the address says so", async ({ page, url, jobs }) => {
  await page.goto(`${url}/runs`);
  await page.getByRole("searchbox", { name: /^Job:/ }).fill("backup-database");
  await page.getByRole("button", { name: "Search", exact: true }).click();
  await page.getByRole("heading", { name: "Runs of backup-database" }).waitFor();
  check((await badges(page)).every((badge) => badge === "failed" || badge === "running"), "only its runs");
  await page.getByText("More filters").click();
  await page.getByLabel("Reason").fill("EXIT CODE 1");
  await page.getByLabel("Executor", { exact: true }).fill("local");
  await page.getByLabel("Took less than").fill("1h");
  await page.getByRole("button", { name: "Apply" }).click();
  await page.waitForURL(/reason=EXIT\+CODE\+1.*shorter_than=1h|reason=EXIT%20CODE%201/);
  check((await page.locator("tbody tr").count()) > 0, "found by all of them");
  check(await page.getByLabel("Reason").isVisible(), "what is used stays open");
  await page.getByText("The same from a shell").click();
  const typed = await page.locator(".twins code").first().textContent();
  check(typed === `ordo run list --job ${jobs["backup-database"].id} --reason 'EXIT CODE 1' --executor local --shorter-than 1h`, typed);
  await page.getByLabel("Reason").fill("no such reason");
  await page.getByRole("button", { name: "Apply" }).click();
  await page.getByRole("heading", { name: "No run matches" }).waitFor();
  await page.getByLabel("Took at least").fill("for ever");
  await page.getByRole("button", { name: "Apply" }).click();
  await page.getByRole("alert").getByText("longer than: must be a duration").waitFor();
});

flow("a part of the histogram is chosen by dragging", async ({ page, url }) => {
  await page.goto(`${url}/runs?since=1h`);
  await page.getByRole("heading", { name: /runs?, .*in the last hour/ }).waitFor();
  const box = await page.locator("#brush").boundingBox();
  await page.mouse.move(box.x + box.width * 0.5, box.y + 40);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.7, box.y + 40, { steps: 4 });
  check(await page.locator(".brush-choice").isVisible(), "the choice is shown");
  await page.mouse.up();
  await page.waitForURL(/since=20.*until=20/);
  const address = new URL(page.url());
  const span = Date.parse(address.searchParams.get("until")) - Date.parse(address.searchParams.get("since"));
  check(span > 8 * 60000 && span < 20 * 60000, `it is ${span / 60000} minutes long`);
  await page.getByRole("link", { name: "1 h", exact: true }).click();
  await page.waitForURL(/since=1h$/);
});

flow("a part of the histogram is chosen with the keyboard", async ({ page, url, world, jobs }) => {
  await page.goto(`${url}/runs?since=1h&status=failed`);
  const from = page.getByRole("slider", { name: "From" });
  await from.focus();
  for (let n = 0; n < 5; n += 1) await page.keyboard.press("ArrowRight");
  check(/\d\d:\d\d/.test(await from.getAttribute("aria-valuetext")), "it says the time");
  await page.keyboard.press("Tab");
  for (let n = 0; n < 3; n += 1) await page.keyboard.press("ArrowLeft");
  await page.locator("#brush-words").getByText(" to ").waitFor();
  await page.keyboard.press("Enter");
  await page.waitForURL(/status=failed.*since=20.*until=20/);
  void world; void jobs;
});

flow("a bar of the histogram leads to its own time without a script", { scripts: false }, async ({ page, url }) => {
  await page.goto(`${url}/runs?since=1h`);
  const href = await page.locator(".histogram a").last().getAttribute("href");
  await page.goto(url + href);
  check((await page.locator("tbody tr").count()) > 0, "the newest bar has runs");
  check(await page.locator("#brush-hands").isHidden(), "sliders need a script");
});

flow("runs are drawn on a line of time, by job and by executor", async ({ page, url, jobs }) => {
  await page.goto(`${url}/runs`);
  await page.getByRole("navigation", { name: "Show as" }).getByRole("link", { name: "Timeline" }).click();
  await page.waitForURL(/view=timeline/);
  const row = page.getByRole("listitem").filter({ hasText: "export-ledger" });
  check((await row.locator("rect.running").count()) === 1, "what runs is drawn");
  check((await page.locator(".gantt .failed").count()) > 0, "and what failed");
  const words = await page.locator(".gantt-row").filter({ hasText: "backup-database" }).locator("title").first().textContent();
  check(/backup-database: failed, fired .*took/.test(words), words);
  await page.getByRole("navigation", { name: "Rows by" }).getByRole("link", { name: "Executor" }).click();
  await page.waitForURL(/rows=executor/);
  check((await page.locator(".gantt-name").allTextContents()).some((name) => name.startsWith("local")), "a row for each executor");
  const before = page.url();
  await page.getByRole("link", { name: "Earlier" }).click();
  await page.waitForURL((now) => now.href !== before && now.href.includes("until="));
  // How far that goes back depends on how much has run: a server that had not begun yet has no runs.
  await page.goto(`${url}/runs?view=timeline&since=3d&until=2d`);
  await page.getByText("No run was waiting or running in this time.").waitFor();
  void jobs;
});

for (const theme of ["light", "dark"]) {
  flow(`the pictures of runs are accessible and fit, ${theme}`, { theme }, async ({ page, url, browser, world }) => {
    for (const width of [1440, 1024, 390]) {
      const { context, page: one } = await open(browser, world, { theme, viewport: { width, height: 800 } });
      for (const path of ["/runs?since=1h&reason=exit", "/runs?view=timeline", "/runs?view=timeline&rows=executor"]) {
        await one.goto(url + path);
        const wide = await one.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
        check(wide <= 0, `${path} is ${wide} px too wide at ${width}`);
        const found = await complaints(one);
        check(found.length === 0, `${path} at ${width}: ${found.join("\n")}`);
      }
      check(one.wrongs.length === 0, one.wrongs.join());
      await context.close();
    }
    await page.goto(`${url}/runs`);
  });
}

flow("the log leads to the first error, wraps or not, and is copied", async ({ page, context, url, world }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const script = "for n in $(seq 1 80); do echo \"row $n\"; done; echo 'fatal: disk full' >&2; for n in $(seq 81 160); do echo \"row $n\"; done; exit 1";
  const job = await world.job({ label: "has-an-error", tool_name: "shell", tool_input: { script }, trigger: { type: "manual" } });
  const { run_id } = await world.api("POST", `/v1/jobs/${job.id}/trigger`);
  await world.until("it has failed", async () => (await world.api("GET", `/v1/runs/${run_id}`)).status.type === "failed");
  await page.goto(`${url}/runs/${run_id}`);
  await page.getByRole("link", { name: "First error" }).click();
  await page.locator(".line.here").getByText("fatal: disk full").waitFor();
  check(await page.locator(".line.here").isVisible(), "it is in view");
  const space = () => page.locator("#L1").evaluate((line) => getComputedStyle(line).whiteSpaceCollapse + getComputedStyle(line).textWrapMode);
  check((await space()).includes("wrap") && !(await space()).includes("nowrap"), "lines wrap");
  await page.getByLabel("wrap").uncheck();
  check((await space()).includes("nowrap"), "or not");
  await page.reload();
  check(!(await page.getByLabel("wrap").isChecked()), "which is remembered");
  await page.getByRole("link", { name: "stderr" }).click();
  await page.getByRole("button", { name: "Copy the lines that are shown" }).click();
  await page.locator("#said").getByText("1 line copied").waitFor({ state: "attached" });
  check((await page.evaluate(() => navigator.clipboard.readText())) === "fatal: disk full\n", "what is shown is copied");
  check(page.url().includes("stream=stderr"), "the choice stands in the address");
  await page.reload();
  check((await page.locator("#log-lines .line").count()) === 1, "and holds when the page is loaded anew");
});

flow("the times of a log are in the chosen zone", { zone: "Asia/Tokyo" }, async ({ page, url, world, jobs }) => {
  const { items } = await world.api("GET", `/v1/runs?job_id=${jobs["sync-inventory"].id}&status=completed&limit=1`);
  const [line] = (await world.api("GET", `/v1/runs/${items[0].id}/logs`)).items;
  await page.goto(`${url}/runs/${items[0].id}`);
  await page.getByLabel("times").check();
  const shown = await page.locator("#L1 time").textContent();
  const wanted = new Date(Date.parse(line.at) + 9 * 3600000).toISOString().slice(11, 23);
  check(shown === wanted, `${shown} instead of ${wanted}`);
});

flow("attempts have chips, and each shows its own lines", async ({ page, url, world }) => {
  const job = await world.job({ label: "tried-thrice", tool_name: "shell", tool_input: { script: "echo try $ORDO_ATTEMPT; [ $ORDO_ATTEMPT -gt 2 ]" }, retry: { max_attempts: 3, backoff: "100ms" }, trigger: { type: "manual" } });
  const { run_id } = await world.api("POST", `/v1/jobs/${job.id}/trigger`);
  await world.until("it is over", async () => (await world.api("GET", `/v1/runs/${run_id}`)).status.type === "completed");
  await page.goto(`${url}/runs/${run_id}`);
  await page.getByRole("link", { name: "attempt 2" }).click();
  const shown = await page.locator("#log-lines .line:not(.off) .t").allTextContents();
  check(shown.join() === "try 2", shown.join());
});

flow("what a job writes stays text, before and after the page is loaded", async ({ page, url, world }) => {
  const hostile = "<img src=x onerror=document.title=1>";
  const script = `printf '\\033[31m%s\\033[0m\\n' '${hostile}'; printf '\\033]8;;javascript:alert(1)\\033\\\\link\\033]8;;\\033\\\\\\n'; printf '\\033[38;2;255;0;0mred\\033[0m\\n'`;
  const job = await world.job({ label: "hostile", tool_name: "shell", tool_input: { script: `${script}; sleep 2; ${script}` }, trigger: { type: "manual" } });
  const { run_id } = await world.api("POST", `/v1/jobs/${job.id}/trigger`);
  await world.until("it wrote something", async () => (await world.api("GET", `/v1/runs/${run_id}/logs`)).items.length >= 3);
  await page.goto(`${url}/runs/${run_id}`);
  await page.waitForFunction(() => document.querySelectorAll("#log-lines .line").length >= 6);
  check((await page.locator("#log-lines img, #log-lines .t a, #log-lines script").count()) === 0, "no markup");
  const texts = await page.locator("#log-lines .t").allTextContents();
  check(texts[0] === hostile && texts[3] === hostile, texts.join(" | "));
  check(texts[1] === "link" && texts[4] === "link", texts.join(" | "));
  check((await page.locator("#log-lines .c9").count()) === 2, "both are red, whoever drew them");
});

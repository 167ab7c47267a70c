// What is set up beside jobs and runs: a pasted crontab, channels, executors, the times at which a job does not fire.
import { complaints, open } from "../browser.mjs";
import { check, flow } from "../main.mjs";
import { World } from "../world.mjs";

const CRONTAB = "CRON_TZ=Europe/Berlin\n# dumps the database\n0 2 * * * /usr/local/bin/dump\n*/5 * * * * curl -s http://127.0.0.1/ping\n61 * * * * never\n";

flow("a crontab is pasted, previewed and imported once", async ({ page, url, world }) => {
  await page.goto(`${url}/jobs`);
  await page.getByRole("link", { name: "Import a crontab" }).click();
  await page.getByLabel("Text of the crontab").fill(CRONTAB);
  await page.getByLabel("Labels begin with").fill("pasted");
  await page.getByLabel(/Hold the jobs/).check();
  await page.getByRole("button", { name: "Preview" }).click();
  await page.getByRole("heading", { name: "2 jobs would be made" }).waitFor();
  await page.getByText("line 5").waitFor();
  check((await world.api("GET", "/v1/jobs?search=pasted")).items.length === 0, "nothing is made before it was shown");
  await page.getByRole("button", { name: "Import 2 jobs" }).click();
  await page.getByText("Imported 2 jobs, held until you resume them").waitFor();
  const made = (await world.api("GET", "/v1/jobs?search=pasted")).items;
  check(made.length === 2 && made.every((job) => job.state === "held"), JSON.stringify(made.map((job) => job.label)));
  await page.goto(`${url}/jobs/import`);
  await page.getByLabel("Text of the crontab").fill(CRONTAB);
  await page.getByLabel("Labels begin with").fill("pasted");
  await page.getByRole("button", { name: "Preview" }).click();
  await page.getByRole("heading", { name: "0 jobs would be made, 2 are there already" }).waitFor();
  check((await page.getByRole("button", { name: /^Import \d/ }).count()) === 0, "there is nothing to import");
});

flow("a text without a job is refused with a word", async ({ page, url }) => {
  page.expected.push("422");
  await page.goto(`${url}/jobs/import`);
  await page.getByLabel("Text of the crontab").fill("# nothing here\n");
  await page.getByRole("button", { name: "Preview" }).click();
  await page.getByRole("alert").getByText("There is no job in it").waitFor();
});

flow("the times at which a job does not fire, and the rule for the clock, are edited", async ({ page, url, world }) => {
  const job = await world.job({ label: "excluded", tool_name: "noop", trigger: { type: "scheduled", cron: "30 2 * * *", timezone: "Europe/Berlin", exclude: [{ days: ["sat", "sun"] }] } });
  await page.goto(`${url}/jobs/${job.id}/edit`);
  check((await page.locator("#exclude").inputValue()) === "sat,sun", "what is there is shown");
  await page.locator("#exclude").fill("sat,sun\nsomeday");
  await page.locator("[data-error-for=exclude]").getByText("is none of").waitFor();
  await page.locator("#exclude").fill("sat,sun\n2026-12-24, 2026-12-25");
  await page.locator("#dst_skipped").selectOption("skip");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved").waitFor();
  const { trigger } = await world.api("GET", `/v1/jobs/${job.id}`);
  check(JSON.stringify(trigger.exclude) === '[{"days":["sat","sun"]},{"dates":["2026-12-24","2026-12-25"]}]', JSON.stringify(trigger));
  check(trigger.dst.skipped === "skip", JSON.stringify(trigger.dst));
});

flow("channels and chains are shown, and a test message goes out", async ({ browser }) => {
  const world = await World.start([["ORDO_SENDERS__FILE__PATH", "sent.jsonl"], ["ORDO_ESCALATION__DEFAULT__STEPS", '[{ notify = "#on-call", after = "15m" }]']]);
  const { context, page } = await open(browser, world);
  await page.goto(`${world.url}/channels`);
  await page.getByRole("region", { name: "Slack" }).getByText("not configured").waitFor();
  await page.getByRole("region", { name: "Slack" }).getByText("bot_token").waitFor();
  await page.getByRole("button", { name: "Send test through File" }).click();
  await page.getByText("A test message went out through file").waitFor();
  const found = await complaints(page);
  check(found.length === 0, found.join("\n"));
  check(page.wrongs.length === 0, page.wrongs.join());
  await context.close();
  await world.stop();
});

for (const theme of ["light", "dark"]) {
  flow(`the pages of setting up are accessible and fit, ${theme}`, async ({ url, browser, world }) => {
    for (const width of [1440, 1024, 390]) {
      const { context, page } = await open(browser, world, { theme, viewport: { width, height: 900 } });
      for (const path of ["/channels", "/jobs/import", "/jobs/new"]) {
        await page.goto(url + path);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
        check(wide <= 0, `${path} is ${wide} px too wide at ${width}`);
        const found = await complaints(page);
        check(found.length === 0, `${path} at ${width}: ${found.join("\n")}`);
      }
      check(page.wrongs.length === 0, page.wrongs.join());
      await context.close();
    }
  });
}

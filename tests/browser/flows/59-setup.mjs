// What is set up beside jobs and runs: a pasted crontab, channels, executors, the times at which a job does not fire.
import { createServer } from "node:http";
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
  await page.getByRole("link", { name: "default" }).click();
  await page.getByText("from the configuration").waitFor();
  check((await page.getByRole("link", { name: "Edit" }).count()) === 0, "it is changed in the configuration");
  await page.getByRole("navigation", { name: "Where" }).getByRole("link", { name: "Channels" }).click();
  await page.getByRole("region", { name: "Slack" }).getByText("bot_token").waitFor();
  await page.getByRole("button", { name: "Send test through File" }).click();
  await page.getByText("A test message went out through file").waitFor();
  const found = await complaints(page);
  check(found.length === 0, found.join("\n"));
  check(page.wrongs.length === 0, page.wrongs.join());
  await context.close();
  await world.stop();
});

flow("a channel is made, tried, changed, used by a chain and removed", async ({ browser }) => {
  const taken = [];
  const receiver = createServer((request, response) => {
    request.resume().on("end", () => {
      taken.push(request.headers["webhook-signature"]);
      response.writeHead(204).end();
    });
  });
  await new Promise((ready) => receiver.listen(0, "127.0.0.1", ready));
  const hook = `http://127.0.0.1:${receiver.address().port}/hook`;
  const world = await World.start([["ORDO_WEBHOOKS__ALLOW", "127.0.0.1"]]);
  const { context, page } = await open(browser, world);
  const accessible = async (what) => {
    const found = await complaints(page);
    check(found.length === 0, `${what}: ${found.join("\n")}`);
  };
  await page.goto(`${world.url}/channels`);
  await page.getByRole("link", { name: "New channel: Webhook", exact: true }).click();
  await page.getByLabel("Name", { exact: true }).fill("team");
  await page.getByLabel("Address").fill("nowhere");
  await page.getByRole("button", { name: "Create channel" }).click();
  await page.getByText("write it as https://example.com/hook").waitFor();
  await accessible("a refused form");
  await page.getByLabel("Address").fill(hook);
  await page.getByRole("button", { name: "Create channel" }).click();
  await page.getByText(/whsec_/).waitFor();
  await page.goto(`${world.url}/channels/team`);
  check(!(await page.content()).includes("whsec_"), "the key is shown once");
  await page.getByRole("button", { name: "Send test" }).click();
  await page.getByText("A test message went out through team").waitFor();
  check(taken.length === 1 && taken[0].startsWith("v1,"), JSON.stringify(taken));
  await accessible("the page of a channel");
  await page.getByRole("link", { name: "Edit" }).click();
  check((await page.getByLabel("Signing key").inputValue()) === "", "a secret is never filled in again");
  await page.getByLabel(/^Events/).fill("");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("only what an escalation chain sends through it").waitFor();

  await page.goto(`${world.url}/channels`);
  await page.getByRole("link", { name: "New chain" }).click();
  await page.getByLabel("Name", { exact: true }).fill("night");
  await page.getByLabel("Steps").fill("15m");
  await page.getByRole("button", { name: "Create chain" }).click();
  await page.getByText("is not a step").waitFor();
  await page.getByLabel("Steps").fill("anna via team\n15m ben via team");
  await page.getByRole("button", { name: "Create chain" }).click();
  await page.getByText("Created night: incidents that name it take it").waitFor();
  await accessible("the page of a chain");
  await world.api("POST", "/v1/incidents", { title: "Payments are slow", escalation: "night" });
  for (let tries = 0; taken.length < 2 && tries < 200; tries += 1) await page.waitForTimeout(50);
  check(taken.length === 2, `only the step went out through it: ${taken.length}`);
  await page.getByRole("link", { name: "Edit" }).click();
  check((await page.getByLabel("Steps").inputValue()) === "anna via team\n15m ben via team", "the steps are shown as they were written");
  await page.getByLabel(/^Acknowledgements expire after/).fill("2h");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Acknowledgements expire after 2 h").waitFor();
  await page.getByText("Remove…").click();
  await page.getByRole("button", { name: "Remove", exact: true }).click();
  await page.getByText("Removed night").waitFor();

  await page.getByRole("link", { name: "team", exact: true }).click();
  await page.getByText("Remove…").click();
  await page.getByRole("button", { name: "Remove", exact: true }).click();
  await page.getByText("Removed team").waitFor();
  check((await world.api("GET", "/v1/channels")).items.length === 0, "it is gone");
  const wrongs = page.wrongs.filter((wrong) => !wrong.includes("422"));
  check(wrongs.length === 0, wrongs.join());
  await context.close();
  await world.stop();
  receiver.close();
});

for (const theme of ["light", "dark"]) {
  flow(`the pages of setting up are accessible and fit, ${theme}`, async ({ url, browser, world }) => {
    for (const width of [1440, 1024, 390]) {
      const { context, page } = await open(browser, world, { theme, viewport: { width, height: 900 } });
      for (const path of ["/channels", "/channels/new?kind=email", "/channels/new?kind=slack", "/escalations/new", "/jobs/import", "/jobs/new"]) {
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

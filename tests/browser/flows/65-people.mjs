// Who may do what, and what people do when something is wrong.
import { complaints, NARROW, open, WIDE } from "../browser.mjs";
import { check, flow } from "../main.mjs";

flow("a token in the form signs in, and signing out ends it", { signedIn: false }, async ({ page, url, world }) => {
  page.expected.push("401");
  await page.goto(`${url}/jobs`);
  await page.getByLabel("Token").fill("wrong");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("alert").waitFor();
  await page.getByLabel("Token").fill(world.token);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("navigation", { name: "Main" }).waitFor();
  // Its scripts show the switch for live updates: from then on nothing moves under the pointer.
  await page.locator("#live").waitFor();
  await page.locator(".settings summary").click();
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("Token").waitFor();
});

flow("a viewer reads everything and sees no button", async ({ browser, world, jobs }) => {
  const { token } = await world.api("POST", "/v1/tokens", { name: "ada", role: "viewer" });
  const { context, page } = await open(browser, { ...world, url: world.url, token });
  for (const path of ["/", "/jobs?q=heartbeat", `/jobs/${jobs.heartbeat.id}`, `/runs/${jobs.exportRun}`, "/incidents", "/hooks"]) {
    await page.goto(world.url + path);
    const names = await page.locator("main").getByRole("button").allTextContents();
    const acting = names.filter((name) => /Run|Pause|Resume|Cancel|Trigger|Edit|Start|Backfill/.test(name));
    check(acting.length === 0, `${path} offers ${acting.join(", ")}`);
    check((await page.locator("main input[type=checkbox][name=id]").count()) === 0, `${path} lets choose rows`);
  }
  check((await page.getByRole("link", { name: "Tokens" }).count()) === 0, "tokens are for admins");
  page.expected.push("403");
  const answer = await page.goto(`${world.url}/jobs/new`);
  check(answer.status() === 403, `the form answered ${answer.status()}`);
  await context.close();
});

flow("an incident goes from a failing job to resolved", async ({ page, url, world }) => {
  const job = await world.job({ label: "pays-invoices", tool_name: "shell", tool_input: { script: "exit 7" }, trigger: { type: "manual" }, on_failure: { incident: { severity: "high", after: 1 } } });
  await world.api("POST", `/v1/jobs/${job.id}/trigger`);
  await world.until("an incident is open", async () => (await world.api("GET", "/v1/incidents?status=open")).items.length > 0);
  await page.goto(url);
  await page.getByRole("region", { name: "Open incidents" }).getByRole("link").first().waitFor();
  await page.getByRole("link", { name: "Incidents", exact: true }).click();
  await page.getByRole("link", { name: /pays-invoices/ }).first().click();
  await page.getByRole("button", { name: "Acknowledge" }).click();
  await page.getByText("acknowledged by").waitFor();
  await page.locator("#change-form > summary").click();
  await page.getByLabel("Assign to").fill("ada");
  await page.getByRole("button", { name: "Assign" }).click();
  await page.locator(".timeline").getByText("assigned it to ada").waitFor();
  await page.getByLabel("Note").fill("the bank was closed");
  await page.getByRole("button", { name: "Add note" }).click();
  await page.locator(".timeline").getByText("the bank was closed").waitFor();
  await page.getByRole("button", { name: "Resolve" }).click();
  await page.locator(".sev-line").getByText("resolved").waitFor();
});

flow("an incident reads like a story, with people, impact, action items and a postmortem", async ({ page, url, world, browser }) => {
  const job = await world.job({ label: "closes-the-books", tool_name: "shell", tool_input: { script: "exit 3" }, trigger: { type: "manual" }, on_failure: { incident: { severity: "sev1", after: 1 } } });
  for (let n = 0; n < 5; n++) {
    const { run_id } = await world.api("POST", `/v1/jobs/${job.id}/trigger`);
    await world.until("the run is over", async () => (await world.api("GET", `/v1/runs/${run_id}`)).status.type === "failed");
  }
  const incident = await world.until("five failures are in one incident", async () =>
    (await world.api("GET", "/v1/incidents?search=closes-the-books")).items.find((one) => one.title.includes("5 times")));
  const place = `${url}/incidents/${incident.id}`;
  await page.goto(place);
  check(await page.locator(".incident-head.sev1:not(.over)").isVisible(), "sev1 looks like sev1");
  await page.locator(".story").getByText("reported 4 times").waitFor();
  check((await page.locator(".story > li").count()) === 2, "four repetitions are one line");
  await page.locator(".repeats > summary").click();
  check((await page.locator(".repeats li").count()) === 4, "and behind it all of them");
  await page.getByRole("heading", { name: "closes-the-books around that time" }).waitFor();
  check((await page.locator(".around .dot.failed").count()) === 5, "the chart has a stroke for each failure");
  await page.locator(".incident-stats").getByText("5 failed runs").waitFor();

  await page.locator("#change-form > summary").click();
  await page.getByLabel("Lead", { exact: true }).fill("ada");
  await page.getByRole("button", { name: "Set Lead" }).click();
  await page.locator(".story").getByText("made ada the lead").waitFor();
  await page.locator("#impact-form > summary").click();
  await page.getByLabel("Who is affected, and how").fill("No books are closed.");
  await page.getByRole("button", { name: "Save" }).click();
  await page.locator(".story blockquote").getByText("No books are closed.").waitFor();
  await page.getByLabel("New action item").fill("ask the bank");
  await page.getByLabel("Owner").fill("bob");
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await page.getByRole("button", { name: "Complete action item 1" }).click();
  await page.getByRole("button", { name: "Reopen action item 1" }).waitFor();

  await page.getByText("Snooze…").click();
  await page.getByRole("button", { name: "2 hours" }).first().click();
  await page.locator(".sev-line").getByText(/snoozed by/).waitFor();
  await page.getByRole("button", { name: "End snooze" }).click();
  await page.locator(".story").getByText("ended the snooze").waitFor();

  await page.getByRole("link", { name: "Write postmortem" }).click();
  await page.getByLabel("Analysis").fill("### Why it happened\n\nThe bank was **closed**.");
  await page.getByRole("button", { name: "Save" }).click();
  await page.locator(".prose strong").getByText("closed").waitFor();
  const document = await world.text(`/v1/incidents/${incident.id}/export`);
  for (const words of ["The bank was **closed**.", "- [x] ask the bank (bob)", "- **Lead:** ada", "No books are closed."]) check(document.includes(words), `${words} is in the export`);

  for (const theme of ["light", "dark"]) {
    for (const viewport of [WIDE, { width: 1024, height: 768 }, NARROW]) {
      const { context, page: other } = await open(browser, world, { theme, viewport });
      for (const path of [place, `${place}/postmortem`]) {
        await other.goto(path);
        const wide = await other.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
        check(wide <= 0, `${path} at ${viewport.width} is ${wide} px too wide`);
        const found = await complaints(other);
        check(found.length === 0, `${theme} ${viewport.width} ${path}: ${found.join("; ")}`);
      }
      check(other.wrongs.length === 0, other.wrongs.join("; "));
      await context.close();
    }
  }
  await page.goto(place);
  await page.emulateMedia({ media: "print" });
  check(!(await page.locator("nav#nav").isVisible()) && !(await page.locator(".note-form").first().isVisible()), "paper shows the story alone");
  check(await page.locator(".story").isVisible(), "the story is printed");
});

flow("a silence holds notifications back until somebody ends it", async ({ page, url, world }) => {
  await page.goto(`${url}/silences`);
  await page.getByText("Add a silence").click();
  await page.getByLabel("Matching").fill("pays-*");
  await page.getByLabel("For", { exact: true }).selectOption("2h");
  await page.getByLabel("Reason").fill("the bank moves");
  await page.getByRole("button", { name: "Add silence" }).click();
  const row = page.getByRole("row").filter({ hasText: "pays-*" });
  await row.waitFor();
  const count = async () => (await world.api("GET", "/v1/silences")).items.filter((one) => one.matching === "pays-*").length;
  check((await count()) === 1, "it is there");
  await row.getByRole("button", { name: /^End the silence/ }).click();
  await page.getByText("The silence is over").waitFor();
  check((await count()) === 0, "it is gone");
});

flow("an incident is started by hand", async ({ page, url }) => {
  await page.goto(`${url}/incidents`);
  await page.getByText("Start an incident").click();
  await page.getByLabel("Title").fill("Payments are slow");
  await page.getByRole("button", { name: "Start", exact: true }).click();
  await page.getByRole("heading", { name: "Payments are slow" }).waitFor();
});

flow("a hook shows what came in and what it started", async ({ page, url, world }) => {
  await world.api("POST", "/v1/hooks", { slug: "github" });
  await fetch(`${url}/hooks/github`, { method: "POST", headers: { "Content-Type": "application/json" }, body: '{"ref": "main"}' });
  await page.goto(`${url}/hooks`);
  await page.getByRole("row").filter({ hasText: "github" }).getByRole("link", { name: /^run / }).first().waitFor();
});

flow("a monitor and a token are listed", async ({ page, url, world }) => {
  await world.api("POST", "/v1/monitors", { name: "nightly-backup", every: "1d", grace: "1h" });
  await page.goto(`${url}/monitors`);
  await page.getByText("nightly-backup").waitFor();
  await page.goto(`${url}/tokens`);
  await page.getByRole("row").filter({ hasText: "admin" }).first().waitFor();
});

// Who may do what, and what people do when something is wrong.
import { open } from "../browser.mjs";
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
  await page.getByLabel("Assign to").fill("ada");
  await page.getByRole("button", { name: "Assign" }).click();
  await page.locator(".timeline").getByText("assigned to ada").waitFor();
  await page.getByLabel("Note").fill("the bank was closed");
  await page.getByRole("button", { name: "Add note" }).click();
  await page.locator(".timeline").getByText("the bank was closed").waitFor();
  await page.getByRole("button", { name: "Resolve" }).click();
  await page.locator(".under").getByText("resolved").waitFor();
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

// What a job was, what it comes after, and who changed what.
import { complaints, NARROW, open, WIDE } from "../browser.mjs";
import { check, flow } from "../main.mjs";

async function everywhere(browser, world, paths) {
  for (const theme of ["light", "dark"]) {
    for (const viewport of [WIDE, { width: 1024, height: 768 }, NARROW]) {
      const { context, page } = await open(browser, world, { theme, viewport });
      for (const path of paths) {
        await page.goto(world.url + path);
        const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
        check(wide <= 0, `${path} at ${viewport.width} is ${wide} px too wide`);
        const found = await complaints(page);
        check(found.length === 0, `${theme} ${viewport.width} ${path}: ${found.join("; ")}`);
      }
      check(page.wrongs.length === 0, page.wrongs.join("; "));
      await context.close();
    }
  }
}

flow("a job's definition shows who changed what, and goes back", async ({ page, url, world, browser }) => {
  const job = await world.job({ label: "changes-often", tool_name: "noop", trigger: { type: "scheduled", every: "1h" } });
  await world.api("PATCH", `/v1/jobs/${job.id}`, { priority: 9, description: "hurry" });
  await page.goto(`${url}/jobs/${job.id}`);
  await page.getByRole("navigation", { name: "Parts of this page" }).getByRole("link", { name: "Definition" }).click();
  await page.locator("#revision-2 .diff").getByText("priority").waitFor();
  check(/admin/.test(await page.locator("#revision-2 .revision-head").textContent()), "who did it");
  await page.locator("#revision-1").getByText("Revert to this…").click();
  await page.getByRole("button", { name: "Revert to revision 1" }).click();
  await page.getByText("Reverted changes-often: it is at revision 3").waitFor();
  const after = await world.api("GET", `/v1/jobs/${job.id}`);
  check(after.priority === 5 && !after.description && after.revision === 3, JSON.stringify(after));
  for (const [name, heading] of [["History", "History"], ["Incidents", "Incidents of this job"], ["Chain", "Chain"]]) {
    await page.getByRole("navigation", { name: "Parts of this page" }).getByRole("link", { name }).click();
    await page.getByRole("heading", { name: heading, exact: true }).waitFor();
  }
  await everywhere(browser, world, ["/definition", "/history", "/incidents", "/chain"].map((tab) => `/jobs/${job.id}${tab}`));
});

flow("chains are drawn with the state of each job", async ({ page, url, world, browser }) => {
  const script = (text) => ({ tool_name: "shell", tool_input: { script: text } });
  const first = await world.job({ label: "extract", ...script("true"), trigger: { type: "manual" } });
  const second = await world.job({ label: "transform", ...script("exit 4"), trigger: { type: "manual" }, after: { jobs: [first.id] } });
  const third = await world.job({ label: "load", ...script("true"), trigger: { type: "manual" }, after: { jobs: [second.id] } });
  await page.goto(`${url}/jobs/${third.id}/chain`);
  check((await page.locator(".graph .node").count()) === 3, "three jobs");
  check((await page.locator(".graph .edge").count()) === 2, "two links");
  const left = (label) => page.locator(".graph .node", { hasText: label }).evaluate((node) => node.getBoundingClientRect().left);
  check((await left("extract")) < (await left("transform")) && (await left("transform")) < (await left("load")), "in order");
  await world.api("POST", `/v1/jobs/${first.id}/trigger`);
  await page.locator(".graph .node.failed", { hasText: "transform" }).waitFor();
  await page.locator(".graph .node.completed", { hasText: "extract" }).waitFor();
  await page.getByText("In words").click();
  await page.locator(".graph-words").getByRole("link", { name: "transform" }).first().waitFor();
  await page.goto(`${url}/chains`);
  await page.locator(".graph .node", { hasText: "load" }).waitFor();
  await everywhere(browser, world, ["/chains", `/jobs/${second.id}/chain`]);
});

flow("the audit lists changes and logins, and narrows", async ({ page, url, world, browser }) => {
  await world.api("POST", "/v1/hooks", { slug: "audited" });
  await fetch(`${url}/login?token=wrong`, { redirect: "manual" });
  await page.goto(`${url}/audit`);
  await page.getByRole("row").filter({ hasText: "HookAdded" }).filter({ hasText: "audited" }).first().waitFor();
  await page.getByRole("link", { name: "logins", exact: true }).click();
  await page.getByRole("row").filter({ hasText: "LoginDenied" }).first().waitFor();
  await page.getByRole("row").filter({ hasText: "LoggedIn" }).first().waitFor();
  check((await page.getByRole("row").filter({ hasText: "HookAdded" }).count()) === 0, "nothing else");
  await page.getByLabel("Who").fill("nobody");
  await page.getByRole("button", { name: "Show" }).click();
  check((await page.getByRole("row").filter({ hasText: "LoggedIn" }).count()) === 0, "only those who were refused");
  const runs = (await world.api("GET", "/v1/audit?type=JobTriggered")).items;
  check(runs.length === 0, "no run stands here");
  await everywhere(browser, world, ["/audit"]);
});

flow("a view gets a name, rows go by keys, and the palette finds everything", async ({ page, url, world }) => {
  await world.api("POST", "/v1/incidents", { title: "Palette incident", severity: "sev4" });
  await page.goto(`${url}/jobs?q=heartbeat`);
  await page.getByText("Save this view…").click();
  await page.getByLabel("Name of the view").fill("hearts");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.goto(`${url}/jobs`);
  await page.getByRole("link", { name: "hearts" }).click();
  await page.waitForURL(/q=heartbeat/);
  await page.getByRole("button", { name: "Forget the view hearts" }).click();
  check((await page.getByRole("link", { name: "hearts", exact: true }).count()) === 0, "forgotten");

  await page.goto(`${url}/jobs`);
  await page.locator("#live").waitFor();
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  check((await page.locator("tr.row-here").count()) === 1, "one row is marked");
  await page.keyboard.press("k");
  const label = await page.locator("tr.row-here a.strong, tr.row-here .name a").first().textContent();
  await page.keyboard.press("x");
  check((await page.locator("tr.row-here input:checked").count()) === 1, "ticked");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: label.trim() }).first().waitFor();

  await page.keyboard.press("Control+k");
  await page.locator("#palette-input").fill("Palette inc");
  await page.locator("#palette-list li", { hasText: "Palette incident" }).waitFor();
  await page.locator("#palette-input").fill("heartbeat");
  await page.locator("#palette-list li", { hasText: "heartbeat, run" }).first().waitFor();
  await page.locator("#palette-input").fill("silence");
  await page.locator("#palette-list li", { hasText: "Add a silence" }).waitFor();
});

flow("pages are as dense as somebody wants", async ({ page, url }) => {
  await page.goto(`${url}/jobs`);
  const height = () => page.locator("tbody tr").first().evaluate((row) => row.getBoundingClientRect().height);
  const before = await height();
  await page.locator("#live").waitFor();
  await page.locator(".settings summary").click();
  await page.getByRole("button", { name: "Compact" }).click();
  await page.locator("html[data-density=compact]").waitFor();
  check((await height()) < before, "rows are lower");
});

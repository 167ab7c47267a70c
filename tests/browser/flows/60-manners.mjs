import { NARROW, complaints, open } from "../browser.mjs";
import { check, flow } from "../main.mjs";
import { World } from "../world.mjs";

flow("the palette finds jobs and pages by keys alone", async ({ page, url }) => {
  await page.goto(url);
  await page.keyboard.press("Control+k");
  await page.keyboard.type("nightly");
  await page.getByRole("option", { name: /nightly-report/ }).waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "nightly-report" }).waitFor();
});

flow("keys lead from page to page and tell themselves", async ({ page, url }) => {
  await page.goto(url);
  await page.keyboard.press("g");
  await page.keyboard.press("r");
  await page.waitForURL(/\/runs/);
  await page.keyboard.press("?");
  await page.getByRole("dialog", { name: "Keys" }).waitFor();
  await page.keyboard.press("Escape");
  await page.keyboard.press("n");
  await page.waitForURL(/\/jobs\/new/);
});

flow("live updates are paused and resumed", async ({ page, url }) => {
  await page.goto(`${url}/runs`);
  await page.getByRole("button", { name: "Live" }).click();
  await page.getByRole("button", { name: "Paused" }).waitFor();
  const first = () => page.locator("tbody tr").first().getAttribute("id");
  // What was under way when it was paused may still arrive.
  await page.waitForTimeout(1500);
  const before = await first();
  await page.waitForTimeout(3000);
  check((await first()) === before, "nothing moves");
  await page.getByRole("button", { name: "Paused" }).click();
  await page.waitForFunction((before) => document.querySelector("tbody tr").id !== before, before);
});

flow("a live page does not jump, and keeps focus and what is open", async ({ page, url, jobs }) => {
  await page.goto(`${url}/jobs/${jobs.heartbeat.id}`);
  await page.getByText("Run with another input").click();
  const input = page.getByRole("textbox", { name: "Input" });
  await input.fill('{"half": "typed');
  const newest = await page.locator("tbody tr").first().getAttribute("id");
  await page.waitForFunction((newest) => document.querySelector("tbody tr").id !== newest, newest);
  check((await input.inputValue()) === '{"half": "typed', "what is typed stays");
  check(await input.evaluate((one) => document.activeElement === one), "the focus stays");
});

flow("the theme is chosen and kept", async ({ page, url }) => {
  await page.goto(url);
  const ground = () => page.evaluate(() => getComputedStyle(document.body.parentElement).backgroundColor);
  const light = await ground();
  await page.locator(".settings summary").click();
  await page.getByRole("button", { name: "Dark" }).click();
  await page.waitForFunction(() => document.documentElement.dataset.theme === "dark");
  check((await ground()) !== light, "it is dark");
  await page.goto(`${url}/jobs`);
  check((await page.evaluate(() => document.documentElement.dataset.theme)) === "dark", "on other pages too");
});

flow("without a choice the theme is the system's", { theme: "dark" }, async ({ page, url }) => {
  await page.goto(url);
  check((await page.evaluate(() => getComputedStyle(document.documentElement).colorScheme)) === "dark", "dark");
});

flow("times are shown in my zone, in UTC or in the job's", { zone: "Asia/Tokyo" }, async ({ page, url, jobs }) => {
  await page.goto(`${url}/jobs/${jobs["nightly-report"].id}`);
  const title = () => page.locator(".under time").getAttribute("title");
  check((await title()).includes("JST") || (await title()).includes("+09"), await title());
  await page.locator(".settings summary").click();
  await page.getByRole("button", { name: "UTC", exact: true }).click();
  check((await title()).endsWith("UTC") && !(await title()).includes("·"), await title());
  await page.locator(".settings summary").click();
  await page.getByRole("button", { name: "Job's zone" }).click();
  check(/CES?T/.test(await title()), await title());
});

flow("on a phone nothing is wider than the screen and everything can be reached", { viewport: NARROW }, async ({ page, url, jobs }) => {
  for (const path of ["/", "/jobs", "/jobs?q=consolidate", "/jobs/new", `/jobs/${jobs.heartbeat.id}`, "/runs", `/runs/${jobs.exportRun}`, "/executors", "/nodes", "/incidents", "/hooks", "/monitors", "/tokens", "/notifications"]) {
    await page.goto(url + path);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    check(wide <= 0, `${path} is ${wide} px too wide`);
  }
  await page.locator(".nav-more summary").click();
  await page.locator(".nav-more").getByRole("link", { name: "Nodes" }).click();
  await page.waitForURL(/\/nodes/);
});

flow("a keyboard reaches the content past the navigation", async ({ page, url }) => {
  await page.goto(`${url}/jobs`);
  await page.keyboard.press("Tab");
  check((await page.evaluate(() => document.activeElement.textContent)) === "Skip to content", "the first stop");
  await page.keyboard.press("Enter");
  check((await page.evaluate(() => location.hash)) === "#main", "leads to the content");
});

flow("a command is copied", async ({ page, url, context }) => {
  await page.goto(`${url}/executors`);
  const hasClipboard = await page.evaluate(() => window.isSecureContext);
  if (hasClipboard) await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: url });
  await page.getByRole("button", { name: "Copy" }).first().click();
  await page.locator("#said").getByText("Copied").waitFor({ state: "attached" });
  // Beyond loopback, over plain HTTP, pages have no clipboard: what was copied is pasted as people do it.
  await page.evaluate(() => document.body.append(Object.assign(document.createElement("textarea"), { id: "pasted" })));
  await page.locator("#pasted").focus();
  await page.keyboard.press("Control+V");
  const pasted = await page.waitForFunction(() => document.getElementById("pasted").value);
  check((await pasted.jsonValue()).startsWith("ordo executor"), "the command");
});

flow("every empty page shows the command to begin with", async ({ browser }) => {
  const fresh = await World.start();
  const { url } = fresh;
  const { context, page } = await open(browser, fresh);
  for (const [path, words] of [["/incidents", "ordo incident start"], ["/monitors", "ordo monitor add"], ["/hooks", "ordo hook add"], ["/notifications", "ordo notification list"], ["/executors", "ordo executor"], ["/nodes", "ordo serve --store"]]) {
    await page.goto(url + path);
    await page.getByText(words).first().waitFor();
  }
  await context.close();
  await fresh.stop();
});

flow("without a token a browser is asked for one", { signedIn: false }, async ({ page, url }) => {
  page.expected.push("401");
  const answer = await page.goto(`${url}/jobs`);
  check([200, 401].includes(answer.status()), `answered ${answer.status()}`);
  await page.getByLabel("Token").waitFor();
  check((await complaints(page)).length === 0, "and the page is accessible");
});

flow("a new server welcomes and tells the first command", async ({ browser }) => {
  const fresh = await World.start();
  const { context, page } = await open(browser, fresh);
  await page.goto(fresh.url);
  await page.getByRole("heading", { name: "No jobs yet" }).waitFor();
  await page.getByText("ordo job add hello --every 10s -- echo hi").waitFor();
  check(page.wrongs.length === 0, page.wrongs.join());
  await context.close();
  await fresh.stop();
});

flow("everything works below a path prefix", async ({ browser }) => {
  const below = await World.start([["ORDO_SERVE__BASE_PATH", "/ops/ordo"]]);
  const job = await below.job({ label: "below", tool_name: "shell", tool_input: { script: "echo below" }, trigger: { type: "scheduled", every: "1s" } });
  const { context, page } = await open(browser, below);
  await page.goto(`${below.url}/ops/ordo/`);
  await page.getByRole("link", { name: "Jobs", exact: true }).click();
  await page.waitForURL(/\/ops\/ordo\/jobs/);
  await page.getByRole("link", { name: "below" }).click();
  await page.getByRole("button", { name: "Run now" }).click();
  await page.waitForURL(/\/ops\/ordo\/runs\//);
  await page.locator("#log-lines").getByText("below").waitFor();
  check(job && page.wrongs.length === 0, page.wrongs.join());
  await context.close();
  await below.stop();
});

flow("what was typed comes back when the server refuses it", async ({ page, url, world, jobs }) => {
  await page.goto(`${url}/jobs/${jobs.heartbeat.id}`);
  await page.getByText("Run with another input").click();
  const input = page.locator("#tool_input");
  const typed = '{"script": "echo half';
  await input.fill(typed);
  await page.getByRole("button", { name: "Run with this input" }).click();
  await page.getByText("the input is not JSON").waitFor();
  check((await input.isVisible()) && (await input.inputValue()) === typed, "the input is there again");
  await page.goto(`${url}/jobs/${jobs.heartbeat.id}`);
  check((await input.inputValue()) !== typed, "once");

  // A limit in bytes is met by letters that take two.
  const incident = await world.api("POST", "/v1/incidents", { title: "The ledger is wrong", identifier: "refused-postmortem" });
  await page.goto(`${url}/incidents/${incident.id}/postmortem`);
  const text = page.getByLabel("Analysis");
  const long = "ü".repeat(Number(await text.getAttribute("maxlength")) - 1);
  await text.fill(long);
  await page.getByRole("button", { name: "Save" }).click();
  await page.locator("#flash .bad").waitFor();
  check(new URL(page.url()).pathname.endsWith("/postmortem") && (await text.inputValue()) === long, "the postmortem is not lost");
});

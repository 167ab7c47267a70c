import { check, flow } from "../main.mjs";

flow("home begins with what is broken", async ({ page, url }) => {
  await page.goto(url);
  // The page may have been made a moment before the runs that failed were known; it goes on by itself.
  await page.getByRole("heading", { level: 1 }).filter({ hasText: "failing" }).waitFor();
  const section = page.getByRole("region", { name: "Failing" });
  await section.getByRole("link", { name: "backup-database" }).waitFor();
  await section.getByText("exit", { exact: false }).first().waitFor();
  check(/^\(\d+\) Home/.test(await page.title()), "the title tells of trouble");
  check((await page.locator("#favicon").getAttribute("href")).includes("trouble"), "the icon tells of trouble");
});

flow("home shows what runs now with its time going on", async ({ page, url }) => {
  await page.goto(url);
  const row = page.getByRole("region", { name: "Running now" }).getByRole("listitem").filter({ hasText: "export-ledger" });
  const before = await row.locator("time").textContent();
  await page.waitForFunction((before) => document.querySelector('[aria-labelledby="h-running"] time')?.textContent !== before, before);
});

flow("the ring shows what is about to fire and its hand moves", async ({ page, url }) => {
  await page.goto(url);
  check((await page.locator("#ring .mark").count()) > 10, "there are marks");
  const angle = () => page.locator("#ring-hand").getAttribute("transform");
  const before = await angle();
  await page.waitForFunction((before) => document.getElementById("ring-hand").getAttribute("transform") !== before, before);
  await page.getByRole("region", { name: "Next 60 seconds" }).getByRole("link", { name: "heartbeat" }).first().waitFor();
});

flow("the next 24 hours and the minutes are drawn", async ({ page, url }) => {
  await page.goto(url);
  check((await page.locator(".plot.day .fires").count()) > 10, "the day has fires");
  await page.locator(".plot.bars .completed").first().waitFor();
  await page.getByRole("region", { name: "Health" }).getByText("ready", { exact: true }).waitFor();
});

flow("a failing job is run again from home without leaving it", async ({ page, url, world, jobs }) => {
  const runs = async () => (await world.api("GET", `/v1/jobs/${jobs["backup-database"].id}`)).version;
  await page.goto(url);
  const before = await runs();
  await page.getByRole("button", { name: "Run backup-database now" }).click();
  await page.getByText("Triggered backup-database").waitFor();
  check(page.url() === `${url}/`, "still at home");
  check((await runs()) > before, "it was triggered");
});

// The calendar: what fires when, what meets, and what if.
import { complaints, open } from "../browser.mjs";
import { check, flow } from "../main.mjs";

flow("the week shows when jobs fire, and what meets", async ({ page, url }) => {
  await page.goto(url);
  await page.getByRole("link", { name: "Calendar", exact: true }).click();
  await page.getByRole("heading", { name: "Calendar", level: 1 }).waitFor();
  check((await page.locator(".week tbody tr").count()) === 24, "a row for each hour");
  check((await page.locator(".week thead th").count()) === 7, "a column for each day");
  check((await page.locator(".week td[class*='s5']").count()) > 0, "the fullest hour is dark");
  await page.getByRole("region", { name: /Collisions/ }).getByText(/jobs: /).first().waitFor();
  // 10,000 jobs fire once a day, and only some are looked at: the page says so.
  await page.getByText(/Not everything is counted: only the .* jobs that fire soonest/).waitFor();
  await page.locator(".under").getByText(/at least [\d,]+ fires/).waitFor();
});

flow("the month leads to the week of a day", async ({ page, url }) => {
  await page.goto(`${url}/calendar?view=month`);
  check((await page.locator(".month tbody td").count()) === 35, "five weeks");
  await page.locator(".month td a").nth(3).click();
  await page.waitForURL(/view=week&from=/);
  check((await page.locator(".week tbody tr").count()) === 24, "the week of that day");
});

flow("the nights in which a clock changes are marked", async ({ page, url }) => {
  await page.goto(`${url}/calendar?view=week&from=2027-03-25`);
  await page.locator("th .dst").getByText("Europe/Berlin goes forward").waitFor();
  check((await page.locator("td.skipped-hour").count()) === 1, "the hour that does not exist is left out");
  await page.goto(`${url}/calendar?view=month&from=2027-10-20`);
  await page.locator("td .dst").getByText("Europe/Berlin goes back").first().waitFor();
});

flow("what if a job were added", async ({ page, url, world }) => {
  const before = (await world.api("GET", "/v1/jobs?limit=1&order=newest").catch(() => ({ items: [] }))).items.length;
  await page.goto(`${url}/calendar`);
  await page.getByLabel("Cron expression").fill("0 2 * * *");
  await page.getByLabel("Time zone", { exact: true }).fill("Europe/Berlin");
  await page.getByLabel(/A run takes/).fill("30m");
  await page.getByRole("button", { name: "Show", exact: true }).click();
  await page.getByRole("rowheader", { name: "Fires" }).waitFor();
  await page.getByText("not there yet").waitFor();
  const typed = await page.locator(".what-if code").textContent();
  check(typed.includes("ordo forecast --if - --took 30m"), typed);
  await page.getByLabel("Cron expression").fill("never");
  await page.getByRole("button", { name: "Show", exact: true }).click();
  await page.getByRole("alert").waitFor();
  void before;
});

flow("the form of a job says what it would meet", async ({ page, url }) => {
  await page.goto(`${url}/jobs/new`);
  await page.getByLabel("Label", { exact: true }).fill("meets-others");
  await page.locator("#script").fill("echo hi");
  await page.locator("#cron").fill("0 2 * * *");
  await page.locator("#timezone").fill("Europe/Berlin");
  await page.locator(".hints").getByText(/Fires in the same minute as .*nightly-report/).waitFor();
});

for (const theme of ["light", "dark"]) {
  flow(`the calendar is accessible and fits, ${theme}`, async ({ url, browser, world }) => {
    for (const width of [1440, 1024, 390]) {
      const { context, page } = await open(browser, world, { theme, viewport: { width, height: 900 } });
      for (const path of ["/calendar", "/calendar?view=month", "/calendar?cron=0+2+*+*+*&tz=UTC&took=5m"]) {
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

import { check, flow } from "../main.mjs";
import { LONG } from "../seed.mjs";

flow("the list of jobs has schedule, next fire, beats and last outcome", async ({ page, url }) => {
  await page.goto(`${url}/jobs?q=heartbeat`);
  const row = page.getByRole("row").filter({ hasText: "heartbeat" });
  await row.getByText("every 2 seconds").waitFor();
  await row.getByRole("img", { name: /^last \d+: \d+ completed/ }).waitFor();
  await row.getByText("completed").first().waitFor();
  check(/in \d+ s|now/.test(await row.locator("time").first().textContent()), "the next fire is relative");
  check((await row.locator("time").first().getAttribute("title")).includes("UTC"), "and exact on hover");
});

flow("jobs are found by fields and words, and the search stays in the address", async ({ page, url }) => {
  await page.goto(`${url}/jobs`);
  await page.keyboard.press("/");
  await page.keyboard.type("tool:http label:ping");
  await page.keyboard.press("Enter");
  await page.waitForURL(/q=tool%3Ahttp/);
  check((await page.locator("tbody tr").count()) === 1, "one job fits");
  await page.reload();
  check((await page.getByRole("searchbox", { name: "Search jobs" }).inputValue()) === "tool:http label:ping", "kept");
});

flow("jobs are found by how their last run ended", async ({ page, url }) => {
  await page.goto(`${url}/jobs?q=failed`);
  await page.getByRole("link", { name: "backup-database" }).waitFor();
  check((await page.getByRole("link", { name: "heartbeat" }).count()) === 0, "not those that do well");
});

flow("an unknown field is reported", async ({ page, url }) => {
  await page.goto(`${url}/jobs?q=colour%3Ared`);
  await page.getByRole("alert").getByText("is not a field").waitFor();
});

flow("a chip narrows the list", async ({ page, url }) => {
  await page.goto(`${url}/jobs`);
  await page.getByRole("link", { name: "Paused", exact: true }).click();
  await page.waitForURL(/state%3Apaused/);
  await page.getByText("waiting for the new HSM").waitFor();
});

flow("pages follow each other without a gap or a repetition", async ({ page, url }) => {
  await page.goto(`${url}/jobs?q=shard&sort=label`);
  const labels = () => page.locator("tbody .name > a").allTextContents();
  const first = await labels();
  await page.getByRole("link", { name: "Next page" }).click();
  await page.waitForURL(/after=/);
  const second = await labels();
  check(first.length === 50 && first[0] === "shard-00000" && first[49] === "shard-00049", `first page: ${first[0]}…${first[49]}`);
  check(second[0] === "shard-00050", `second page begins with ${second[0]}`);
});

flow("jobs are sorted by what fires next and by age", async ({ page, url }) => {
  await page.goto(`${url}/jobs?sort=next`);
  const times = await page.locator("tbody td:nth-child(4) time").evaluateAll((all) => all.map((time) => Date.parse(time.dateTime)));
  check(times.length > 5 && times[0] < Date.now() + 60000, "the soonest first");
  await page.getByRole("link", { name: "Newest" }).click();
  await page.waitForURL(/sort=new/);
  check((await page.locator("tbody .name > a").first().textContent()).startsWith("shard-"), "the newest first");
});

flow("long and foreign labels do not break the list", async ({ page, url }) => {
  await page.goto(`${url}/jobs?q=consolidate`);
  await page.getByRole("link", { name: LONG }).waitFor();
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  check(wide <= 0, `the page is ${wide} px too wide`);
  await page.goto(`${url}/jobs?q=${encodeURIComponent("日本語")}`);
  await page.getByRole("link", { name: "résumé-générateur 日本語" }).waitFor();
});

flow("a row pauses and resumes its job in place", async ({ page, url, world, jobs }) => {
  await page.goto(`${url}/jobs?q=quarter-hourly&sort=label`);
  await page.getByRole("button", { name: "Pause quarter-hourly-rollup" }).click();
  await page.getByText("Paused quarter-hourly-rollup").waitFor();
  await page.getByRole("row").filter({ hasText: "quarter-hourly" }).getByText("paused").waitFor();
  await page.getByRole("button", { name: "Resume quarter-hourly-rollup" }).click();
  await page.getByText("Resumed quarter-hourly-rollup").waitFor();
  check((await world.api("GET", `/v1/jobs/${jobs["quarter-hourly-rollup"].id}`)).state === "active", "active again");
});

flow("ticked jobs are counted, asked about and paused", async ({ page, url, world }) => {
  await page.goto(`${url}/jobs?q=shard-0990&sort=label`);
  await page.getByRole("checkbox", { name: "Select shard-09901" }).check();
  await page.getByRole("checkbox", { name: "Select shard-09902" }).check();
  await page.getByText("2 selected").waitFor();
  await page.locator("#bulk-bar").getByRole("button", { name: "Pause" }).click();
  await page.getByRole("heading", { name: "Pause 2 jobs?" }).waitFor();
  await page.getByLabel("Reason").fill("moving");
  await page.getByRole("button", { name: "Pause them" }).click();
  await page.getByText("Paused 2 jobs").waitFor();
  const { items } = await world.api("GET", "/v1/jobs?search=shard-0990&state=paused");
  check(items.length === 2 && items[0].paused_reason === "moving", "both are paused, with the reason");
});

flow("500 of 10,000 matching jobs are paused at once", async ({ page, url, world }) => {
  await page.goto(`${url}/jobs?q=label%3Ashard+state%3Aactive`);
  await page.getByRole("checkbox", { name: "all that match" }).check();
  await page.locator("#bulk-bar").getByRole("button", { name: "Pause" }).click();
  await page.getByRole("heading", { name: /^Pause 9,99\d jobs\?$/ }).waitFor();
  await page.getByLabel("At most").fill("500");
  await page.getByRole("button", { name: "Pause them" }).click();
  await page.getByText("Paused 500 jobs").waitFor();
  let count = 0;
  for (let cursor = ""; cursor !== null; ) {
    const list = await world.api("GET", `/v1/jobs?state=paused&limit=200${cursor && `&cursor=${cursor}`}`);
    count += list.items.length;
    cursor = list.next_cursor;
  }
  check(count === 503, `${count} are paused: 500, 2 from before, and one by its owner`);
});

flow("all that match are resumed again", async ({ page, url }) => {
  await page.goto(`${url}/jobs?q=label%3Ashard+state%3Apaused`);
  await page.getByRole("checkbox", { name: "all that match" }).check();
  await page.locator("#bulk-bar").getByRole("button", { name: "Resume" }).click();
  await page.getByRole("button", { name: "Resume them" }).click();
  await page.getByText("Resumed 502 jobs").waitFor();
});

flow("an order to nothing is refused kindly", async ({ page, url }) => {
  await page.goto(`${url}/jobs?q=once-and-done`);
  await page.getByRole("checkbox", { name: "Select once-and-done" }).check();
  await page.locator("#bulk-bar").getByRole("button", { name: "Resume" }).click();
  await page.getByText("There is nothing to resume among them").waitFor();
});

flow("jobs are tagged in the form, found by their tags, and the tags stay in the address", async ({ page, url, world }) => {
  page.expected.push("422");
  await page.goto(`${url}/jobs/new`);
  await page.getByLabel("Label").fill("tagged-by-form");
  await page.getByRole("textbox", { name: "Script", exact: true }).fill("true");
  await page.getByLabel("Tags").fill("season, Team:Toys");
  await page.getByRole("button", { name: "Create job" }).click();
  await page.locator("#tags-error").getByText('"Team:Toys" is no tag: use lower-case letters').waitFor();
  await page.getByLabel("Tags").fill("season, team:toys");
  await page.getByRole("button", { name: "Create job" }).click();
  await page.getByRole("heading", { name: "tagged-by-form" }).waitFor();
  const tags = page.getByRole("list", { name: "Tags" });
  check((await tags.getByRole("link").allTextContents()).join(" ") === "season team:toys", "the job's page shows them");
  await world.job({ label: "tagged-by-program", tool_name: "noop", trigger: { type: "manual" }, tags: ["season"] });

  await tags.getByRole("link", { name: "season" }).click();
  await page.waitForURL(/q=tag%3Aseason/);
  check((await page.locator("tbody tr").count()) === 2, "both jobs have the tag");
  await page.getByRole("row").filter({ hasText: "tagged-by-form" }).getByRole("link", { name: "team:toys" }).click();
  await page.waitForURL(/q=tag%3Aseason%20tag%3Ateam%3Atoys/);
  check((await page.locator("tbody .name > a").allTextContents()).join() === "tagged-by-form", "a second tag narrows");
  await page.reload();
  check((await page.getByRole("searchbox", { name: "Search jobs" }).inputValue()) === "tag:season tag:team:toys", "kept");

  await page.goto(`${url}/jobs?q=tag%3Aseason`);
  await page.getByText("Save this view…").click();
  await page.getByLabel("Name of the view").fill("christmas");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await page.goto(`${url}/jobs`);
  await page.getByRole("link", { name: "christmas" }).click();
  await page.waitForURL(/q=tag%3Aseason/);
  await page.getByRole("checkbox", { name: "all that match" }).check();
  await page.locator("#bulk-bar").getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("heading", { name: "Cancel 2 jobs?" }).waitFor();
  await page.getByRole("button", { name: "Cancel them" }).click();
  await page.getByText("Cancelled 2 jobs").waitFor();

  await page.goto(`${url}/jobs?q=tag%3ASeason`);
  await page.getByRole("alert").getByText("is no tag").waitFor();
});

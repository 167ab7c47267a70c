// Executors elsewhere, as people see them: the real `ordo executor`, started beside the server.
import { spawn } from "node:child_process";
import { NARROW } from "../browser.mjs";
import { check, flow } from "../main.mjs";

/** An executor of its own; ended when the flow is over. */
async function working(world, args, steps) {
  const env = { ...process.env, ORDO_TOKEN: world.token, NO_COLOR: "1" };
  const child = spawn(world.binary, ["--server", world.url, "executor", ...args], { cwd: world.folder, env, stdio: "ignore" });
  const gone = new Promise((done) => child.once("exit", done));
  try {
    return await steps({ child, gone });
  } finally {
    child.kill("SIGTERM");
    await gone;
  }
}

const script = (text) => ({ tool_name: "shell", tool_input: { script: text }, trigger: { type: "manual" } });

flow("an executor that dials in appears, and a waiting run says why until then", async ({ page, url, world }) => {
  const job = await world.job({ label: "render-film", group: "films", ...script("echo rendered; sleep 1") });
  const { run_id } = await world.api("POST", `/v1/jobs/${job.id}/trigger`);
  await page.goto(`${url}/runs/${run_id}`);
  await page.getByText("Waiting for an executor of group films with tool shell").waitFor();
  await page.goto(`${url}/runs?status=pending&job=${job.id}`);
  await page.getByText("waiting for an executor of group films").waitFor();
  await page.goto(`${url}/executors`);
  await page.getByText(`ordo executor --server ${url} --group builders`).waitFor();
  await working(world, ["--group", "films", "--name", "studio-1", "--capacity", "3"], async () => {
    // The page is not loaded again: it is live.
    const row = page.getByRole("row").filter({ hasText: "studio-1" });
    await row.getByText("alive").waitFor();
    await row.getByText("of 3").waitFor();
    check((await row.innerText()).includes("films"), await row.innerText());
    await page.goto(`${url}/runs/${run_id}`);
    await page.locator(".facts").getByRole("link", { name: "studio-1" }).waitFor();
    await page.locator(".under").getByText("completed").waitFor();
    check((await page.locator(".facts").innerText()).includes("films"), "the group is shown");
  });
});

flow("an executor is drained from its page and leaves", async ({ page, url, world }) => {
  await working(world, ["--group", "drained", "--name", "old-hand"], async ({ gone }) => {
    await page.goto(`${url}/executors`);
    await page.locator("summary[aria-label='Drain old-hand…']").click();
    await page.getByRole("button", { name: "Drain old-hand", exact: true }).click();
    await page.getByText("Asked it to leave").waitFor();
    await gone;
    await page.getByRole("row").filter({ hasText: "old-hand" }).waitFor({ state: "detached" });
  });
});

flow("an executor has a page with what it ran, and is drained from there", async ({ page, url, world }) => {
  const job = await world.job({ label: "on-my-machine", group: "paged", ...script("echo here; sleep 1") });
  await working(world, ["--group", "paged", "--name", "page-one"], async ({ gone }) => {
    const { run_id } = await world.api("POST", `/v1/jobs/${job.id}/trigger`);
    await world.until("it ran there", async () => (await world.api("GET", `/v1/runs/${run_id}`)).status.type === "completed");
    await page.goto(`${url}/executors`);
    await page.getByRole("link", { name: "page-one" }).click();
    await page.getByRole("heading", { name: "page-one", level: 1 }).waitFor();
    await page.getByRole("region", { name: "Latest runs" }).getByText("on-my-machine").waitFor();
    check((await page.locator(".gantt rect.completed").count()) === 1, "its run is drawn");
    await page.getByRole("link", { name: "All runs" }).click();
    await page.waitForURL(/executor=page-one/);
    await page.goBack();
    await page.getByText("Drain…").click();
    await page.getByRole("button", { name: "Drain", exact: true }).click();
    await gone;
  });
});

flow("a broadcast links its shards, and each of them the whole", async ({ page, url, world }) => {
  const job = await world.job({ label: "sweep-caches", group: "sweepers", routing: "sharding_broadcast", ...script("echo share $ORDO_SHARD_INDEX") });
  await working(world, ["--group", "sweepers", "--name", "broom-a"], () =>
    working(world, ["--group", "sweepers", "--name", "broom-b"], async () => {
      await world.until("both are there", async () => (await world.api("GET", "/v1/executors")).items.filter((one) => one.group === "sweepers" && one.state === "alive").length === 2);
      const { run_id } = await world.api("POST", `/v1/jobs/${job.id}/trigger`);
      await page.goto(`${url}/runs/${run_id}`);
      await page.locator(".under").getByText("completed").waitFor();
      const shards = page.getByRole("region", { name: "Shards" }).last();
      await shards.getByText("broom-a").waitFor();
      await shards.getByText("broom-b").waitFor();
      await shards.getByRole("link").last().click();
      await page.getByText("1 of 2").waitFor();
      await page.locator(".facts").getByRole("link", { name: run_id.slice(-8) }).click();
      await page.waitForURL(new RegExp(run_id));
    }),
  );
});

flow("a job says which executors it goes to, in which pool it is and what limits it", async ({ page, url, world }) => {
  await page.goto(`${url}/jobs/new`);
  await page.getByLabel("Label").fill("far-away");
  await page.getByRole("textbox", { name: "Script", exact: true }).fill("echo far");
  await page.getByText("policies").click();
  await page.getByLabel("Group").fill("moon");
  await page.getByLabel("Which of them").selectOption("consistent_hash");
  await page.getByRole("button", { name: "Create job" }).click();
  await page.getByRole("heading", { name: "far-away" }).waitFor();
  const policies = () => page.getByRole("region", { name: "Policies" }).innerText();
  for (const words of ["moon", "consistent_hash", "always the same executor", "fast"]) check((await policies()).includes(words), `${words}: ${await policies()}`);
  const job = await world.job({ label: "limited", concurrency_key: { key: "/tenant", max: 2 }, rate_limit: { key: "label", limit: 5, per: "1m" }, ...script("echo hi") });
  await page.goto(`${url}/jobs/${job.id}`);
  for (const words of ["/tenant of the input, at most 2 at once", "at most 5 each 1m"]) check((await policies()).includes(words), `${words}: ${await policies()}`);
});

flow("executors fit on a phone", { viewport: NARROW }, async ({ page, url, world }) => {
  await working(world, ["--group", "phone", "--name", "pocket-machine-with-a-long-name-1"], async () => {
    await page.goto(`${url}/executors`);
    await page.locator(".strong").getByText("pocket-machine").waitFor();
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    check(wide <= 0, `it is ${wide} px too wide`);
  });
});

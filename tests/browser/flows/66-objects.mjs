// Everything around jobs is made, shown, changed and removed in the dashboard, and the API sees the same.
import http from "node:http";
import { complaints } from "../browser.mjs";
import { check, flow } from "../main.mjs";

const create = async (page, url, path, fields, button) => {
  await page.goto(url + path);
  for (const [label, value] of Object.entries(fields)) {
    const field = page.getByLabel(label, { exact: false }).first();
    if ((await field.evaluate((one) => one.nodeName)) === "SELECT") await field.selectOption(value);
    else await field.fill(value);
  }
  await page.getByRole("button", { name: button }).click();
};

const remove = async (page, where = page) => {
  await where.locator("summary", { hasText: "Remove…" }).first().click();
  await where.getByRole("button", { name: "Remove", exact: true }).first().click();
};

flow("a hook is made, called, tested, changed and removed", async ({ page, url, world }) => {
  await create(page, url, "/hook", { Name: "deploys" }, "Create hook");
  await page.getByText("Created deploys").waitFor();
  await page.getByText(`${world.url}/hooks/deploys`, { exact: true }).waitFor();
  const job = await world.job({ label: "on-deploys", tool_name: "noop", trigger: { type: "webhook", hook: "deploys" } });
  await page.getByRole("button", { name: "Send test call" }).click();
  await page.getByText("it is the first of the deliveries").waitFor();
  const run = await world.until("the job has run", async () => (await world.api("GET", `/v1/runs?job_id=${job.id}`)).items[0]);
  await page.reload();
  await page.getByRole("link", { name: `run ${run.id.slice(-8)}` }).waitFor();
  await page.getByRole("link", { name: "on-deploys" }).waitFor();
  check((await complaints(page)).length === 0, (await complaints(page)).join("\n"));
  await page.getByRole("link", { name: "Edit" }).click();
  await page.getByLabel("Callers are verified by").selectOption("github");
  await page.getByLabel("Secret").fill("a-long-enough-secret");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("verified by github").waitFor();
  check((await world.api("GET", "/v1/hooks/deploys")).verify.type === "github", "the API sees it");
  await remove(page);
  await page.getByText("Removed deploys").waitFor();
});

flow("a hook that is refused comes back as it was typed, with what is wrong at its field", async ({ page, url }) => {
  page.expected.push("422");
  await create(page, url, "/hook", { Name: "not a slug!", "Largest payload": "many" }, "Create hook");
  await page.getByText("must be a whole number").waitFor();
  check((await page.getByLabel("Name").inputValue()) === "not a slug!", "the name is still there");
});

flow("a monitor is made, pinged, changed and removed", async ({ page, url, world }) => {
  await create(page, url, "/monitors/new", { Name: "edge", "A ping at least every": "1h", Severity: "sev2" }, "Create monitor");
  await page.getByText("Created edge").waitFor();
  const monitor = await world.api("GET", "/v1/monitors/edge");
  check(monitor.severity === "sev2", "with its severity");
  await fetch(world.url + monitor.ping_path);
  await page.getByText("up", { exact: true }).first().waitFor();
  await page.getByText("success").first().waitFor();
  await page.getByText(`curl -fsS -m 10 --retry 5 ${world.url}${monitor.ping_path}`).waitFor();
  check((await complaints(page)).length === 0, (await complaints(page)).join("\n"));
  await page.getByRole("link", { name: "Edit" }).click();
  await page.getByLabel("Grace").fill("20m");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("every 1h, grace 20m").waitFor();
  await remove(page);
  await page.getByText("Removed edge").waitFor();
});

flow("a token is shown once, works, and is revoked", async ({ page, url, world }) => {
  await create(page, url, "/tokens/new", { Name: "grace", Role: "viewer", "Expires in": "30d" }, "Create token");
  const token = await page.locator("#once").textContent();
  const look = () => fetch(`${world.url}/v1/jobs?limit=1`, { headers: { Authorization: `Bearer ${token}` } });
  check((await look()).status === 200, "it lets somebody in");
  await page.getByRole("link", { name: "Done" }).click();
  check((await page.getByText(token).count()) === 0, "it is not shown again");
  const row = page.getByRole("row").filter({ hasText: "grace" });
  await row.locator("summary").click();
  await row.getByRole("button", { name: "Revoke" }).click();
  await page.getByText("Revoked grace").waitFor();
  check((await look()).status === 401, "it lets nobody in any more");
});

flow("a secret is stored and never shown", async ({ page, url, world }) => {
  await create(page, url, "/secrets/new", { Name: "db_password", Value: "hunter2-hunter2" }, "Store secret");
  await page.getByText("Stored db_password").waitFor();
  check(!(await page.content()).includes("hunter2"), "its value is nowhere");
  const job = await world.job({ label: "with-secret", tool_name: "shell", tool_input: { script: "test \"$P\" = hunter2-hunter2", env: { P: { secret: "db_password" } } }, trigger: { type: "manual" } });
  const { run_id: run } = await world.api("POST", `/v1/jobs/${job.id}/trigger`);
  await world.until("it knows the value", async () => (await world.api("GET", `/v1/runs/${run}`)).status.type === "completed");
  await remove(page, page.getByRole("row").filter({ hasText: "db_password" }));
  await page.getByText("Removed db_password").waitFor();
  await world.api("POST", "/v1/hooks", { slug: "sealed", verify: { type: "github", secret: "a-long-enough-secret" } });
  await page.goto(`${url}/secrets`);
  const owned = page.getByRole("row").filter({ hasText: "hook/sealed" });
  await owned.getByText("removed with its hook").waitFor();
  check((await owned.locator("summary").count()) === 0, "it goes with its hook, and not before");
  await world.api("DELETE", "/v1/hooks/sealed");
});

flow("a subscription is made, tried out, disabled and removed", async ({ page, url }) => {
  const heard = [];
  const server = http.createServer((request, answer) => {
    heard.push(request.headers["webhook-id"] ?? request.url);
    answer.writeHead(204).end();
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const address = `http://127.0.0.1:${server.address().port}/in`;
  await create(page, url, "/subscriptions/new", { Address: address, Events: "incident.*" }, "Create subscription");
  check((await page.locator("#once").textContent()).startsWith("whsec_"), "the secret is shown once");
  await page.getByRole("link", { name: "Done" }).click();
  await page.getByRole("button", { name: "Send test" }).click();
  await page.locator("#flash").getByText(/Delivered|Not delivered/).waitFor();
  await page.getByRole("button", { name: "Disable" }).click();
  await page.getByText("disabled", { exact: true }).first().waitFor();
  await remove(page);
  await page.getByText("Removed the subscription").waitFor();
  server.close();
});

flow("a job is made with alerts, a chain and limits, and keeps them when it is edited", async ({ page, url, world, jobs }) => {
  await page.goto(`${url}/jobs/new`);
  await page.getByLabel("Label").fill("chained-and-watched");
  await page.getByRole("textbox", { name: "Script", exact: true }).fill("echo done");
  await page.locator("label").filter({ hasText: "By hand" }).or(page.locator("label", { hasText: /^Manual|hand/i })).first().click();
  await page.getByRole("heading", { name: "Alerts, chain and limits" }).click();
  await page.locator("#failure_severity").selectOption("sev1");
  await page.locator("#failure_after").fill("2");
  await page.getByLabel("Runs after these jobs").fill("nightly-report");
  await page.getByLabel("Give up waiting after").fill("10m");
  await page.getByRole("button", { name: "Create job" }).click();
  await page.getByText("Created chained-and-watched").waitFor();
  const id = page.url().split("/").pop();
  const job = await world.api("GET", `/v1/jobs/${id}`);
  check(job.on_failure.incident.severity === "sev1" && job.on_failure.incident.after === 2, "the alert");
  check(job.after.jobs[0] === jobs["nightly-report"].id, "the chain, by its label");
  check(job.expire_after === "10m", "the limit");
  await page.getByRole("link", { name: "Edit" }).click();
  await page.getByLabel("Description").fill("edited");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved").waitFor();
  const after = await world.api("GET", `/v1/jobs/${id}`);
  check(JSON.stringify(after.on_failure) === JSON.stringify(job.on_failure) && after.description === "edited", "the rest stayed");
});

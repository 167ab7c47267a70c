// A page never pretends to be live: when the server is gone it says so, and it comes back by itself.
import http from "node:http";
import { spawn } from "node:child_process";
import { open } from "../browser.mjs";
import { check, flow } from "../main.mjs";
import { World } from "../world.mjs";

/** A proxy as people put in front: while there is nobody behind it, it answers 502. */
async function proxy(target) {
  const server = http.createServer((request, answer) => {
    const forward = http.request(target.url + request.url, { method: request.method, headers: request.headers }, (from) => {
      answer.writeHead(from.statusCode, from.headers);
      answer.flushHeaders();
      from.pipe(answer);
      from.on("error", () => answer.destroy());
    });
    forward.on("error", () => {
      if (!answer.headersSent) answer.writeHead(502, { "Content-Type": "text/html" });
      answer.end("<h1>502 Bad Gateway</h1>");
    });
    answer.on("close", () => forward.destroy());
    request.pipe(forward);
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  return { server, url: `http://127.0.0.1:${server.address().port}` };
}

/** The same server once more, on the same folder and port, after it was killed. */
async function revive(world) {
  const { port } = new URL(world.url);
  world.child = spawn(world.binary, ["serve", "--listen", `127.0.0.1:${port}`, "--tick-rate", "500ms", "--grace", "1s"], {
    cwd: world.folder, env: { ...process.env, NO_COLOR: "1", TZ: "UTC" }, stdio: ["ignore", "ignore", "pipe"],
  });
  await world.until("it answers again", async () => {
    try {
      return (await fetch(`${world.url}/readyz`)).ok;
    } catch {
      return false;
    }
  }, 60000);
}

async function kill(world) {
  const gone = new Promise((done) => world.child.once("exit", done));
  world.child.removeAllListeners("exit");
  world.child.once("exit", () => {});
  const dead = new Promise((done) => world.child.once("exit", done));
  world.child.kill("SIGKILL");
  await Promise.race([gone, dead]);
}

async function dies(browser, behindProxy) {
  const world = await World.start();
  const front = behindProxy ? await proxy(world) : null;
  const seen = { ...world, url: front?.url ?? world.url, token: world.token };
  const job = await world.job({ label: "before-the-crash", tool_name: "noop", trigger: { type: "scheduled", every: "1h" } });
  const { context, page } = await open(browser, seen);
  page.setDefaultTimeout(60000);
  await page.goto(`${seen.url}/jobs`);
  await page.getByRole("button", { name: "Live" }).waitFor();
  await kill(world);
  await page.getByText("The server does not answer.").waitFor();
  await page.getByRole("button", { name: "Offline" }).waitFor();
  check((await page.getByText("before-the-crash").count()) > 0, "what was there is still shown");
  await revive(world);
  await world.job({ label: "after-the-crash", tool_name: "noop", trigger: { type: "scheduled", every: "1h" } });
  await page.getByText("after-the-crash").waitFor();
  await page.getByRole("button", { name: "Live" }).waitFor();
  check(await page.locator("#offline").isHidden(), "the notice is gone");
  await world.api("POST", `/v1/jobs/${job.id}/pause`, { reason: "still live" });
  await page.getByText("still live").waitFor();
  await context.close();
  front?.server.close();
  front?.server.closeAllConnections();
  await world.stop();
}

flow("a server that dies is missed, and the page catches up when it is back", async ({ browser }) => dies(browser, false));
flow("behind a proxy that answers 502 it does the same", async ({ browser }) => dies(browser, true));

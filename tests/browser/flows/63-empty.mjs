// The commands that empty pages show are typed as they stand, against the server that showed them.
import { execFile, spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { open } from "../browser.mjs";
import { check, flow } from "../main.mjs";
import { World } from "../world.mjs";

const PAGES = ["/", "/jobs", "/runs", "/incidents", "/monitors", "/hooks", "/notifications", "/executors", "/calendar", "/chains", "/subscriptions", "/silences", "/secrets", "/nodes"];

/** In the folder of the server, with its command line first in the path. */
function typed(world, command) {
  const env = { ...process.env, PATH: `${world.folder}:${process.env.PATH}`, ORDO_TOKEN: world.token, NO_COLOR: "1" };
  return { command, options: { cwd: world.folder, env } };
}

async function run(world, line) {
  const { command, options } = typed(world, line);
  await promisify(execFile)("sh", ["-c", command], options).catch((error) => {
    throw new Error(`${line}: ${error.stderr || error.message}`);
  });
}

/** It goes on until somebody ends it: here, when the server knows it. */
async function stays(world, line) {
  const { command, options } = typed(world, `exec ${line}`);
  const child = spawn("sh", ["-c", command], { ...options, stdio: "ignore" });
  const ended = new Promise((done) => child.once("exit", done));
  await world.until(`${line} is there`, async () => (await world.api("GET", "/v1/executors")).items.some((one) => one.group === "builders"));
  child.kill("SIGTERM");
  await ended;
}

/** A node needs a database, which is not here: the command is understood, and says which database it waits for. */
async function waitsForItsDatabase(world, line) {
  const { command, options } = typed(world, `exec ${line} --listen 127.0.0.1:0`);
  const child = spawn("sh", ["-c", command], { ...options, stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  child.stderr.on("data", (part) => (said += part));
  const ended = new Promise((done) => child.once("exit", done));
  await world.until(`${line} says what it waits for: ${said}`, async () => said.includes("the database cannot be reached"));
  child.kill("SIGKILL");
  await ended;
}

flow("every command of an empty page works as it stands", async ({ browser }) => {
  const world = await World.start();
  const { context, page } = await open(browser, world);
  const commands = new Set();
  for (const path of PAGES) {
    await page.goto(world.url + path);
    const shown = await page.locator(".blank .commands code").allTextContents();
    check(shown.length > 0, `${path} shows no command`);
    shown.forEach((one) => commands.add(one));
  }
  check(page.wrongs.length === 0, page.wrongs.join());
  await context.close();
  // Not every machine has this file.
  const crontab = join(world.folder, "crontab");
  writeFileSync(crontab, "0 3 * * * root /usr/bin/backup\n");
  // Each in turn, in the order of the pages: none may need what another page says.
  for (const line of commands) {
    if (line.startsWith("ordo executor ")) await stays(world, line);
    else if (line.startsWith("ordo serve ")) await waitsForItsDatabase(world, line);
    else await run(world, line.replace("/etc/crontab", crontab));
  }
  check(commands.size >= 10, `only ${commands.size} commands`);
  await world.stop();
});

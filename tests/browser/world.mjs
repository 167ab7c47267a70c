// A server of its own: the real binary in a temporary folder on a free port, and a client for its API.
import { spawn } from "node:child_process";
import { copyFileSync, linkSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const READY = "ordo is ready at ";

/** The same file by another name; a copy only where the folder lies on another disk. */
function keep(file, name) {
  try {
    linkSync(file, name);
  } catch {
    copyFileSync(file, name);
  }
}

export class World {
  static async start(options = []) {
    const world = new World();
    world.folder = mkdtempSync(join(tmpdir(), "ordo-browser-"));
    // Another build may put another binary in its place meanwhile.
    world.binary = join(world.folder, "ordo");
    keep(process.env.ORDO_BINARY, world.binary);
    const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("ORDO_")));
    Object.assign(env, { NO_COLOR: "1", TZ: "UTC", ORDO_TOOLS__HTTP__ALLOW: "127.0.0.1,10.77.0.1" });
    for (const [name, value] of options) env[name] = value;
    const args = ["serve", "--listen", process.env.ORDO_BROWSER_LISTEN ?? "127.0.0.1:0", "--tick-rate", "500ms", "--grace", "1s"];
    world.child = spawn(world.binary, args, { cwd: world.folder, env, stdio: ["ignore", "ignore", "pipe"] });
    world.said = [];
    const lines = createInterface({ input: world.child.stderr });
    world.url = await new Promise((found, failed) => {
      lines.on("line", (line) => {
        world.said.push(line);
        if (line.startsWith(READY)) found(line.slice(READY.length).trim());
      });
      world.child.on("exit", (code) => failed(new Error(`the server ended with ${code}: ${world.said.join("\n")}`)));
    });
    world.token = readFileSync(join(world.folder, ".ordo/token"), "utf8").trim();
    return world;
  }

  async api(method, path, body) {
    const answer = await fetch(this.url + path, {
      method,
      headers: { Authorization: `Bearer ${this.token}`, ...(body && { "Content-Type": "application/json" }) },
      body: body && JSON.stringify(body),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text ? JSON.parse(text) : null;
  }

  /** What is no JSON. */
  async text(path) {
    const answer = await fetch(this.url + path, { headers: { Authorization: `Bearer ${this.token}` } });
    return answer.text();
  }

  job(fields) {
    return this.api("POST", "/v1/jobs", fields);
  }

  /** Waits until something is so. */
  async until(what, check, patience = 20000) {
    const end = Date.now() + patience;
    for (;;) {
      const found = await check();
      if (found) return found;
      if (Date.now() > end) throw new Error(`waited in vain: ${what}`);
      await new Promise((go) => setTimeout(go, 100));
    }
  }

  async stop() {
    const gone = new Promise((done) => this.child.once("exit", done));
    this.child.kill("SIGTERM");
    setTimeout(() => this.child.kill("SIGKILL"), 15000).unref();
    await gone;
    rmSync(this.folder, { recursive: true, force: true });
    const complaints = this.said.filter((line) => line.includes(" ERROR ") || line.includes("panicked at"));
    if (complaints.length) throw new Error(`the server complained:\n${complaints.join("\n")}`);
  }
}

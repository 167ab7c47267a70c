// The dashboard behind the proxies of docs/operations.md, at an address that is no loopback: the examples are read from
// the page, only addresses and certificates are put in. Host is another one than the browser asked for, and streams must
// arrive while they are open. Run by `tests/browser/run --proxies`, in a network of its own.
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import http from "node:http";
import https from "node:https";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { launch, open } from "./browser.mjs";
import { World } from "./world.mjs";

const NAME = "ordo.example";
const ADDRESS = process.env.ORDO_PROXY_ADDRESS ?? "10.77.0.1";
const SERVER = "127.0.0.1:7070";
const docs = readFileSync(new URL("../../docs/operations.md", import.meta.url), "utf8");

/** An example as the page has it. */
function example(language) {
  const found = docs.match(new RegExp("```" + language + "\\n([\\s\\S]*?)```"));
  if (!found) throw new Error(`docs/operations.md has no example for ${language}`);
  return found[1];
}

function replaced(text, from, to) {
  if (!text.includes(from)) throw new Error(`the example has no ${from}`);
  return text.replaceAll(from, to);
}

function certificate(folder) {
  const [pem, key] = [join(folder, "cert.pem"), join(folder, "cert.key")];
  execFileSync("openssl", ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", `/CN=${NAME}`,
    "-addext", `subjectAltName=DNS:${NAME}`, "-keyout", key, "-out", pem], { stdio: "ignore" });
  return { pem, key };
}

const nginxWithTls = ({ pem, key }) =>
  replaced(replaced(example("nginx"), "/etc/ssl/ordo.example.pem", pem), "/etc/ssl/ordo.example.key", key);

/** The same in the clear, and without the line that switches buffering off: what the server says must be enough. */
function nginxInTheClear() {
  const plain = replaced(replaced(example("nginx"), "listen 443 ssl", "listen 80"), "Proto https", "Proto http");
  return plain.split("\n").filter((line) => !line.includes("ssl_") && !line.includes("proxy_buffering")).join("\n");
}

/** Below a path: what stands after the address decides whether nginx takes the path away. */
const nginxBelow = (rest) =>
  replaced(replaced(nginxInTheClear(), "location /", "location /ordo/"), `http://${SERVER}`, `http://${SERVER}${rest}`);

const caddy = ({ pem, key }) => replaced(example("caddyfile"), `${NAME} {`, `${NAME} {\n    tls ${pem} ${key}`);
const caddyInTheClear = () => replaced(example("caddyfile"), `${NAME} {`, `http://${NAME} {`);

const CASES = [
  { name: "nginx as documented, with TLS", proxy: "nginx", config: nginxWithTls, url: `https://${NAME}`, picture: "nginx" },
  { name: "nginx in the clear, with its own buffering", proxy: "nginx", config: nginxInTheClear, url: `http://${NAME}` },
  { name: "nginx below a path that it leaves", proxy: "nginx", config: () => nginxBelow(""), url: `http://${NAME}/ordo`, below: "/ordo", picture: "path" },
  { name: "nginx below a path that it takes away", proxy: "nginx", config: () => nginxBelow("/"), url: `http://${NAME}/ordo`, below: "/ordo" },
  { name: "Caddy as documented, with TLS", proxy: "caddy", config: caddy, url: `https://${NAME}`, picture: "caddy" },
  { name: "Caddy in the clear", proxy: "caddy", config: caddyInTheClear, url: `http://${NAME}` },
];

const START = {
  nginx: (folder, config) => {
    for (const name of ["body", "proxy", "fastcgi", "uwsgi", "scgi"]) mkdirSync(join(folder, name));
    const temporary = ["client_body body", "proxy proxy", "fastcgi fastcgi", "uwsgi uwsgi", "scgi scgi"]
      .map((pair) => pair.split(" ")).map(([directive, name]) => `${directive}_temp_path ${join(folder, name)};`);
    writeFileSync(join(folder, "nginx.conf"), `user root; daemon off; pid ${folder}/pid; error_log stderr;
      events {} http { access_log off; ${temporary.join(" ")}\n${config}\n}`);
    return ["nginx", ["-c", join(folder, "nginx.conf"), "-e", "stderr"]];
  },
  caddy: (folder, config) => {
    writeFileSync(join(folder, "Caddyfile"), `{\n    admin off\n    auto_https disable_redirects\n}\n${config}`);
    return ["caddy", ["run", "--adapter", "caddyfile", "--config", join(folder, "Caddyfile")]];
  },
};

const portOf = (url) => Number(new URL(url).port || (url.startsWith("https") ? 443 : 80));
const isOpen = (port) => new Promise((done) => {
  const socket = connect(port, ADDRESS);
  socket.on("connect", () => (socket.destroy(), done(true)));
  socket.on("error", () => done(false));
});

async function startProxy({ proxy, config, url }, world, folder) {
  const [program, args] = START[proxy](folder, config(certificate(folder)));
  const child = spawn(program, args, { env: { ...process.env, HOME: folder }, stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  child.stderr.on("data", (text) => (said += text));
  await world.until(`${proxy} listens`, async () => {
    if (child.exitCode !== null) throw new Error(`${proxy} ended: ${said}`);
    return isOpen(portOf(url));
  });
  return child;
}

function check(it, what) {
  if (!it) throw new Error(what);
}

/** Opens a stream through the proxy, makes something happen, and returns when it arrives while the stream is open. */
function streamed(url, world, happen) {
  return new Promise((done, failed) => {
    const client = url.startsWith("https") ? https : http;
    const headers = { Authorization: `Bearer ${world.token}`, Accept: "text/event-stream", Host: NAME };
    const options = { headers, rejectUnauthorized: false, servername: NAME, lookup: (_name, asked, found) => (asked.all ? found(null, [{ address: ADDRESS, family: 4 }]) : found(null, ADDRESS, 4)) };
    const late = setTimeout(() => {
      failed(new Error("the stream is gathered by the proxy: nothing arrived in 20 s"));
      request.destroy();
    }, 20000);
    const request = client.get(`${url}/v1/events`, options, (answer) => {
      let seen = "";
      answer.on("data", (text) => {
        seen += text;
        if (!seen.includes("streamed-through")) return;
        clearTimeout(late);
        request.destroy();
        done();
      });
      if (answer.statusCode !== 200) failed(new Error(`the stream was answered with ${answer.statusCode}`));
      happen().catch(failed);
    });
    request.on("error", (error) => error.code !== "ECONNRESET" && failed(error));
  });
}

async function dashboard(one, world, browser) {
  const { context, page } = await open(browser, { ...world, url: one.url }, { signedIn: false, certificates: false });
  page.setDefaultTimeout(30000);
  try {
    // The page that asks for the token.
    page.expected.push("the server responded with a status of 401");
    await page.goto(`${one.url}/`);
    await page.getByLabel("Token").fill(world.token);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.waitForURL(`${one.url}/`);
    await page.goto(`${one.url}/jobs/new`);
    await page.getByLabel("Label").fill("through-a-proxy");
    await page.getByRole("textbox", { name: "Script", exact: true }).fill("echo through a proxy");
    await page.getByRole("radiogroup").locator("label").filter({ hasText: "Interval" }).click();
    await page.getByLabel("Every").fill("1s");
    await page.getByRole("button", { name: "Create job" }).click();
    await page.getByRole("heading", { name: "through-a-proxy" }).waitFor();
    await page.evaluate(() => (window.stayed = true));
    await page.getByRole("region", { name: "Runs" }).first().getByText("completed").first().waitFor();
    check(await page.evaluate(() => window.stayed), "the page was loaded anew");
    if (one.picture && process.env.ORDO_PROXY_PICTURES) {
      await page.screenshot({ path: join(process.env.ORDO_PROXY_PICTURES, `${one.picture}.png`) });
    }
    await page.getByText("Pause…").click();
    await page.getByRole("button", { name: "Pause", exact: true }).click();
    await page.getByText("Paused through-a-proxy").waitFor();
    const wrongs = page.wrongs.filter((wrong) => !page.expected.some((words) => wrong.includes(words)));
    check(wrongs.length === 0, `the page did what it should not:\n  ${wrongs.join("\n  ")}`);
  } finally {
    await context.close();
  }
}

async function perform(one, browser) {
  const began = Date.now();
  const folder = mkdtempSync(join(tmpdir(), "ordo-proxy-"));
  const world = await World.start(one.below ? [["ORDO_SERVE__BASE_PATH", one.below]] : []);
  let proxy;
  try {
    proxy = await startProxy(one, world, folder);
    await streamed(one.url, world, () => world.job({ label: "streamed-through", tool_name: "noop", tool_input: {}, trigger: { type: "manual" } }));
    await dashboard(one, world, browser);
    console.log(`ok      ${one.name} (${Date.now() - began} ms)`);
    return true;
  } catch (error) {
    console.log(`FAILED  ${one.name}\n        ${String(error.message ?? error).split("\n").slice(0, 8).join("\n        ")}`);
    return false;
  } finally {
    if (proxy) {
      const gone = proxy.exitCode === null ? new Promise((done) => proxy.once("exit", done)) : null;
      proxy.kill("SIGTERM");
      await gone;
    }
    await world.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

const browser = await launch([`--host-resolver-rules=MAP ${NAME} ${ADDRESS}`]);
let failed = 0;
try {
  for (const one of CASES) if (!(await perform(one, browser))) failed += 1;
  console.log(`${CASES.length - failed} of ${CASES.length} proxies passed`);
} finally {
  await browser.close();
}
process.exitCode = failed ? 1 : 0;

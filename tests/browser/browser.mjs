// A browser that writes down whatever a page should not do.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const require = createRequire(join(process.env.ORDO_BROWSER_MODULES, "package.json"));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

export const WIDE = { width: 1440, height: 900 };
export const NARROW = { width: 360, height: 740 };

export async function launch(more = []) {
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", ...more] });
}

/** A context that is let in, and a page in it that may do nothing wrong. */
export async function open(browser, world, options = {}) {
  const { viewport = WIDE, theme = "light", scripts = true, zone = "Europe/Berlin", reduced = false, signedIn = true, certificates = true } = options;
  const context = await browser.newContext({
    viewport,
    colorScheme: theme,
    javaScriptEnabled: scripts,
    timezoneId: zone,
    locale: "en-GB",
    reducedMotion: reduced ? "reduce" : "no-preference",
    acceptDownloads: true,
    ignoreHTTPSErrors: !certificates,
  });
  if (signedIn) await signIn(context, world);
  await context.addCookies([{ name: "ordo_tz", value: encodeURIComponent(zone), url: world.url }]);
  const page = await context.newPage();
  page.wrongs = [];
  page.expected = [];
  page.on("console", (message) => {
    if (!isTrusted(world.url) && message.text().startsWith("The Cross-Origin-Opener-Policy header has been ignored")) return;
    if (["error", "warning"].includes(message.type())) page.wrongs.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => page.wrongs.push(`script: ${error.message}`));
  page.on("request", (request) => {
    if (!request.url().startsWith(world.url) && !request.url().startsWith("data:")) page.wrongs.push(`elsewhere: ${request.url()}`);
  });
  page.on("response", (response) => {
    if (response.status() >= 500) page.wrongs.push(`answer ${response.status()}: ${response.url()}`);
  });
  return { context, page };
}

/** Whether browsers give a page of this address all they have: not over plain HTTP from elsewhere, and they say so. */
const isTrusted = (url) => /^https:|^http:\/\/(127\.0\.0\.1|localhost)\b/.test(url);

/** By the login link; where a server has none, by the header that programs send. */
async function signIn(context, world) {
  const answer = await fetch(`${world.url}/login?token=${world.token}`, { redirect: "manual" });
  const cookie = answer.headers.getSetCookie().find((one) => one.startsWith("ordo_session="));
  if (cookie) await context.addCookies([{ name: "ordo_session", value: cookie.split(";")[0].split("=").slice(1).join("="), url: world.url }]);
  else await context.setExtraHTTPHeaders({ Authorization: `Bearer ${world.token}` });
}

/** What axe finds, however small. */
export async function complaints(page) {
  // The page's own policy forbids scripts from elsewhere: the tool comes in through the debugger.
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  return violations
    .map(({ id, impact, nodes }) => `${id} (${impact}): ${nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join(" | ")}`);
}

// Nothing lies off the screen, from a small phone to a large monitor: pages, tables, open menus.
import { check, flow } from "../main.mjs";
import { pages } from "../pages.mjs";

const WIDTHS = [360, 390, 768, 1024, 1280, 1440, 2560];

/** What can be seen or pressed and is not wholly on the screen; scrolling down is no fault, scrolling aside is. */
function outside() {
  const wide = document.documentElement.clientWidth;
  const found = [];
  if (document.documentElement.scrollWidth > wide) found.push(`the page is ${document.documentElement.scrollWidth - wide} px too wide`);
  for (const box of document.querySelectorAll(".table-box")) {
    if (box.scrollWidth > box.clientWidth + 1) found.push(`a table is ${box.scrollWidth - box.clientWidth} px too wide`);
  }
  // What scrolls by itself, such as a log or a command, may hold more than it shows.
  const scrolls = (node) => node.closest("pre, .docs-page table, .log, .json, .timeline, .crumbs, #palette, .hidden, .cut, svg");
  for (const node of document.querySelectorAll("main a, main button, main input, main select, main summary, main textarea, main td, .side a, .side button, .side summary, .sheet")) {
    if (scrolls(node) || !node.checkVisibility({ visibilityProperty: true })) continue;
    const { left, right, width, height } = node.getBoundingClientRect();
    if (width > 1 && height > 1 && (left < -0.5 || right > wide + 0.5)) found.push(`${node.nodeName} “${node.textContent.trim().slice(0, 30)}” from ${Math.round(left)} to ${Math.round(right)}`);
  }
  return [...new Set(found)].slice(0, 4);
}

/** Menus must fit in both directions: what is below the screen cannot be scrolled to. */
function sheetsOutside() {
  const { clientWidth, clientHeight } = document.documentElement;
  const rects = [...document.querySelectorAll("details[open] > .sheet, .nav-more details[open] > ul")].map((sheet) => [sheet.parentElement, sheet.getBoundingClientRect()]);
  return rects
    .filter(([, rect]) => rect.left < 0 || rect.right > clientWidth + 0.5 || rect.top < 0 || rect.bottom > Math.max(clientHeight, document.documentElement.scrollHeight - scrollY) + 0.5)
    .map(([menu, rect]) => `menu ${menu.querySelector("summary").textContent.trim()} at ${Math.round(rect.left)},${Math.round(rect.top)} to ${Math.round(rect.right)},${Math.round(rect.bottom)}`);
}

for (const width of WIDTHS) {
  flow(`at ${width} px nothing is off the screen, menus included`, { viewport: { width, height: 800 }, reduced: true }, async ({ page, url, jobs, world }) => {
    const wrong = [];
    for (const [, path] of await pages(world, jobs)) {
      await page.goto(url + path);
      wrong.push(...(await page.evaluate(outside)).map((one) => `${path}: ${one}`));
      const menus = page.locator(".settings > summary, .pop > summary, .nav-more summary");
      for (let place = 0; place < (await menus.count()); place += 1) {
        const menu = menus.nth(place);
        if (!(await menu.isVisible())) continue;
        await menu.click();
        wrong.push(...(await page.evaluate(sheetsOutside)).map((one) => `${path}: ${one}`));
        await page.keyboard.press("Escape");
      }
    }
    check(wrong.length === 0, wrong.slice(0, 12).join("\n"));
  });
}

flow("on a phone every table is a list of cards, with the name of each value", { viewport: { width: 390, height: 800 } }, async ({ page, url }) => {
  await page.goto(`${url}/tokens`);
  const cell = page.locator("tbody tr").first().locator("td").nth(1);
  check((await cell.evaluate((one) => getComputedStyle(one, "::before").content)) === '"Role"', "the value has its name");
  check(await page.locator("thead").isHidden(), "without a head");
});

flow("one Escape closes one thing, and the focus goes back to what opened it", async ({ page, url, jobs }) => {
  await page.goto(`${url}/jobs/${jobs.heartbeat.id}`);
  await page.getByText("Pause…").click();
  await page.keyboard.press("Control+k");
  await page.getByRole("dialog", { name: "Search or jump to" }).waitFor();
  await page.keyboard.press("Escape");
  check((await page.locator("dialog[open]").count()) === 0, "the palette is closed");
  check((await page.locator(".pop[open]").count()) === 1, "the menu is still open");
  await page.keyboard.press("Escape");
  check((await page.locator(".pop[open]").count()) === 0, "now the menu is closed");
  check((await page.evaluate(() => document.activeElement.textContent)) === "Pause…", "the focus is back");
});

flow("every button has a name, also on a phone, and the focus goes through the page in its order", { viewport: { width: 390, height: 800 } }, async ({ page, url, jobs, world }) => {
  for (const [, path] of await pages(world, jobs)) {
    await page.goto(url + path);
    const nameless = await page.evaluate(() =>
      [...document.querySelectorAll("button, summary, a[href]")]
        .filter((node) => node.checkVisibility() && !node.closest("svg") && !node.getAttribute("aria-label") && !node.innerText?.trim() && !node.textContent.trim())
        .map((node) => node.outerHTML.slice(0, 120)));
    check(nameless.length === 0, `${path}: ${nameless.join(" | ")}`);
    const jumps = await page.evaluate(() => document.querySelectorAll("[tabindex]:not([tabindex='0']):not([tabindex='-1'])").length);
    check(jumps === 0, `${path} has a tabindex that jumps`);
  }
});

flow("what cannot be undone asks first", async ({ page, url, world }) => {
  const job = await world.job({ label: "to-keep", tool_name: "shell", tool_input: { script: "sleep 600" }, trigger: { type: "manual" } });
  const { run_id: run } = await world.api("POST", `/v1/jobs/${job.id}/trigger`);
  await page.goto(`${url}/jobs/${job.id}`);
  await page.locator("summary[aria-label='More actions']").click();
  await page.getByRole("button", { name: "Cancel job" }).click();
  check((await world.api("GET", `/v1/jobs/${job.id}`)).state === "active", "not without a tick");
  await page.goto(`${url}/runs/${run}`);
  await page.getByText("Cancel run…").click();
  await page.getByText("This cannot be undone.").waitFor();
  check((await world.api("GET", `/v1/runs/${run}`)).status.type !== "cancelled", "not by opening");
  await page.getByRole("button", { name: "Cancel run" }).click();
  await page.getByText("The run is being stopped").waitFor();
});

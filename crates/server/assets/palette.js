// Search and jump: pages, commands, jobs with their latest runs, incidents, hooks.
import { togglePause } from "./live.js";
import { views } from "./views.js";

const base = document.documentElement.dataset.base ?? "";
const dialog = document.getElementById("palette");
const input = document.getElementById("palette-input");
const list = document.getElementById("palette-list");
let entries = [];
let chosen = 0;
let asked = 0;

function pages() {
  const links = [...document.querySelectorAll("#nav > ul > li:not(.nav-more) > a")];
  const found = links.map((link) => ({
    text: link.querySelector("span").textContent,
    icon: link.querySelector("use").getAttribute("href"),
    note: "page",
    go: link.href,
  }));
  if (document.documentElement.dataset.operate === "true") {
    found.push({ text: "New job", icon: "#i-plus", note: "command", go: `${base}/jobs/new` });
    found.push({ text: "Start an incident", icon: "#i-incidents", note: "command", go: `${base}/incidents#start` });
    found.push({ text: "New hook", icon: "#i-plus", note: "command", go: `${base}/hook` });
    found.push({ text: "New monitor", icon: "#i-plus", note: "command", go: `${base}/monitors/new` });
    found.push({ text: "Add a silence", icon: "#i-paused", note: "command", go: `${base}/silences#add` });
  }
  found.push({ text: "Silences", icon: "#i-paused", note: "page", go: `${base}/silences` });
  found.push({ text: "Chains", icon: "#i-link", note: "page", go: `${base}/chains` });
  found.push({ text: "Documentation", icon: "#i-search", note: "page", go: `${base}/docs` });
  // What this page can do: its own buttons, by their names.
  for (const button of document.querySelectorAll("main .head .acts > form > .button, main .head .acts > .button")) {
    found.push({ text: button.textContent.trim(), icon: "#i-right", note: "on this page", act: () => button.click() });
  }
  for (const view of views()) found.push({ text: view.name, icon: "#i-search", note: "saved view", go: base + view.path });
  found.push({ text: "Pause or resume live updates", icon: "#i-running", note: "command", act: togglePause });
  found.push({ text: "Failing jobs", icon: "#i-failed", note: "search", go: `${base}/jobs?q=failed` });
  found.push({ text: "Paused jobs", icon: "#i-paused", note: "search", go: `${base}/jobs?q=state%3Apaused` });
  for (const button of document.querySelectorAll(".settings button[name=theme]")) {
    found.push({ text: `Theme: ${button.textContent}`, icon: "#i-moon", note: "action", act: () => button.click() });
  }
  return found;
}

async function items(path) {
  const answer = await fetch(`${base}/v1/${path}`);
  return answer.ok ? (await answer.json()).items : [];
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Whatever bears an id. */
async function byId(id) {
  const kinds = [["runs", "run", "#i-runs"], ["jobs", "job", "#i-jobs"], ["incidents", "incident", "#i-incidents"]];
  const found = await Promise.all(kinds.map(async ([path, note, icon]) =>
    (await fetch(`${base}/v1/${path}/${id}`)).ok ? [{ text: id, icon, note, go: `${base}/${path}/${id}` }] : []));
  return found.flat();
}

async function search(text) {
  if (UUID.test(text)) return byId(text);
  const wanted = encodeURIComponent(text);
  const [jobs, incidents, hooks] = await Promise.all([items(`jobs?limit=6&search=${wanted}`), items(`incidents?limit=4&search=${wanted}`), items("hooks?limit=200")]);
  const runs = jobs.length ? await items(`runs?limit=3&job_id=${jobs[0].id}`) : [];
  const lower = text.toLowerCase();
  return [
    ...jobs.map((job) => ({ text: job.label, icon: "#i-jobs", note: job.schedule, go: `${base}/jobs/${job.id}` })),
    ...incidents.map((one) => ({ text: one.title, icon: "#i-incidents", note: `incident, ${one.status}`, go: `${base}/incidents/${one.id}` })),
    ...hooks.filter((hook) => hook.slug.toLowerCase().includes(lower)).slice(0, 4).map((hook) => ({ text: hook.slug, icon: "#i-hooks", note: "hook", go: `${base}/hook/${hook.slug}` })),
    ...runs.map((run) => ({ text: `${run.label}, run ${run.id.slice(-8)}`, icon: "#i-runs", note: `run, ${run.status.type}`, go: `${base}/runs/${run.id}` })),
  ];
}

function draw() {
  list.replaceChildren(
    ...entries.map((entry, place) => {
      const item = document.createElement("li");
      item.id = `palette-${place}`;
      item.setAttribute("role", "option");
      item.setAttribute("aria-selected", String(place === chosen));
      const icon = document.createElementNS("http://www.w3.org/2000/svg", "svg");
      icon.setAttribute("class", "icon");
      icon.setAttribute("aria-hidden", "true");
      const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
      use.setAttribute("href", entry.icon);
      icon.append(use);
      const text = document.createElement("span");
      text.textContent = entry.text;
      const note = document.createElement("span");
      note.className = "quiet";
      note.textContent = entry.note;
      item.append(icon, text, note);
      item.addEventListener("click", () => follow(entry));
      return item;
    }),
  );
  if (entries.length) input.setAttribute("aria-activedescendant", `palette-${chosen}`);
  else input.removeAttribute("aria-activedescendant");
  document.getElementById(`palette-${chosen}`)?.scrollIntoView({ block: "nearest" });
}

function follow(entry) {
  dialog.close();
  if (entry.act) entry.act();
  else location.href = entry.go;
}

async function look() {
  const text = input.value.trim();
  const mine = ++asked;
  const fits = pages().filter((entry) => entry.text.toLowerCase().includes(text.toLowerCase()));
  entries = fits;
  chosen = 0;
  draw();
  if (!text) return;
  const found = await search(text);
  if (mine !== asked) return;
  const more = { text: `Search jobs for “${text}”`, icon: "#i-search", note: "search", go: `${base}/jobs?q=${encodeURIComponent(text)}` };
  entries = [...found, ...fits, more];
  draw();
}

export function openPalette() {
  if (!dialog || dialog.open) return;
  input.value = "";
  dialog.showModal();
  look();
}

export function startPalette() {
  const opener = document.getElementById("open-palette");
  if (!dialog || !opener) return;
  opener.hidden = false;
  if (!/mac/i.test(navigator.platform)) opener.querySelector("kbd").textContent = "Ctrl K";
  opener.addEventListener("click", openPalette);
  input.addEventListener("input", look);
  dialog.querySelector("form").addEventListener("submit", (event) => {
    event.preventDefault();
    if (entries[chosen]) follow(entries[chosen]);
  });
  dialog.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step || !entries.length) return;
    event.preventDefault();
    chosen = (chosen + step + entries.length) % entries.length;
    draw();
  });
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
}

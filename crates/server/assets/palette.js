// Search and jump: pages, actions and jobs.
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
    found.push({ text: "New job", icon: "#i-plus", note: "action", go: `${base}/jobs/new` });
  }
  found.push({ text: "Failing jobs", icon: "#i-failed", note: "search", go: `${base}/jobs?q=failed` });
  found.push({ text: "Paused jobs", icon: "#i-paused", note: "search", go: `${base}/jobs?q=state%3Apaused` });
  for (const button of document.querySelectorAll(".settings button[name=theme]")) {
    found.push({ text: `Theme: ${button.textContent}`, icon: "#i-moon", note: "action", act: () => button.click() });
  }
  return found;
}

async function jobs(text) {
  const answer = await fetch(`${base}/v1/jobs?limit=8&search=${encodeURIComponent(text)}`);
  if (!answer.ok) return [];
  const { items } = await answer.json();
  return items.map((job) => ({ text: job.label, icon: "#i-jobs", note: job.schedule, go: `${base}/jobs/${job.id}` }));
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
  const found = await jobs(text);
  if (mine !== asked) return;
  const search = { text: `Search jobs for “${text}”`, icon: "#i-search", note: "search", go: `${base}/jobs?q=${encodeURIComponent(text)}` };
  entries = [...found, ...fits, search];
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

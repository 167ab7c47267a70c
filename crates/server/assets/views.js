// Saved views: a list with its filters is an address; here it gets a name, in this browser.
import { onRefresh } from "./live.js";

const STORED = "ordo-views";
const base = document.documentElement.dataset.base ?? "";

/** The views of this browser: what they are called, and where they lead. */
export function views() {
  try {
    const kept = JSON.parse(localStorage.getItem(STORED) ?? "[]");
    return Array.isArray(kept) ? kept.filter((view) => typeof view.name === "string" && String(view.path).startsWith("/")) : [];
  } catch {
    return [];
  }
}

function keep(all) {
  localStorage.setItem(STORED, JSON.stringify(all));
  draw();
}

const here = () => location.pathname.slice(base.length) + location.search;

function chip(view) {
  const item = document.createElement("li");
  const link = document.createElement("a");
  link.className = "chip";
  link.href = base + view.path;
  link.textContent = view.name;
  if (view.path === here()) link.setAttribute("aria-current", "true");
  const remove = document.createElement("button");
  remove.type = "button";
  remove.className = "chip plain";
  remove.textContent = "×";
  remove.setAttribute("aria-label", `Forget the view ${view.name}`);
  remove.addEventListener("click", () => keep(views().filter((one) => one.name !== view.name)));
  item.append(link, remove);
  return item;
}

function draw() {
  const bar = document.getElementById("views");
  if (!bar) return;
  const section = here().split("?")[0];
  const own = views().filter((view) => view.path.split("?")[0] === section);
  bar.hidden = own.length === 0 && !location.search;
  bar.querySelector("ul").replaceChildren(...own.map(chip));
}

export function startViews() {
  const bar = document.getElementById("views");
  if (!bar) return;
  draw();
  onRefresh(draw);
  bar.querySelector("form").addEventListener("submit", (event) => {
    event.preventDefault();
    const field = event.target.elements.namedItem("name");
    const name = field.value.trim();
    if (!name) return;
    field.value = "";
    event.target.closest("details").open = false;
    keep([...views().filter((view) => view.name !== name), { name, path: here() }]);
    document.getElementById("said").textContent = `Saved the view ${name}`;
  });
}

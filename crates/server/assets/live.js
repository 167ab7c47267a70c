// Live updates: the server hints what changed, the page is asked for anew, and only what differs is touched.
import { morph } from "./morph.js";

/** Between two looks at the server, in milliseconds. */
const REST = 1000;
const STORED = "ordo-live-paused";

const base = document.documentElement.dataset.base ?? "";
const button = document.getElementById("live");
const listeners = [];
let paused = sessionStorage.getItem(STORED) === "yes";
let waiting = false;
let busy = false;
let last = 0;

/** Runs the listeners of `onRefresh`: the page was brought up to date. */
export function onRefresh(listener) {
  listeners.push(listener);
}

/** Lays a page that was just fetched over this one. */
export function show(text) {
  const page = new DOMParser().parseFromString(text, "text/html");
  const main = page.getElementById("main");
  if (!main) return location.reload();
  document.title = page.title;
  document.getElementById("favicon")?.setAttribute("href", page.getElementById("favicon")?.getAttribute("href") ?? "");
  const flash = page.getElementById("flash");
  if (flash?.childElementCount) document.getElementById("flash").replaceChildren(...flash.childNodes);
  flash?.replaceWith(document.getElementById("flash").cloneNode(true));
  morph(document.getElementById("main"), main);
  const nav = page.getElementById("nav");
  if (nav) morph(document.getElementById("nav"), nav);
  document.documentElement.dataset.now = page.documentElement.dataset.now;
  for (const listener of listeners) listener();
}

export async function refresh() {
  if (busy) {
    waiting = true;
    return;
  }
  busy = true;
  waiting = false;
  last = Date.now();
  try {
    const answer = await fetch(location.pathname + location.search, { headers: { Accept: "text/html" } });
    if (answer.status === 401) location.reload();
    if (answer.ok) show(await answer.text());
  } catch {
    // The stream reports when the server is there again.
  } finally {
    busy = false;
    if (waiting) soon();
  }
}

let timer;
function soon() {
  if (paused || document.hidden) {
    waiting = true;
    return;
  }
  clearTimeout(timer);
  timer = setTimeout(refresh, Math.max(0, last + REST - Date.now()));
}

function concerns(hint) {
  const { live, liveId } = document.getElementById("main").dataset;
  if (live === "all" || hint.all) return true;
  return live === "job" ? hint.jobs.includes(liveId) : hint.runs.includes(liveId);
}

export function togglePause() {
  if (!button || button.hidden) return;
  paused = !paused;
  sessionStorage.setItem(STORED, paused ? "yes" : "no");
  notify();
  if (!paused) refresh();
}

function notify() {
  button.setAttribute("aria-pressed", String(paused));
  button.title = paused ? "Resume live updates" : "Pause live updates";
  button.querySelector(".live-text").textContent = paused ? "Paused" : "Live";
}

export function startLive() {
  if (!document.getElementById("main")?.dataset.live || !button) return;
  button.hidden = false;
  button.addEventListener("click", togglePause);
  notify();
  const stream = new EventSource(`${base}/live`);
  let lost = false;
  stream.onmessage = ({ data }) => concerns(JSON.parse(data)) && soon();
  stream.onerror = () => {
    lost = true;
    button.classList.add("lost");
  };
  stream.onopen = () => {
    button.classList.remove("lost");
    if (lost) soon();
    lost = false;
  };
  document.addEventListener("visibilitychange", () => !document.hidden && waiting && soon());
  addEventListener("pagehide", () => stream.close());
  addEventListener("pageshow", (event) => event.persisted && location.reload());
  document.addEventListener("submit", act);
  // Pictures of the future move without anything having happened.
  if (document.getElementById("ring")) setInterval(() => Date.now() - last > 10000 && soon(), 5000);
}

/** Buttons of rows act in place: the page they lead back to is this one. */
async function act(event) {
  const target = event.submitter?.getAttribute("formaction") ?? event.target.getAttribute("action");
  const back = event.target.elements.namedItem("back")?.value;
  const here = base + (back ?? "");
  if (!/\/(trigger|pause|resume)$/.test(target) || here !== location.pathname + location.search) return;
  event.preventDefault();
  const answer = await fetch(target, {
    method: "POST",
    body: new URLSearchParams({ back }),
    headers: { Accept: "text/html" },
  });
  show(await answer.text());
}

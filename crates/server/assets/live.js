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
  // The zone of its times is said beside the page: the first one is made before that of the browser is known.
  const settings = page.querySelector(".settings");
  if (settings) morph(document.querySelector(".settings"), settings);
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
    // A proxy in front of a server that is gone answers by itself.
    if (answer.status >= 502 && answer.status <= 504) lose();
    if (answer.ok) show(await answer.text());
  } catch {
    lose();
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
  const lost = lostSince !== 0;
  button.setAttribute("aria-pressed", String(paused));
  button.classList.toggle("lost", lost && !paused);
  button.title = paused ? "Resume live updates" : lost ? "The server does not answer" : "Pause live updates";
  button.querySelector(".live-text").textContent = paused ? "Paused" : lost ? "Offline" : "Live";
  const bar = document.getElementById("offline");
  if (bar) bar.hidden = !lost || paused;
}

/** The first pause before the stream is opened again, and the longest, in milliseconds. */
const AGAIN = 1000;
const AGAIN_MAX = 15000;

let stream;
let again = AGAIN;
let retry;
let lostSince = 0;

/** In the zone in which the page shows its times. */
function timeOfDay(at) {
  const zone = document.querySelector(".settings .zone")?.textContent;
  try {
    return new Date(at).toLocaleTimeString([], { timeZone: zone });
  } catch {
    return new Date(at).toLocaleTimeString();
  }
}

/** The server is out of reach: what the page shows is from before, and it says so. */
function lose() {
  if (lostSince === 0) {
    lostSince = Date.now();
    const since = document.getElementById("offline-since");
    if (since) since.textContent = timeOfDay(lostSince);
    document.getElementById("said").textContent = "The server does not answer";
  }
  notify();
  reopen();
}

/** A browser gives a stream up for good when anything but the stream answers, as a proxy does: it is opened anew. */
function reopen() {
  clearTimeout(retry);
  retry = setTimeout(open, again * (0.75 + Math.random() / 2));
  again = Math.min(again * 2, AGAIN_MAX);
}

function open() {
  clearTimeout(retry);
  stream?.close();
  stream = new EventSource(`${base}/live`);
  stream.onmessage = ({ data }) => concerns(JSON.parse(data)) && soon();
  stream.onerror = () => {
    stream.close();
    lose();
  };
  stream.onopen = () => {
    again = AGAIN;
    const wasLost = lostSince !== 0;
    lostSince = 0;
    notify();
    if (!wasLost) return;
    document.getElementById("said").textContent = "The server answers again";
    if (paused || document.hidden) waiting = true;
    else refresh();
  };
}

export function startLive() {
  if (!document.getElementById("main")?.dataset.live || !button) return;
  button.hidden = false;
  button.addEventListener("click", togglePause);
  notify();
  open();
  document.getElementById("offline-retry")?.addEventListener("click", () => {
    again = AGAIN;
    open();
  });
  addEventListener("online", () => lostSince && open());
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) return;
    if (lostSince) open();
    else if (waiting) soon();
  });
  addEventListener("pagehide", () => {
    clearTimeout(retry);
    stream.close();
  });
  addEventListener("pageshow", (event) => event.persisted && location.reload());
  document.addEventListener("submit", act);
  // Pictures of the future move without anything having happened.
  if (document.getElementById("ring")) setInterval(() => !lostSince && Date.now() - last > 10000 && soon(), 5000);
}

/** Buttons of rows act in place: the page they lead back to is this one. */
async function act(event) {
  const target = event.submitter?.getAttribute("formaction") ?? event.target.getAttribute("action");
  const back = event.target.elements.namedItem("back")?.value;
  const here = base + (back ?? "");
  if (!/\/(trigger|pause|resume)$/.test(target) || here !== location.pathname + location.search) return;
  event.preventDefault();
  try {
    const answer = await fetch(target, {
      method: "POST",
      body: new URLSearchParams({ back }),
      headers: { Accept: "text/html" },
    });
    show(await answer.text());
  } catch {
    lose();
  }
}

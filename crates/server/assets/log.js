// The log of a run: follows it while it grows, searches it, filters it, and keeps a link to each line.
import { draw } from "./ansi.js";
import { copy } from "./copy.js";
import { onRefresh, refresh } from "./live.js";

/** More lines than this are left to the download. */
const LINES_MAX = 20000;
/** Words that a line about an error has. The server looks for the same. */
const ERROR = /(^|[^a-z])(error|fatal|panic|exception|traceback|failed)s?([^a-z]|$)/i;

const box = document.getElementById("log-lines");
const toError = document.getElementById("log-error");
const asked = new URLSearchParams(location.search);
const chosen = { stream: asked.get("stream") ?? "", attempt: asked.get("attempt") ?? "" };
const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3, hourCycle: "h23", timeZone: box?.dataset.zone });
const exact = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "long", timeZone: box?.dataset.zone });
let attempt = 1;
let count = 0;
let words = "";

function made(line) {
  const row = document.createElement("div");
  row.className = `line ${line.stream}`;
  row.id = `L${++count}`;
  row.dataset.of = line.attempt;
  const number = document.createElement("a");
  number.className = "n";
  number.href = `#L${count}`;
  number.setAttribute("aria-label", `Line ${count}`);
  number.textContent = count;
  const time = document.createElement("time");
  const at = new Date(line.at);
  time.dateTime = line.at;
  time.textContent = clock.format(at).replace(",", ".");
  time.title = exact.format(at);
  const text = document.createElement("span");
  text.className = "t";
  text.append(...draw(line.text));
  row.append(number, time, text);
  sift(row);
  if (toError.hidden && ERROR.test(text.textContent)) {
    toError.href = `#${row.id}`;
    toError.hidden = false;
  }
  return row;
}

const fits = (row) =>
  (chosen.stream === "" || row.classList.contains(chosen.stream)) && (chosen.attempt === "" || row.dataset.of === chosen.attempt);

function sift(row) {
  row.classList.toggle("off", !fits(row));
  const text = row.querySelector(".t");
  for (const mark of text.querySelectorAll("mark")) mark.replaceWith(...mark.childNodes);
  text.normalize();
  if (words && text.textContent.toLowerCase().includes(words)) highlight(text);
}

/** Marks the words inside each run of text; a hit that spans two colours is marked in none. */
function highlight(text) {
  const walker = document.createTreeWalker(text, NodeFilter.SHOW_TEXT);
  const nodes = [];
  while (walker.nextNode()) nodes.push(walker.currentNode);
  for (let node of nodes) {
    for (let at; (at = node.data.toLowerCase().indexOf(words)) >= 0; ) {
      const hit = node.splitText(at);
      node = hit.splitText(words.length);
      const mark = document.createElement("mark");
      hit.replaceWith(mark);
      mark.append(hit);
    }
  }
}

const rows = () => box.querySelectorAll(".line");

function search(input) {
  words = input.value.trim().toLowerCase();
  for (const row of rows()) sift(row);
  const hits = box.querySelectorAll(".line:not(.off) mark");
  document.getElementById("log-found").textContent = words ? `${hits.length} found` : "";
  hits[0]?.scrollIntoView({ block: "nearest" });
}

function next(back) {
  const hits = [...box.querySelectorAll(".line:not(.off) mark")];
  if (!hits.length) return;
  const at = hits.findIndex((hit) => hit.classList.contains("current"));
  hits[at]?.classList.remove("current");
  const to = hits[(at + (back ? -1 : 1) + hits.length) % hits.length];
  to.classList.add("current");
  for (const row of box.querySelectorAll(".here")) row.classList.remove("here");
  to.closest(".line").classList.add("here");
  to.scrollIntoView({ block: "center" });
}

function follow(follows) {
  const { address, last } = box.dataset;
  const source = new EventSource(`${address}?follow=true${last ? `&cursor=${last}` : ""}`);
  let ready = [];
  const put = () => {
    const nodes = [];
    for (const line of ready) {
      if (line.attempt !== attempt) {
        attempt = line.attempt;
        const head = document.createElement("div");
        head.className = "attempt";
        head.textContent = `attempt ${attempt}`;
        nodes.push(head);
      }
      nodes.push(made(line));
    }
    ready = [];
    document.getElementById("log-empty")?.remove();
    box.append(...nodes);
    if (follows.checked) box.scrollTop = box.scrollHeight;
    else toLine();
  };
  source.addEventListener("line", ({ data }) => {
    if (count + ready.length >= LINES_MAX) return source.close();
    ready.push(JSON.parse(data));
    if (ready.length === 1) requestAnimationFrame(put);
  });
  source.addEventListener("end", () => {
    source.close();
    box.dataset.over = "true";
    follows.checked = false;
    refresh();
  });
  source.addEventListener("error", ({ data }) => data && source.close());
  addEventListener("pagehide", () => source.close());
}

/** To the line that the address names, once it is there. */
let found = false;
function toLine() {
  const line = !found && /^#L\d+$/.test(location.hash) && document.querySelector(location.hash);
  if (!line) return;
  found = true;
  for (const row of box.querySelectorAll(".here")) row.classList.remove("here");
  line.classList.add("here");
  line.scrollIntoView({ block: "center" });
}

/** What a box says is remembered for the next log. */
function remembered(id, change) {
  const input = document.getElementById(id);
  const stored = localStorage.getItem(`ordo-${id}`);
  if (stored !== null) input.checked = stored === "yes";
  change(input.checked);
  input.addEventListener("change", () => {
    localStorage.setItem(`ordo-${id}`, input.checked ? "yes" : "no");
    change(input.checked);
  });
}

function choose(field, value) {
  chosen[field] = value;
  const address = new URL(location.href);
  for (const [name, text] of Object.entries(chosen)) {
    if (text) address.searchParams.set(name, text);
    else address.searchParams.delete(name);
  }
  // The page is asked for anew when something happens: it must come with the same choice.
  history.replaceState(null, "", address);
  mark();
  for (const row of rows()) sift(row);
}

function mark() {
  for (const field of ["stream", "attempt"]) {
    for (const chip of document.querySelectorAll(`a[data-${field}]`)) {
      if (chip.dataset[field] === chosen[field]) chip.setAttribute("aria-current", "true");
      else chip.removeAttribute("aria-current");
    }
  }
}

/** What is shown, as text. */
async function copyShown(button) {
  const shown = [...rows()].filter((row) => !row.classList.contains("off"));
  const withTimes = box.classList.contains("times");
  const text = shown.map((row) => (withTimes ? `${row.querySelector("time").dateTime} ` : "") + row.querySelector(".t").textContent);
  await copy(`${text.join("\n")}\n`);
  button.classList.add("done");
  document.getElementById("said").textContent = shown.length === 1 ? "1 line copied" : `${shown.length} lines copied`;
  setTimeout(() => button.classList.remove("done"), 1500);
}

function start() {
  count = Number(box.dataset.count);
  attempt = Number(box.dataset.attempt);
  const input = document.getElementById("log-search");
  const follows = document.getElementById("log-follow");
  const copies = document.getElementById("log-copy");
  for (const id of ["log-search", "log-times-label", "log-wrap-label", "log-follow-label", "log-copy"]) document.getElementById(id).hidden = false;
  input.addEventListener("input", () => search(input));
  input.addEventListener("keydown", (event) => event.key === "Enter" && next(event.shiftKey));
  remembered("log-times", (on) => box.classList.toggle("times", on));
  remembered("log-wrap", (on) => box.classList.toggle("whole", !on));
  copies.addEventListener("click", () => copyShown(copies));
  follows.addEventListener("change", () => follows.checked && (box.scrollTop = box.scrollHeight));
  toError.addEventListener("click", () => {
    follows.checked = false;
    // Also where it is the line that the address names already.
    found = false;
    const line = document.querySelector(toError.getAttribute("href"));
    if (line && !fits(line)) {
      chosen.attempt = "";
      choose("stream", "");
    }
    setTimeout(toLine);
  });
  addEventListener("hashchange", () => {
    found = false;
    toLine();
  });
  // Whoever scrolls up wants to read, whoever reaches the end wants to follow.
  box.addEventListener("wheel", () => {
    if (box.dataset.over !== "true") {
      setTimeout(() => (follows.checked = box.scrollHeight - box.scrollTop - box.clientHeight < 8), 50);
    }
  }, { passive: true });
  document.addEventListener("click", (event) => {
    const chip = event.target.closest?.("a[data-stream], a[data-attempt]");
    // The other lines are not on a page that came with some of them: the link is followed.
    if (!chip || box.dataset.filtered === "true" || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    if (chip.dataset.stream === undefined) choose("attempt", chip.dataset.attempt);
    else choose("stream", chip.dataset.stream);
  });
  onRefresh(mark);
  const isCut = document.querySelector(".log-cut") !== null;
  toLine();
  if (location.hash.startsWith("#L")) follows.checked = false;
  if (box.dataset.over !== "true" || isCut) follow(follows);
  if (follows.checked) box.scrollTop = box.scrollHeight;
}

if (box) start();

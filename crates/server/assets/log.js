// The log of a run: follows it while it grows, searches it, filters it, and keeps a link to each line.
import { draw } from "./ansi.js";
import { refresh } from "./live.js";

/** More lines than this are left to the download. */
const LINES_MAX = 20000;

const box = document.getElementById("log-lines");
let stream = "";
let attempt = 1;
let count = 0;
let words = "";

function made(line) {
  const row = document.createElement("div");
  row.className = `line ${line.stream}`;
  row.id = `L${++count}`;
  const number = document.createElement("a");
  number.className = "n";
  number.href = `#L${count}`;
  number.setAttribute("aria-label", `Line ${count}`);
  number.textContent = count;
  const time = document.createElement("time");
  time.dateTime = time.textContent = line.at;
  const text = document.createElement("span");
  text.className = "t";
  text.append(...draw(line.text));
  row.append(number, time, text);
  sift(row);
  return row;
}

function sift(row) {
  row.classList.toggle("off", stream !== "" && !row.classList.contains(stream));
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
  line.classList.add("here");
  line.scrollIntoView({ block: "center" });
}

export function startLog() {
  if (!box) return;
  count = Number(rows()[rows().length - 1]?.id.slice(1) ?? 0);
  const heads = box.querySelectorAll(".attempt");
  if (heads.length) attempt = Number(heads[heads.length - 1].textContent.split(" ")[1]);
  const input = document.getElementById("log-search");
  const follows = document.getElementById("log-follow");
  const times = document.getElementById("log-times");
  for (const id of ["log-search", "log-times-label", "log-follow-label"]) document.getElementById(id).hidden = false;
  input.addEventListener("input", () => search(input));
  input.addEventListener("keydown", (event) => event.key === "Enter" && next(event.shiftKey));
  times.addEventListener("change", () => box.classList.toggle("times", times.checked));
  follows.addEventListener("change", () => follows.checked && (box.scrollTop = box.scrollHeight));
  // Whoever scrolls up wants to read, whoever reaches the end wants to follow.
  box.addEventListener("wheel", () => {
    if (box.dataset.over !== "true") {
      setTimeout(() => (follows.checked = box.scrollHeight - box.scrollTop - box.clientHeight < 8), 50);
    }
  }, { passive: true });
  for (const chip of document.querySelectorAll("[data-stream]")) {
    chip.addEventListener("click", (event) => {
      event.preventDefault();
      stream = chip.dataset.stream;
      for (const one of document.querySelectorAll("[data-stream]")) one.removeAttribute("aria-current");
      chip.setAttribute("aria-current", "true");
      for (const row of rows()) sift(row);
    });
  }
  const asked = new URLSearchParams(location.search).get("stream");
  const isCut = document.querySelector(".log-cut") !== null;
  toLine();
  if (location.hash.startsWith("#L")) follows.checked = false;
  if (!asked && (box.dataset.over !== "true" || isCut)) follow(follows);
  if (follows.checked) box.scrollTop = box.scrollHeight;
}

// The histogram of runs: a part of its time is chosen by dragging over the bars, or with two sliders.
import { onRefresh } from "./live.js";

const brush = document.getElementById("brush");
const hands = document.getElementById("brush-hands");
const from = document.getElementById("brush-from");
const to = document.getElementById("brush-to");
const words = document.getElementById("brush-words");
const hint = words?.textContent;

const measure = () => {
  const { from: begin, bin, bins, zone } = brush.dataset;
  return { begin: Number(begin), bin: Number(bin), bins: Number(bins), zone };
};

/** The times between which the chosen bars lie. */
function chosen() {
  const { begin, bin } = measure();
  const [low, high] = [Number(from.value), Number(to.value)];
  return [begin + Math.min(low, high) * bin, begin + Math.max(low, high) * bin];
}

function said(at) {
  const { zone } = measure();
  const options = { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23", timeZone: zone };
  return new Intl.DateTimeFormat("en-GB", options).format(at);
}

function draw() {
  const { begin, bin, bins } = measure();
  const [low, high] = chosen();
  const all = low === begin && high === begin + bins * bin;
  const is = !all && high > low;
  hands.classList.toggle("chosen", is);
  let choice = brush.querySelector(".brush-choice");
  if (is && !choice) {
    choice = document.createElement("div");
    choice.className = "brush-choice";
    brush.append(choice);
  }
  if (choice) {
    choice.hidden = !is;
    choice.style.left = `${((low - begin) / bin / bins) * 100}%`;
    choice.style.width = `${((high - low) / bin / bins) * 100}%`;
  }
  words.textContent = is ? `${said(low)} to ${said(high)}` : hint;
  from.setAttribute("aria-valuetext", said(low));
  to.setAttribute("aria-valuetext", said(high));
}

function go() {
  const [low, high] = chosen();
  if (high <= low) return;
  const address = new URL(brush.dataset.address, location.href);
  address.searchParams.set("since", new Date(low).toISOString());
  address.searchParams.set("until", new Date(high).toISOString());
  location.assign(address);
}

function reset() {
  const { bins } = measure();
  for (const hand of [from, to]) hand.max = bins;
  from.value = 0;
  to.value = bins;
  draw();
}

/** The bar below the pointer. */
function barAt(event) {
  const { left, width } = brush.getBoundingClientRect();
  const { bins } = measure();
  return Math.max(0, Math.min(bins - 1, Math.floor(((event.clientX - left) / width) * bins)));
}

let first = null;
let moved = false;

/** The page was brought up to date: what a script added is gone, and the bars may have moved. */
function again() {
  brush.classList.add("ready");
  const isChosen = hands.classList.contains("chosen");
  if (isChosen) draw();
  else reset();
}

function start() {
  hands.hidden = false;
  again();
  onRefresh(again);
  hands.addEventListener("input", draw);
  hands.addEventListener("submit", (event) => {
    event.preventDefault();
    go();
  });
  // Enter on a slider does what the button does.
  hands.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && event.target.type === "range") go();
    if (event.key === "Escape") reset();
  });
  brush.addEventListener("dragstart", (event) => event.preventDefault());
  brush.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    first = barAt(event);
    moved = false;
    // A page that is brought up to date meanwhile must not move below the pointer.
    brush.setAttribute("data-keep", "");
  });
  addEventListener("pointermove", (event) => {
    if (first === null) return;
    const bar = barAt(event);
    moved ||= bar !== first;
    if (!moved) return;
    from.value = Math.min(first, bar);
    to.value = Math.max(first, bar) + 1;
    draw();
  });
  addEventListener("pointerup", () => {
    if (first === null) return;
    first = null;
    brush.removeAttribute("data-keep");
    if (moved) go();
  });
  addEventListener("pointercancel", () => {
    first = null;
    brush.removeAttribute("data-keep");
    reset();
  });
  // A bar is a link; whoever drags does not follow it.
  brush.addEventListener("click", (event) => moved && event.preventDefault(), true);
}

if (brush) start();

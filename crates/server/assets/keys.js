// Keys: ⌘K and Ctrl K to search, / for the search of the page, g and a letter to go somewhere, j k x Enter on rows, ? for
// the list.
import { openPalette } from "./palette.js";
import { togglePause } from "./live.js";
import { pressRow } from "./rows.js";

const base = document.documentElement.dataset.base ?? "";
const PLACES = { h: "/", j: "/jobs", r: "/runs", i: "/incidents", m: "/monitors", e: "/executors", n: "/nodes", a: "/audit", c: "/chains" };
let going = 0;

const isTyping = (target) => target.closest?.("input:not([type=checkbox]), textarea, select, dialog[open]") !== null;

function press(event) {
  if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === "k") {
    event.preventDefault();
    return openPalette();
  }
  if (event.metaKey || event.ctrlKey || event.altKey || isTyping(event.target)) return;
  if (Date.now() - going < 1200 && PLACES[event.key]) {
    location.href = base + PLACES[event.key];
    return;
  }
  going = event.key === "g" ? Date.now() : 0;
  if (event.key === "/") {
    event.preventDefault();
    const search = document.querySelector("main [data-search]:not([hidden])");
    if (search) search.focus();
    else openPalette();
  }
  if (pressRow(event.key)) return event.preventDefault();
  if (event.key === "?") document.getElementById("keys").showModal();
  if (event.key === "p") togglePause();
  if (event.key === "n" && document.documentElement.dataset.operate === "true") location.href = `${base}/jobs/new`;
}

export function startKeys() {
  document.addEventListener("keydown", press);
  // A sheet closes when somebody clicks beside it or presses Escape.
  const sheets = () => document.querySelectorAll(".pop[open], .settings[open], .nav-more details[open]");
  document.addEventListener("click", (event) => {
    for (const sheet of sheets()) if (!sheet.contains(event.target)) sheet.open = false;
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || document.querySelector("dialog[open]")) return;
    // One Escape closes one thing: the one opened last, which is the innermost.
    const sheet = [...sheets()].at(-1);
    if (!sheet) return;
    event.preventDefault();
    sheet.open = false;
    sheet.querySelector("summary").focus();
  });
}

// Relative times that go on, and the zone of this browser for the server.
import { onRefresh, refresh } from "./live.js";

/** How far the server's clock is ahead of ours. */
let ahead = 0;

export const now = () => Date.now() + ahead;

export function relative(difference) {
  const seconds = Math.floor(Math.abs(difference) / 1000);
  if (seconds === 0) return "now";
  const text =
    seconds < 90 ? `${seconds} s`
    : seconds < 5400 ? `${Math.floor(seconds / 60)} min`
    : seconds < 129600 ? `${Math.floor(seconds / 3600)} h`
    : `${Math.floor(seconds / 86400)} d`;
  return difference > 0 ? `in ${text}` : `${text} ago`;
}

export function length(ms) {
  ms = Math.max(0, Math.floor(ms));
  const s = Math.floor(ms / 1000), m = Math.floor(s / 60), h = Math.floor(m / 60);
  const two = (big, unit, small, below) => (small ? `${big} ${unit} ${small} ${below}` : `${big} ${unit}`);
  if (ms < 1000) return `${ms} ms`;
  if (ms < 10000) return `${s}.${Math.floor((ms % 1000) / 100)} s`;
  if (ms < 60000) return `${s} s`;
  if (ms < 3600000) return two(m, "min", s % 60, "s");
  if (ms < 86400000) return two(h, "h", m % 60, "min");
  return two(Math.floor(h / 24), "d", h % 24, "h");
}

function tick() {
  if (document.hidden) return;
  const moment = now();
  for (const time of document.querySelectorAll("time[data-time]")) {
    const at = Date.parse(time.dateTime);
    const { time: kind } = time.dataset;
    const text =
      kind === "rel" ? relative(at - moment)
      : kind === "ago" ? relative(Math.min(0, at - moment))
      : kind === "run" ? length(moment - at)
      : null;
    if (text !== null && time.textContent !== text) time.textContent = text;
  }
}

/** A page takes a while to arrive: the quickest of them says best what the server's clock shows. */
function compare() {
  ahead = Math.max(ahead, Date.parse(document.documentElement.dataset.now) - Date.now());
}

export function startTimes() {
  ahead = Date.parse(document.documentElement.dataset.now) - Date.now();
  onRefresh(compare);
  setInterval(tick, 1000);
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const cookie = `ordo_tz=${encodeURIComponent(zone)}`;
  if (zone && !document.cookie.split("; ").includes(cookie)) {
    const path = `${document.documentElement.dataset.base ?? ""}/`;
    document.cookie = `${cookie}; path=${path}; max-age=31536000; samesite=lax`;
    if (document.getElementById("main")?.dataset.live) refresh();
  }
}

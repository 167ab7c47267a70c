// Rows by keyboard: j and k go down and up, x ticks, Enter opens.
const TABLE = "main .table tbody tr, main .rows > .row";
let current = "";

const rows = () => [...document.querySelectorAll(TABLE)].filter((row) => row.offsetParent !== null && row.querySelector("a"));

function mark(row) {
  for (const one of document.querySelectorAll(".row-here")) one.classList.remove("row-here");
  if (!row) return;
  row.classList.add("row-here");
  current = row.id;
  row.querySelector("a").focus({ preventScroll: true });
  row.scrollIntoView({ block: "nearest" });
}

/** Whether the key meant a row. */
export function pressRow(key) {
  const all = rows();
  if (!all.length) return false;
  const place = all.findIndex((row) => row.classList.contains("row-here") || (row.id && row.id === current && row.contains(document.activeElement)));
  if (key === "j" || key === "k") {
    const next = place < 0 ? (key === "j" ? 0 : all.length - 1) : Math.min(Math.max(place + (key === "j" ? 1 : -1), 0), all.length - 1);
    mark(all[next]);
    return true;
  }
  if (place < 0) return false;
  if (key === "x") {
    const tick = all[place].querySelector("input[type=checkbox]");
    if (!tick) return false;
    tick.click();
    return true;
  }
  if (key === "Enter" && !all[place].contains(document.activeElement)) {
    all[place].querySelector("a").click();
    return true;
  }
  return false;
}

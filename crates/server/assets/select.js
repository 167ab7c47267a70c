// Ticked rows: how many, all of the page, and buttons only where there is something to order.
import { onRefresh } from "./live.js";

export function startSelection() {
  const bar = document.getElementById("bulk-bar");
  const all = document.getElementById("tick-all");
  if (!bar || !all) return;
  all.hidden = false;
  const ticks = () => [...document.querySelectorAll("#bulk tbody input[name=id]")];
  const scope = bar.querySelector("input[name=scope]");
  const update = () => {
    const rows = ticks();
    const count = rows.filter((tick) => tick.checked).length;
    all.checked = count > 0 && count === rows.length;
    all.indeterminate = count > 0 && count < rows.length;
    const some = count > 0 || scope.checked;
    bar.classList.toggle("some", some);
    bar.classList.toggle("idle", !some);
    document.getElementById("ticked").textContent =
      scope.checked ? "All that match" : count ? `${count} selected` : "Select jobs to act on them";
  };
  all.addEventListener("change", () => {
    for (const tick of ticks()) tick.checked = all.checked;
    update();
  });
  document.getElementById("bulk").addEventListener("change", (event) => event.target !== all && update());
  onRefresh(update);
  update();
}

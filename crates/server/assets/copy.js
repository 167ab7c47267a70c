// Copies what stands beside a button; also where the browser offers no clipboard, as over plain HTTP.
import { onRefresh } from "./live.js";

export async function copy(text) {
  try {
    if (navigator.clipboard) return await navigator.clipboard.writeText(text);
  } catch {
    // Refused, as in a frame or by a policy: the older way may still be allowed.
  }
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "hidden";
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

export function startCopy() {
  const reveal = () => document.querySelectorAll("[data-copy]").forEach((button) => (button.hidden = false));
  reveal();
  onRefresh(reveal);
  document.addEventListener("click", async (event) => {
    const button = event.target.closest?.("[data-copy]");
    if (!button) return;
    await copy(button.dataset.copy || button.parentElement.querySelector("code").textContent);
    button.classList.add("done");
    document.getElementById("said").textContent = "Copied";
    setTimeout(() => button.classList.remove("done"), 1500);
  });
}

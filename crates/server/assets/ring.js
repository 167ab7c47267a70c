// The hand of the ring, and marks that light up when it passes.
import { now } from "./times.js";

const CALM = matchMedia("(prefers-reduced-motion: reduce)");

function turn() {
  const hand = document.getElementById("ring-hand");
  if (!hand) return;
  const moment = now();
  hand.setAttribute("transform", `rotate(${(((moment % 60000) / 60000) * 360).toFixed(2)} 150 150)`);
  for (const mark of document.querySelectorAll(".mark:not(.fired)")) {
    if (Number(mark.dataset.at) * 1000 + 500 < moment) mark.classList.add("fired");
  }
}

function frame() {
  if (!document.hidden) turn();
  if (CALM.matches) setTimeout(frame, 1000);
  else requestAnimationFrame(frame);
}

export function startRing() {
  if (document.getElementById("ring-hand")) frame();
}

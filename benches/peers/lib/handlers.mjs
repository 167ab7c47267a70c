// Peers whose handlers run in this process: when each began, and when the last was recorded as done.

import { setTimeout as sleep } from "node:timers/promises";
import { now } from "./workloads.mjs";

const GIVE_UP_MS = 240_000;

/// `peer` brings work(onStart) and unfinished(dueBy), the number of jobs due by then that are not recorded as done.
export function withHandlers(peer) {
  const late = new Map();
  const onStart = ({ id, due }) => {
    if (!late.has(id)) late.set(id, now() - due);
  };
  return {
    ...peer,
    about: { ...peer.about, worker: "driver" },
    work: () => peer.work(onStart),
    lateness: async () => [...late.values()],
    // The server is asked only when all handlers were called: asking costs it what it could do its work with.
    recorded: async (count, lastDue) => {
      for (const end = lastDue + GIVE_UP_MS; late.size < count; await sleep(5)) {
        if (now() > end) throw new Error(`only ${late.size} of ${count} jobs began`);
      }
      while ((await peer.unfinished(lastDue)) > 0) await sleep(5);
      return now();
    },
  };
}

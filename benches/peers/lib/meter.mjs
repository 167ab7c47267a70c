// What a stretch of time cost: CPU of the servers, of this driver and of everything else, memory, bytes written.
// 100 % is one core. "Everything else" is the noise that a figure has to be read with.

import { readFileSync } from "node:fs";

const TICKS_PER_S = 100;
const MIB = 1_048_576;

const read = (path) => {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return ""; // the process is gone
  }
};

/// A process and all below it: PostgreSQL has one for each connection.
export function family(pid) {
  const below = read(`/proc/${pid}/task/${pid}/children`).trim().split(/\s+/).filter(Boolean).map(Number);
  return [pid, ...below.flatMap(family)];
}

/// Own time and that of children which have ended, in ticks.
function cpuTicks(pid) {
  const fields = read(`/proc/${pid}/stat`).split(") ").at(-1).split(" ");
  return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0);
}

/// Handed to write calls. The kernel's write_bytes counted 256 KiB for each small commit on a preallocated file.
const writtenBytes = (pid) => Number(/^wchar: (\d+)/m.exec(read(`/proc/${pid}/io`))?.[1] ?? 0);

/// Proportional: memory that processes share counts once.
function memoryKib(pid) {
  const text = read(`/proc/${pid}/smaps_rollup`);
  return Number(/^Pss:\s+(\d+)/m.exec(text)?.[1] ?? 0);
}

function busyTicks() {
  const [user, nice, system, , , irq, softirq, steal] = read("/proc/stat").split("\n")[0].trim().split(/\s+/).slice(1).map(Number);
  return user + nice + system + irq + softirq + steal;
}

const sum = (pids, of) => pids.reduce((total, pid) => total + of(pid), 0);
const rounded = (value) => Math.round(value * 10) / 10;

export const memoryMib = (pids) => rounded(sum(pids, memoryKib) / 1_024);

/// Begins to count; the function returned ends it. `count` is how many jobs the bytes are shared by.
export function meter(servers) {
  const look = () => {
    const pids = servers().flatMap(family);
    return { at: performance.now(), server: sum(pids, cpuTicks), driver: cpuTicks(process.pid), busy: busyTicks(), written: sum(pids, writtenBytes) };
  };
  const from = look();
  return (count) => {
    const to = look();
    const seconds = (to.at - from.at) / 1_000;
    const percent = (name) => ((to[name] - from[name]) / TICKS_PER_S / seconds) * 100;
    const [server, driver, busy] = ["server", "driver", "busy"].map(percent);
    const written = to.written - from.written;
    return {
      seconds: rounded(seconds),
      server_cpu_pct: rounded(server),
      driver_cpu_pct: rounded(driver),
      other_cpu_pct: rounded(Math.max(0, busy - server - driver)),
      memory_mib: memoryMib(servers().flatMap(family)),
      driver_memory_mib: memoryMib([process.pid]),
      written_mib: rounded(written / MIB),
      ...(count ? { bytes_per_job: Math.round(written / count) } : {}),
    };
  };
}

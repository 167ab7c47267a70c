// Called by `drive`: node drive.mjs SYSTEM WORKLOAD [NAME=NUMBER…]; prints one line of JSON.

import { WORKLOADS } from "./lib/workloads.mjs";

const SYSTEMS = {
  ordo: { file: "ordo", settings: { store: "redb" } },
  "ordo-postgres": { file: "ordo", settings: { store: "postgres" } },
  "graphile-worker": { file: "graphile-worker" },
  "pg-boss": { file: "pg-boss" },
  bullmq: { file: "bullmq" },
  restate: { file: "restate" },
};

function fail(message) {
  console.error(`error: ${message}`);
  process.exit(2);
}

function numbers(given, { takes, may = [] }) {
  const values = {};
  for (const pair of given) {
    const [name, value] = pair.split("=");
    if (![...takes, ...may].includes(name)) fail(`${pair}: this workload takes ${[...takes, ...may].join(", ")}`);
    if (!(Number(value) > 0)) fail(`${pair}: a number above 0 is wanted`);
    values[name] = Number(value);
  }
  const missing = takes.filter((name) => !(name in values));
  if (missing.length > 0) fail(`missing: ${missing.map((name) => `${name}=NUMBER`).join(" ")}`);
  return values;
}

const [name, workloadName, ...given] = process.argv.slice(2);
const kind = SYSTEMS[name] ?? fail(`no system ${name}: one of ${Object.keys(SYSTEMS).join(", ")}, apscheduler`);
const workload = WORKLOADS[workloadName] ?? fail(`no workload ${workloadName}: one of ${Object.keys(WORKLOADS).join(", ")}`);
const values = numbers(given, workload);
const { open } = await import(`./systems/${kind.file}.mjs`);
let system;
try {
  system = await open(kind.settings);
  if (workload.needs && !system[workload.needs]) throw new Error(`${workloadName} is for Ordo alone`);
  const parts = await workload.run(system, values);
  await system.close();
  console.log(JSON.stringify({ system: name, workload: workloadName, ...values, about: system.about, parts }));
} catch (error) {
  console.error(`error: ${name} ${workloadName}: ${error.stack ?? error}`);
  process.exitCode = 1;
}
// Servers still up and folders end with the process.
process.exit();

// What a program does with the client in TypeScript; prints what came of it as JSON, which the suite checks.
import { Client, cron, every, Problem, Unreachable } from "ordo-sdk";

const GROUP = process.env["WORKER_GROUP"] ?? "";
const client = new Client();
const common = { tool_name: "echo", group: GROUP };

const hourly = { ...common, label: `${GROUP} hourly`, tool_input: { n: 1 }, trigger: every(3_600_000), timeout: "60s" };
const wanted = { ...hourly, tags: ["team:sdk", "hourly"] };
const ensured = [await client.ensureJob(wanted), await client.ensureJob(wanted)];
const tagged: unknown[] = [];
for await (const one of client.jobs({ tag: ["hourly", "team:sdk"], label_prefix: `${GROUP} ` })) {
  tagged.push([one.label, one.tags]);
}
const changed = await client.ensureJob({ ...common, label: hourly.label, tool_input: { n: 2 }, trigger: every("1h") });
await client.cancelJob(changed.id, "no longer wanted");
const anew = await client.ensureJob(hourly);
const racing = Array.from({ length: 4 }, () => new Client().ensureJob({ ...common, label: `${GROUP} race` }));
const race = (await Promise.all(racing)).map((one) => one.id);

const nightly = { ...common, label: `${GROUP} nightly`, tool_input: { n: 3 }, trigger: cron("0 2 * * *", "Europe/Berlin") };
const job = await client.createJob(nightly);
const again = await client.createJob({ ...common, label: `${GROUP} keyed` }, `${GROUP}-key`);
const twice = await client.createJob({ ...common, label: `${GROUP} keyed` }, `${GROUP}-key`);
const run = await client.wait(await client.triggerJob(job.id, { n: 4 }), AbortSignal.timeout(100_000));
const chat = await client.createJob({ ...common, label: `${GROUP} chat`, tool_name: "chatty", tool_input: { lines: 300 } });
const lines: string[] = [];
for await (const line of client.followLog(await client.triggerJob(chat.id), AbortSignal.timeout(100_000))) {
  lines.push(line.text);
}
const paused = (await client.pauseJob(job.id, "for a while")).state;
const resumed = (await client.resumeJob(job.id)).state;
const created: string[] = [];
for (let number = 0; number < 60; number += 1) {
  created.push((await client.createJob({ ...common, label: `${GROUP} page ${number}` })).id);
}
const listed: string[] = [];
for await (const one of client.jobs({ label_prefix: `${GROUP} page ` })) listed.push(one.id);
const runs: string[] = [];
for await (const one of client.runs({ job_id: job.id })) runs.push(one.id);

const refusals: Record<string, unknown> = {};
async function refused(name: string, work: () => Promise<unknown>): Promise<void> {
  try {
    await work();
  } catch (error) {
    if (error instanceof Problem) refusals[name] = [error.status, error.code, error.errors.map((one) => one.field)];
    else if (error instanceof Unreachable || (error as Error).name === "TimeoutError") refusals[name] = true;
    else throw error;
  }
}
await refused("invalid", () => client.createJob({ ...common, label: `${GROUP} bad`, timeout: "soon" }));
await refused("missing", () => client.job("00000000-0000-7000-8000-000000000000"));
await refused("unreachable", () => new Client({ server: "http://127.0.0.1:9", timeoutMs: 5_000 }).job(job.id));
const never = await client.createJob({ ...common, label: `${GROUP} never`, tool_name: "nobody_has_it" });
const waiting = await client.triggerJob(never.id);
await refused("timeout", () => client.wait(waiting, AbortSignal.timeout(300)));

if (run.status.type !== "completed") throw new Error(JSON.stringify(run));
console.log(
  JSON.stringify({
    ensured: ensured.map((one) => [one.id, one.revision]),
    tagged,
    changed: [changed.id, changed.tool_input, changed.timeout],
    anew: anew.id,
    race,
    keyed: [again.id, twice.id],
    next_tick_at: job.next_tick_at,
    run: { status: run.status.type, result: run.status.result, label: run.label },
    lines,
    paused,
    resumed,
    created: created.sort(),
    listed: listed.sort(),
    runs: [runs, [run.id]],
    refusals,
  }),
);

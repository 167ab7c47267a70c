// What a user of openapi-generator (typescript-fetch) does first: create a job, trigger it, read its run.
import { Configuration, JobsApi, RunsApi } from "./generated";

declare const process: { env: Record<string, string>; exit(code: number): never };

async function main(): Promise<void> {
  const configuration = new Configuration({ basePath: process.env.ORDO_URL, accessToken: process.env.ORDO_TOKEN });
  const jobs = new JobsApi(configuration);
  const runs = new RunsApi(configuration);
  const newJob = {
    label: "typescript-fetch",
    toolName: "noop",
    trigger: { type: "scheduled" as const, every: "1h" },
  };
  const job = await jobs.createJob({ newJob });
  const begun = await jobs.triggerJob({ id: job.id });
  const deadline = Date.now() + 30_000;
  for (;;) {
    const run = await runs.readRun({ id: begun.runId });
    if (run.status.type === "completed") break;
    const waits = run.status.type === "pending" || run.status.type === "running";
    if (!waits || Date.now() > deadline) throw new Error(JSON.stringify(run));
  }
  const read = await jobs.readJob({ id: job.id });
  if (read.trigger.type !== "scheduled" || read.label !== "typescript-fetch") throw new Error(JSON.stringify(read));
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});

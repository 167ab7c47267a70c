// What a user of openapi-typescript does first: types over plain fetch. Create a job, trigger it, read its run.
import type { components, operations } from "./ordo";

declare const process: { env: Record<string, string>; exit(code: number): never };

type Schemas = components["schemas"];

async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
  const headers = { authorization: `Bearer ${process.env.ORDO_TOKEN}`, "content-type": "application/json" };
  const answer = await fetch(process.env.ORDO_URL + path, { method, headers, body: body && JSON.stringify(body) as any });
  if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`);
  return (await answer.json()) as T;
}

async function main(): Promise<void> {
  const asked: Schemas["NewJob"] = {
    label: "openapi-typescript",
    tool_name: "noop",
    trigger: { type: "manual" },
    block: { concurrent: { max: 4 } },
    misfire: { fire_all: { cap: 3, window: "1h" } },
    retry: { max_attempts: 3 },
  };
  const job = await call<Schemas["Job"]>("POST", "/v1/jobs", asked);
  const begun = await call<Schemas["RunBegun"]>("POST", `/v1/jobs/${job.id}/trigger`);
  type Read = operations["readRun"]["responses"][200]["content"]["application/json"];
  const deadline = Date.now() + 30_000;
  for (;;) {
    const run = await call<Read>("GET", `/v1/runs/${begun.run_id}`);
    if (run.status.type === "completed") break;
    if (run.status.type === "failed") throw new Error(run.status.reason);
    if (Date.now() > deadline) throw new Error(JSON.stringify(run));
  }
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});

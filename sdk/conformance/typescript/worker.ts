// The worker of the conformance suite in TypeScript; README.md says what each of its tools does.
import { type Context, GiveBack, Worker } from "ordo-sdk";

function given(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set`);
  return value;
}

const NAME = given("WORKER_NAME");
const worker = new Worker({
  group: given("WORKER_GROUP"),
  name: NAME,
  capacity: Number(given("WORKER_CAPACITY")),
  graceMs: Number(given("WORKER_GRACE_MS")),
  logger: { info: console.error, warn: console.error, error: console.error },
});

/** Tells the witness; returns when it has answered. */
async function say(ctx: Context, event: string, more: object = {}, signal?: AbortSignal): Promise<void> {
  const fact = { worker: NAME, event, run_id: ctx.runId, fence: ctx.fence, attempt: ctx.attempt, ...more };
  await fetch(given("WITNESS"), { method: "POST", body: JSON.stringify(fact), signal: signal ?? null });
}

worker.tool("echo", async (ctx, input: unknown) => {
  await say(ctx, "begun");
  return { by: NAME, input, attempt: ctx.attempt, fence: ctx.fence, shard: ctx.shard };
});

async function hold(ctx: Context): Promise<object> {
  await say(ctx, "begun");
  try {
    await say(ctx, "await", {}, ctx.signal);
  } catch (error) {
    await say(ctx, "stopped", { reason: ctx.cancelReason });
    ctx.throwIfCancelled();
    throw error;
  }
  await say(ctx, "effect");
  return { by: NAME, fence: ctx.fence };
}
worker.tool("hold", hold);
worker.tool("hold_async", hold);

worker.tool("stubborn", async (ctx) => {
  await say(ctx, "begun");
  await say(ctx, "await");
  await say(ctx, "effect", { cancelled: ctx.cancelled });
  return { by: NAME, fence: ctx.fence };
});

worker.tool("fail", async (ctx, input: { times: number; message: string }) => {
  await say(ctx, "begun");
  if (ctx.attempt <= input.times) throw new Error(input.message);
  return { attempt: ctx.attempt };
});

worker.tool("no_json", () => ({ ends: 1n }));

const givenBack = new Set<string>();
worker.tool("give_back", async (ctx) => {
  if (!givenBack.has(ctx.runId)) {
    givenBack.add(ctx.runId);
    await say(ctx, "gave_back");
    throw new GiveBack(50, "not yet");
  }
  await say(ctx, "begun");
  return { by: NAME };
});

worker.tool("chatty", (ctx, input: { lines: number }) => {
  for (let number = 0; number < input.lines; number += 1) ctx.log(`line ${number}`);
  ctx.log("two\nlines", "stderr");
});

/** Wakes each run that waits for the others. */
const waiting: (() => void)[] = [];
async function gather(ctx: Context, input: { size: number }): Promise<void> {
  await new Promise<void>((resolve) => {
    waiting.push(resolve);
    if (waiting.length === input.size) waiting.forEach((wake) => wake());
  });
  await say(ctx, "effect");
}
worker.tool("gather", gather);
worker.tool("gather_async", gather);

await worker.run();
// A handler that did not stop would keep the process.
process.exit();

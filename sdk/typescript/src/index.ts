/**
 * Workers and a client for Ordo, a durable scheduler.
 *
 *     import { Worker } from "ordo-sdk";
 *     const worker = new Worker({ group: "films" });
 *     worker.tool("resize", (ctx, input: { width: number }) => ({ width: input.width / 2 }));
 *     await worker.run();
 */
export { at, Client, cron, every, manual, onHook } from "./client.js";
export type { ClientOptions, JobChanges, JobFilter, RunFilter } from "./client.js";
export type { CancelReason, Context, HookCall } from "./context.js";
export { Cancelled, GiveBack, OrdoError, Problem, ProtocolError, Unreachable } from "./errors.js";
export type { Logger } from "./logger.js";
export type {
  After,
  AttemptError,
  Block,
  ConcurrencyKey,
  FieldError,
  Job,
  JobState,
  LogLine,
  Misfire,
  NewJob,
  RateLimit,
  Reaction,
  Retention,
  Retry,
  Routing,
  Run,
  RunStatus,
  Shard,
  Trigger,
  UniqueKey,
} from "./model.js";
export { VERSION } from "./version.js";
export { Worker } from "./worker.js";
export type { Handler, WorkerOptions } from "./worker.js";

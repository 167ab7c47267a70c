/** What a handler knows about its run, and how it hears that it should stop. */
import { pause } from "./backoff.js";
import { Cancelled } from "./errors.js";
import type { Assignment, HookPayload, Shard } from "./model.js";
import { durationMs } from "./wire.js";

/**
 * `cancelled`: somebody cancelled the run. `lost`: the run is no longer this worker's, somebody else may have it.
 * `timeout`: it took too long. `shutdown`: the worker stops and its grace is over.
 */
export type CancelReason = "cancelled" | "lost" | "timeout" | "shutdown";

/** One call of a webhook, as it came. */
export class HookCall {
  readonly hook: string;
  readonly delivery: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body: Uint8Array;

  /** @internal */
  constructor(payload: HookPayload) {
    this.hook = payload.hook;
    this.delivery = payload.delivery;
    this.headers = payload.headers;
    this.body = new Uint8Array(Buffer.from(payload.body, payload.encoding === "base64" ? "base64" : "utf8"));
  }

  /** The first header of that name; case does not matter. */
  header(name: string): string | undefined {
    return this.headers.find(([one]) => one.toLowerCase() === name.toLowerCase())?.[1];
  }
}

/**
 * One attempt of a run, in the hands of its handler.
 *
 * `fence` grows with every attempt of a job: whatever the work writes to can refuse an older one.
 */
export class Context {
  readonly runId: string;
  readonly jobId: string;
  readonly label: string;
  readonly attempt: number;
  readonly fence: number;
  readonly toolName: string;
  readonly timeoutMs: number;
  readonly scheduledFor: Date | null;
  readonly shard: Shard | null;
  readonly payload: HookCall | null;
  readonly traceparent: string | undefined;
  readonly #abort = new AbortController();
  readonly #log: (text: string, stream: "stdout" | "stderr") => void;
  #reason: CancelReason | undefined;

  /** @internal */
  constructor(assignment: Assignment, log: (text: string, stream: "stdout" | "stderr") => void) {
    this.runId = assignment.run_id;
    this.jobId = assignment.job_id;
    this.label = assignment.label;
    this.attempt = assignment.attempt;
    this.fence = assignment.token;
    this.toolName = assignment.tool_name;
    this.timeoutMs = durationMs(assignment.timeout) ?? Number.POSITIVE_INFINITY;
    this.scheduledFor = assignment.scheduled_for === null ? null : new Date(assignment.scheduled_for);
    this.shard = assignment.shard;
    this.payload = assignment.payload === null ? null : new HookCall(assignment.payload);
    this.traceparent = assignment.traceparent;
    this.#log = log;
  }

  /** Aborted when the handler should stop: hand it on to fetch and to timers. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Whether to stop. */
  get cancelled(): boolean {
    return this.#abort.signal.aborted;
  }

  /** Why to stop. */
  get cancelReason(): CancelReason | undefined {
    return this.#reason;
  }

  /** Throws Cancelled if the handler should stop; call it between two steps of the work. */
  throwIfCancelled(): void {
    if (this.cancelled) throw new Cancelled(this.#reason);
  }

  /** Sleeps; throws Cancelled as soon as the handler should stop. */
  async sleep(ms: number): Promise<void> {
    await pause(ms, this.signal);
    this.throwIfCancelled();
  }

  /** Lines for the run's log; they are sent while it runs. */
  log(text: unknown, stream: "stdout" | "stderr" = "stdout"): void {
    this.#log(String(text), stream);
  }

  /** Tells the handler to stop; the first reason stands. @internal */
  cancel(reason: CancelReason): void {
    if (this.cancelled) return;
    this.#reason = reason;
    this.#abort.abort(new Cancelled(reason));
  }
}

/**
 * A worker: registers with a server, fetches runs, hands them to its tools, reports.
 *
 * Invariant: an attempt that was handed out is reported, given back, or lost; never forgotten.
 */
import { hostname } from "node:os";

import { Backoff, pause } from "./backoff.js";
import { Client } from "./client.js";
import { Context } from "./context.js";
import { GiveBack, isPassing } from "./errors.js";
import { Generation, type Registered } from "./generation.js";
import { Execution, Held } from "./held.js";
import type { Logger } from "./logger.js";
import type { Assignment } from "./model.js";
import { Outgoing, type ReportStatus } from "./outgoing.js";
import type { Transport } from "./transport.js";
import { VERSION } from "./version.js";
import { durationText } from "./wire.js";

/** How long the answer to the last poll is waited for. */
const LAST_POLL_MS = 10_000;
/** How long handlers that were told to stop may take for it when the worker stops. */
const STOPPING_MS = 5_000;
/** How long the server may take to hear the last reports. */
const LAST_REPORTS_MS = 30_000;
/** The longest that a timer can wait. */
const TIMER_MAX_MS = 2 ** 31 - 1;

/** Does the work of one run: what it returns is the result, any JSON; what it throws is a failure. */
export type Handler<Input = any, Result = unknown> = (ctx: Context, input: Input) => Result | Promise<Result>;

export interface WorkerOptions {
  group?: string;
  /** How people know it; the machine and the process when left out. */
  name?: string;
  /** How many runs it takes at once: 16 when left out. */
  capacity?: number;
  client?: Client;
  server?: string;
  token?: string;
  /** How long what runs may take when the worker stops: 30 seconds when left out. */
  graceMs?: number;
  /** Warnings and errors go to the console when left out. */
  logger?: Logger;
}

const QUIET_CONSOLE: Logger = {
  info: () => undefined,
  warn: (message) => console.warn(message),
  error: (message) => console.error(message),
};

/**
 * Offers tools to a server.
 *
 * SIGTERM and SIGINT let it finish what it has, within its grace; a second one ends it at once.
 */
export class Worker {
  readonly group: string;
  readonly name: string;
  readonly capacity: number;
  readonly #graceMs: number;
  readonly #logger: Logger;
  readonly #transport: Transport;
  readonly #tools = new Map<string, Handler>();
  readonly #held: Held;
  readonly #outgoing: Outgoing;
  /** The first wish to stop, and the second. */
  readonly #stop = new AbortController();
  readonly #hurry = new AbortController();
  #fail: (error: unknown) => void = () => undefined;
  readonly #failed: Promise<never>;

  constructor(options: WorkerOptions = {}) {
    this.group = options.group ?? "default";
    this.name = options.name ?? `${hostname()}-${process.pid}`;
    this.capacity = options.capacity ?? 16;
    if (!(this.capacity >= 1)) throw new RangeError("a worker takes at least one run at once");
    this.#graceMs = options.graceMs ?? 30_000;
    this.#logger = options.logger ?? QUIET_CONSOLE;
    const client = options.client ?? new Client({ server: options.server, token: options.token });
    this.#transport = client.transport;
    this.#held = new Held(this.capacity);
    this.#failed = new Promise((_, reject) => (this.#fail = reject));
    // Whoever waits for it hears of it; before and after nobody needs to.
    this.#failed.catch(() => undefined);
    const callbacks = {
      answered: (attempt: { runId: string; fence: number }) => this.#held.forget(attempt),
      refused: (problem: Error) => this.#fail(problem),
    };
    this.#outgoing = new Outgoing(this.#transport, callbacks, this.#logger);
  }

  /** Offers the function as a tool of this name. */
  tool<Input = any, Result = unknown>(name: string, handler: Handler<Input, Result>): this {
    if (this.#tools.has(name)) throw new Error(`the tool ${name} is offered already`);
    this.#tools.set(name, handler);
    return this;
  }

  /**
   * Works until it is told to stop, by a signal, by `stop` or by the server; then leaves in order.
   *
   * A server that cannot be reached is tried again; one that refuses the offer or the token rejects with Problem.
   */
  async run(): Promise<void> {
    if (this.#tools.size === 0) throw new Error("the worker has no tools: offer one with worker.tool");
    const stop = () => this.stop();
    process.on("SIGTERM", stop).on("SIGINT", stop);
    try {
      await this.#serve();
    } finally {
      process.off("SIGTERM", stop).off("SIGINT", stop);
      await this.#outgoing.close(0);
    }
  }

  /** Takes nothing new, finishes what it has, and leaves. Called again, it waits no longer for handlers. */
  stop(): void {
    if (this.#stop.signal.aborted) this.#hurry.abort();
    this.#stop.abort();
    this.#held.wake();
  }

  async #serve(): Promise<void> {
    for (;;) {
      const registered = await this.#register();
      if (!registered) return;
      const generation = new Generation(registered, this.#transport, this.#held, this.#logger, (run, id) =>
        this.#begin(run, id),
      );
      try {
        const stopped = untilAborted(this.#stop.signal).then(() => "leaving" as const);
        const end = await Promise.race([generation.poll(), generation.beat(), stopped, this.#failed]);
        if (end === "leaving") return await this.#leave(generation);
      } catch (error) {
        await this.#endHandlers();
        throw error;
      } finally {
        generation.over();
      }
      this.#logger.warn("the server has forgotten this worker: what it runs is lost");
      this.#held.loseAll(generation.id);
    }
  }

  /** Registers, however long the server takes to be there. Nothing: it was told to stop meanwhile. */
  async #register(): Promise<Registered | undefined> {
    const offer = {
      name: this.name,
      group: this.group,
      tools: [...this.#tools.keys()].sort(),
      capacity: this.capacity,
      version: `typescript/${VERSION}`,
    };
    const backoff = new Backoff();
    for (;;) {
      try {
        const registered = await this.#transport.request<Registered>("POST", "/v1/executors", offer);
        this.#logger.info(`${this.name} is registered for ${this.group}`);
        return registered;
      } catch (error) {
        if (!isPassing(error)) throw error;
        this.#logger.warn(`cannot register yet: ${String(error)}`);
      }
      if (await pause(backoff.pause(), this.#stop.signal)) return undefined;
    }
  }

  async #leave(generation: Generation): Promise<void> {
    this.#logger.info(`leaving: ${this.#held.all().length} runs to finish`);
    generation.leave();
    await generation.goodbye();
    // The server answers the poll under way now; what it still brings is ours.
    await within(LAST_POLL_MS, generation.lastPoll(), this.#hurry.signal);
    const idle = this.#held.until(() => this.#held.all().length === 0);
    const forgotten = generation.beating().then(() => this.#held.loseAll(generation.id));
    if (!(await within(this.#graceMs, Promise.race([idle, forgotten.then(() => idle), this.#failed]), this.#hurry.signal))) {
      this.#logger.warn(`the grace is over: ${this.#held.all().length} runs are told to stop`);
      await this.#endHandlers();
    }
    if (!(await this.#outgoing.close(LAST_REPORTS_MS))) this.#logger.error("the server did not hear the last reports");
    await generation.goodbye();
  }

  /** Tells all handlers to stop; what does not is reported as cut short: it ends with the process. */
  async #endHandlers(): Promise<void> {
    for (const one of this.#held.all()) one.ctx.cancel("shutdown");
    await within(STOPPING_MS, this.#held.until(() => this.#held.all().every((one) => one.ended)));
    for (const one of this.#held.all()) {
      if (!one.ended && this.#held.ended(one)) this.#outgoing.report(one, { type: "cancelled" });
    }
  }

  /** An attempt was handed out: it runs from here on. */
  #begin(assignment: Assignment, generation: string): void {
    const attempt = { runId: assignment.run_id, fence: assignment.token };
    const ctx = new Context(assignment, (text, stream) => this.#outgoing.line(attempt, stream, text));
    const execution = new Execution(ctx, generation);
    this.#held.begin(execution);
    void this.#work(execution, assignment.tool_input);
  }

  async #work(execution: Execution, input: unknown): Promise<void> {
    const { ctx } = execution;
    const timer = deadline(ctx);
    let status: ReportStatus;
    try {
      const handler = this.#tools.get(ctx.toolName);
      if (!handler) throw new Error(`this worker has no tool ${ctx.toolName}`);
      status = returned(ctx, await handler(ctx, input));
    } catch (error) {
      status = thrown(ctx, error);
    } finally {
      timer.clear();
    }
    // What was cut short was reported already.
    if (execution.ended) return;
    if (this.#held.ended(execution)) this.#outgoing.report(execution, status);
    else this.#logger.warn(`run ${ctx.runId}, attempt ${ctx.attempt}: lost, not reported`);
  }
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** Whether it was done in that time, and before the signal said that nobody waits. */
async function within(ms: number, done: Promise<unknown>, hurry?: AbortSignal): Promise<boolean> {
  const over = new AbortController();
  const cut = () => over.abort();
  if (hurry?.aborted) cut();
  hurry?.addEventListener("abort", cut);
  try {
    return await Promise.race([done.then(() => true), pause(ms, over.signal).then(() => false)]);
  } catch {
    return false;
  } finally {
    hurry?.removeEventListener("abort", cut);
    over.abort();
  }
}

/** Tells the handler to stop when its time is over. */
function deadline(ctx: Context): { clear(): void } {
  const end = performance.now() + ctx.timeoutMs;
  let timer: ReturnType<typeof setTimeout>;
  const arm = () => {
    const left = end - performance.now();
    timer = setTimeout(() => (left > TIMER_MAX_MS ? arm() : ctx.cancel("timeout")), Math.min(left, TIMER_MAX_MS));
  };
  arm();
  return { clear: () => clearTimeout(timer) };
}

function returned(ctx: Context, result: unknown): ReportStatus {
  if (ctx.cancelReason === "timeout") return timedOut(ctx);
  try {
    JSON.stringify(result);
  } catch (error) {
    return { type: "failed", reason: `the result is no JSON: ${messageOf(error)}` };
  }
  return { type: "completed", result: result ?? null };
}

function thrown(ctx: Context, error: unknown): ReportStatus {
  if (error instanceof GiveBack) {
    const delay = durationText(error.delayMs);
    return error.reason === undefined ? { type: "nack", delay } : { type: "nack", delay, reason: error.reason };
  }
  if (ctx.cancelReason === "timeout") return timedOut(ctx);
  if (ctx.cancelled) return { type: "cancelled" };
  if (error instanceof Error && error.stack) ctx.log(error.stack, "stderr");
  return { type: "failed", reason: messageOf(error) };
}

function timedOut(ctx: Context): ReportStatus {
  return { type: "failed", reason: `timed out after ${ctx.timeoutMs / 1000} s` };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : String(error);
}

/** From one registration until the worker leaves or the server forgets it: polls and lets itself be heard. */
import { Backoff, pause } from "./backoff.js";
import { isForgotten, isPassing } from "./errors.js";
import type { Held } from "./held.js";
import type { Logger } from "./logger.js";
import type { Assignment } from "./model.js";
import type { Transport } from "./transport.js";

/** How long a poll waits for work, and how much longer its answer. */
const POLL_WAIT_MS = 20_000;
const POLL_SLACK_MS = 15_000;
const POLL_MAX = 1_000;

export interface Registered {
  id: string;
  heartbeat_ms: number;
}

/** What a poll is answered. */
interface Polled {
  runs: Assignment[];
  cancel?: string[];
  confirm?: boolean;
  drain?: boolean;
}

/** Why polls or heartbeats ended. */
export type End = "leaving" | "forgotten";

export class Generation {
  readonly id: string;
  readonly #beatMs: number;
  readonly #over = new AbortController();
  readonly #leaving = new AbortController();
  #polling: Promise<End> | undefined;
  #beats: Promise<End> | undefined;

  constructor(
    registered: Registered,
    private readonly transport: Transport,
    private readonly held: Held,
    private readonly logger: Logger,
    private readonly begin: (run: Assignment, generation: string) => void,
  ) {
    this.id = registered.id;
    this.#beatMs = Math.max(registered.heartbeat_ms, 50);
  }

  poll(): Promise<End> {
    return (this.#polling ??= quiet(this.#poll()));
  }

  /** Ends when the server has forgotten the worker, or wants it to leave. */
  beat(): Promise<End> {
    return (this.#beats ??= quiet(this.#beat()));
  }

  /** The poll that is under way. */
  async lastPoll(): Promise<void> {
    await this.#polling?.catch(() => undefined);
  }

  /** Heartbeats while it leaves: until the server has forgotten it. */
  async beating(): Promise<void> {
    if ((await this.#beats?.catch(() => "forgotten" as const)) === "leaving") await quiet(this.#beat());
  }

  leave(): void {
    this.#leaving.abort();
    this.held.wake();
  }

  over(): void {
    this.leave();
    this.#over.abort();
  }

  /** Whoever cannot say goodbye is missed after its lease. */
  async goodbye(): Promise<void> {
    try {
      await this.transport.request("DELETE", `/v1/executors/${this.id}`, undefined, { timeoutMs: this.#beatMs });
    } catch (error) {
      if (!isForgotten(error)) this.logger.warn(`could not say goodbye: ${String(error)}`);
    }
  }

  async #poll(): Promise<End> {
    const backoff = new Backoff();
    // Also while it is full: what is to end comes the same way. The server gives no more than the capacity.
    while (!this.#leaving.signal.aborted) {
      try {
        const answer = await this.transport.request<Polled>(
          "POST",
          `/v1/executors/${this.id}/poll`,
          { max: Math.min(Math.max(this.held.free(), 1), POLL_MAX), wait_ms: POLL_WAIT_MS, confirm: true },
          { timeoutMs: POLL_WAIT_MS + POLL_SLACK_MS },
        );
        backoff.reset();
        for (const run of answer.cancel ?? []) this.held.cancel(run);
        const runs = answer.confirm ? await this.#confirmed(answer.runs) : answer.runs;
        for (const run of runs) this.begin(run, this.id);
        if (answer.drain) return "leaving";
      } catch (error) {
        if (this.#ends(error)) return "forgotten";
        await pause(backoff.pause(), this.#leaving.signal);
      }
    }
    return "leaving";
  }

  /** Names the runs before they begin: what the server has given to others meanwhile is left alone. */
  async #confirmed(runs: Assignment[]): Promise<Assignment[]> {
    const backoff = new Backoff();
    const sent = runs.map(({ run_id, token }) => ({ run_id, token }));
    while (!this.#over.signal.aborted) {
      const held = this.held.named(this.id).map(({ runId, fence }) => ({ run_id: runId, token: fence }));
      try {
        const answer = await this.transport.request<{ lost: string[] }>(
          "POST",
          `/v1/executors/${this.id}/heartbeat`,
          { runs: [...held, ...sent] },
          { timeoutMs: this.#beatMs },
        );
        return runs.filter((run) => !answer.lost.includes(run.run_id));
      } catch (error) {
        if (this.#ends(error)) return [];
        await pause(Math.min(backoff.pause(), this.#beatMs), this.#over.signal);
      }
    }
    return [];
  }

  async #beat(): Promise<End> {
    const backoff = new Backoff();
    let wait = 0;
    while (!(await pause(wait, this.#over.signal))) {
      const named = this.held.named(this.id);
      try {
        const answer = await this.transport.request<{ cancel: string[]; lost: string[]; drain?: boolean }>(
          "POST",
          `/v1/executors/${this.id}/heartbeat`,
          { runs: named.map(({ runId, fence }) => ({ run_id: runId, token: fence })) },
          { timeoutMs: this.#beatMs },
        );
        backoff.reset();
        wait = this.#beatMs;
        for (const run of answer.cancel) this.held.cancel(run);
        for (const run of answer.lost) this.held.lose(run, named);
        if (answer.drain && !this.#leaving.signal.aborted) return "leaving";
      } catch (error) {
        if (this.#ends(error)) return "forgotten";
        wait = Math.min(backoff.pause(), this.#beatMs);
      }
    }
    return "leaving";
  }

  /** Whether the server has forgotten this generation; throws what does not pass. */
  #ends(error: unknown): boolean {
    if (this.#over.signal.aborted || isForgotten(error)) return true;
    if (!isPassing(error)) throw error;
    this.logger.warn(`the server does not answer: ${String(error)}`);
    return false;
  }
}

/** A rejection is heard by whoever waits; when nobody does any more, it is no fault of the process. */
function quiet<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => undefined);
  return promise;
}

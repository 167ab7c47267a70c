/**
 * What a worker has in hand.
 *
 * Invariant: an attempt is held until its report was answered, or until its handler has ended if it is no longer ours.
 * Of one run only the newest attempt is ours.
 */
import type { Context } from "./context.js";
import { type Attempt, keyOf } from "./outgoing.js";

/** One attempt that was begun. */
export class Execution implements Attempt {
  /** No longer ours: its report would be refused. */
  lost = false;
  /** Its handler has ended. */
  ended = false;

  constructor(
    readonly ctx: Context,
    readonly generation: string,
  ) {}

  get runId(): string {
    return this.ctx.runId;
  }

  get fence(): number {
    return this.ctx.fence;
  }
}

export class Held {
  readonly #runs = new Map<string, Execution>();
  #waiting: (() => void)[] = [];

  constructor(private readonly capacity: number) {}

  begin(execution: Execution): void {
    const older = this.all().filter((one) => one.runId === execution.runId);
    this.#runs.set(keyOf(execution), execution);
    older.forEach((one) => this.#lose(one));
  }

  /** The handler has ended; returns whether its report is wanted. */
  ended(execution: Execution): boolean {
    execution.ended = true;
    if (execution.lost) this.forget(execution);
    else this.wake();
    return !execution.lost;
  }

  forget(attempt: Attempt): void {
    this.#runs.delete(keyOf(attempt));
    this.wake();
  }

  all(): Execution[] {
    return [...this.#runs.values()];
  }

  /** What is named in a heartbeat. */
  named(generation: string): Execution[] {
    return this.all().filter((one) => !one.lost && one.generation === generation);
  }

  cancel(runId: string): void {
    for (const one of this.all()) if (one.runId === runId && !one.lost) one.ctx.cancel("cancelled");
  }

  /** The server says that what was named is not ours. */
  lose(runId: string, named: Execution[]): void {
    for (const one of named) if (one.runId === runId) this.#lose(one);
  }

  loseAll(generation: string): void {
    for (const one of this.all()) if (one.generation === generation) this.#lose(one);
  }

  /** How many more it can take. */
  free(): number {
    return Math.max(this.capacity - this.#runs.size, 0);
  }

  /** Waits until it is so; looks again at every change. */
  async until(holds: () => boolean): Promise<void> {
    while (!holds()) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    waiting.forEach((resolve) => resolve());
  }

  #lose(execution: Execution): void {
    // One that has ended has its report on its way: the server answers it, and nobody is left to tell.
    if (execution.ended || execution.lost) return;
    execution.lost = true;
    execution.ctx.cancel("lost");
  }
}

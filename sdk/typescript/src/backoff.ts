/** How long to wait before trying again: doubling, with jitter, so that many clients do not return in step. */
const FIRST_MS = 100;
/** Well below a lease, so that a worker is back before it is missed. */
const MOST_MS = 3_000;

export class Backoff {
  #next = FIRST_MS;

  /** Milliseconds to wait now. */
  pause(): number {
    const pause = this.#next * (0.5 + Math.random() / 2);
    this.#next = Math.min(this.#next * 2, MOST_MS);
    return pause;
  }

  reset(): void {
    this.#next = FIRST_MS;
  }
}

/** Waits so long, or until the signal says that there is nothing to wait for; returns whether it did. */
export function pause(ms: number, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve(true);
    const done = (over: boolean) => {
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
      resolve(over);
    };
    const abort = () => done(true);
    const timer = setTimeout(() => done(false), ms);
    signal.addEventListener("abort", abort);
  });
}

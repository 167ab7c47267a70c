/**
 * What goes back to the server: log lines and reports, in batches, one request after the other.
 *
 * Invariant: the lines of a run are sent before its report. A report is sent until the server has answered it.
 */
import { Backoff, pause } from "./backoff.js";
import { isPassing, Problem } from "./errors.js";
import type { Logger } from "./logger.js";
import type { Transport } from "./transport.js";

export type ReportStatus =
  | { type: "completed"; result: unknown }
  | { type: "failed"; reason: string }
  | { type: "cancelled" }
  | { type: "nack"; delay: string; reason?: string };

/** One attempt: its run and its token. */
export interface Attempt {
  runId: string;
  fence: number;
}

interface Line extends Attempt {
  stream: "stdout" | "stderr";
  text: string;
}

interface Report extends Attempt {
  status: ReportStatus;
}

interface WireReport {
  run_id: string;
  token: number;
  status: ReportStatus;
}

interface Results {
  results: { run_id: string; status: number; error?: { detail: string } }[];
}

const BATCH_MAX = 1_000;
/** The server takes 32 MiB at once. */
const BATCH_BYTES = 8 * 1024 * 1024;
const CHUNK_LINES = 500;
/** How long lines are gathered when nothing else is to be sent. */
const GATHER_MS = 50;
/** More lines than these are not kept while the server is away. */
const LINES_WAITING_MAX = 50_000;

export interface OutgoingEvents {
  answered(attempt: Attempt): void;
  refused(problem: Problem): void;
}

export class Outgoing {
  #lines: Line[] = [];
  #reports: Report[] = [];
  readonly #seqs = new Map<string, number>();
  readonly #abandoned = new AbortController();
  #active = false;
  #sending: Promise<void> = Promise.resolve();

  constructor(
    private readonly transport: Transport,
    private readonly tell: OutgoingEvents,
    private readonly logger: Logger,
  ) {}

  line(attempt: Attempt, stream: "stdout" | "stderr", text: string): void {
    const lines = text.split(/\r?\n/);
    const kept = lines.slice(0, Math.max(LINES_WAITING_MAX - this.#lines.length, 0));
    if (kept.length < lines.length) {
      this.logger.warn(`run ${attempt.runId}: ${lines.length - kept.length} log lines were dropped`);
    }
    for (const one of kept) this.#lines.push({ ...attempt, stream, text: one });
    this.#wake();
  }

  report(attempt: Attempt, status: ReportStatus): void {
    this.#reports.push({ runId: attempt.runId, fence: attempt.fence, status });
    this.#wake();
  }

  /** Sends what is left; returns whether all of it was answered in that time. */
  async close(ms: number): Promise<boolean> {
    const late = new AbortController();
    const done = await Promise.race([this.#sent().then(() => true), pause(ms, late.signal).then(() => false)]);
    late.abort();
    this.#abandoned.abort();
    return done;
  }

  #wake(): void {
    if (this.#active) return;
    this.#active = true;
    this.#sending = this.#send();
  }

  async #sent(): Promise<void> {
    while (this.#active) await this.#sending;
  }

  async #send(): Promise<void> {
    while (this.#lines.length + this.#reports.length > 0 && !this.#abandoned.signal.aborted) {
      // What is reported in the same turn goes together.
      if (this.#reports.length === 0) await pause(GATHER_MS, this.#abandoned.signal);
      else await Promise.resolve();
      const reports = this.#reports.splice(0, BATCH_MAX);
      await this.#sendLines(this.#lines.splice(0));
      await this.#sendReports(reports);
    }
    // Nothing is awaited since it was seen that nothing waits: what comes now wakes it again.
    this.#active = false;
  }

  async #sendLines(lines: Line[]): Promise<void> {
    const byRun = new Map<string, Line[]>();
    for (const line of lines) {
      const key = keyOf(line);
      const known = byRun.get(key);
      if (known) known.push(line);
      else byRun.set(key, [line]);
    }
    const chunks: unknown[] = [];
    for (const [key, ofRun] of byRun) {
      for (let start = 0; start < ofRun.length; start += CHUNK_LINES) {
        const part = ofRun.slice(start, start + CHUNK_LINES);
        const seq = this.#seqs.get(key) ?? 0;
        this.#seqs.set(key, seq + 1);
        const { runId, fence } = part[0] as Line;
        const texts = part.map(({ stream, text }) => ({ stream, text }));
        chunks.push({ run_id: runId, token: fence, seq, lines: texts });
      }
    }
    // A chunk that is refused belongs to an attempt that is no longer ours.
    for (const batch of batches(chunks)) await this.#post("/v1/runs/logs", { chunks: batch });
  }

  async #sendReports(reports: Report[]): Promise<void> {
    for (const report of reports) this.#seqs.delete(keyOf(report));
    const wire = reports.map(({ runId, fence, status }): WireReport => ({ run_id: runId, token: fence, status }));
    for (const batch of batches(wire)) await this.#settle(batch);
  }

  /** Sends reports until each was answered. */
  async #settle(batch: WireReport[]): Promise<void> {
    const backoff = new Backoff();
    for (;;) {
      const answer = await this.#post<Results>("/v1/runs/report", { reports: batch });
      if (answer instanceof Problem) {
        if (batch.length > 1) {
          // Something in it cannot be read: the others shall not suffer for it.
          for (const one of batch) await this.#settle([one]);
          return;
        }
        const [only] = batch;
        if (only?.status.type !== "completed") return this.#done(batch);
        batch = [{ ...only, status: { type: "failed", reason: `the result was refused: ${answer.message}` } }];
        continue;
      }
      if (!answer) return this.#done(batch);
      const again: WireReport[] = [];
      batch.forEach((sent, index) => {
        const result = answer.results[index];
        if (!result || result.status >= 500) return again.push(sent);
        if (result.status !== 200) {
          this.logger.warn(`the report of run ${sent.run_id} changed nothing: ${result.error?.detail ?? result.status}`);
        }
        return this.#done([sent]);
      });
      if (again.length === 0 || (await pause(backoff.pause(), this.#abandoned.signal))) return;
      batch = again;
    }
  }

  #done(batch: WireReport[]): void {
    for (const { run_id, token } of batch) this.tell.answered({ runId: run_id, fence: token });
  }

  /** The answer, however long the server takes to be there; a Problem if it will never take it. */
  async #post<T>(path: string, body: unknown): Promise<T | Problem | undefined> {
    const backoff = new Backoff();
    while (!this.#abandoned.signal.aborted) {
      try {
        return await this.transport.request<T>("POST", path, body);
      } catch (error) {
        if (!isPassing(error)) {
          this.logger.error(`${path} was refused: ${String(error)}`);
          if (!(error instanceof Problem)) throw error;
          if (error.status !== 401 && error.status !== 403) return error;
          this.tell.refused(error);
          return undefined;
        }
        await pause(backoff.pause(), this.#abandoned.signal);
      }
    }
    return undefined;
  }
}

export function keyOf({ runId, fence }: Attempt): string {
  return `${runId}/${fence}`;
}

/** In parts that the server takes. */
function batches<T>(items: T[]): T[][] {
  const parts: T[][] = [];
  let size = 0;
  for (const item of items) {
    const length = JSON.stringify(item).length;
    if (parts.length === 0 || size + length > BATCH_BYTES) {
      parts.push([]);
      size = 0;
    }
    parts[parts.length - 1]?.push(item);
    size += length;
  }
  return parts;
}

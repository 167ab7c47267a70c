/** Jobs and runs from a program: create, ensure, trigger, read, wait. */
import { createHash, randomUUID } from "node:crypto";

import { Backoff, pause } from "./backoff.js";
import { isPassing, OrdoError, Problem } from "./errors.js";
import type { Job, JobState, LogLine, NewJob, Run, RunStatus, Trigger } from "./model.js";
import { changes, sorted } from "./same.js";
import { events } from "./sse.js";
import { Transport } from "./transport.js";
import { durationText } from "./wire.js";

const DEFAULT_SERVER = "http://127.0.0.1:7070";
/** How often a change that did not reach its job in the state it was read in is tried. */
const ENSURE_TRIES = 5;
/** A stream that says nothing for so long is dead: the server sends a sign of life more often. */
const STREAM_SILENCE_MS = 60_000;

export interface ClientOptions {
  /** `ORDO_SERVER` of the environment when left out, then http://127.0.0.1:7070. */
  server?: string | undefined;
  /** `ORDO_TOKEN` of the environment when left out. */
  token?: string | undefined;
  /** How long the server may take to answer. */
  timeoutMs?: number | undefined;
}

export interface JobFilter {
  label?: string;
  label_prefix?: string;
  /** Of several a job has all. */
  tag?: string | string[];
  search?: string;
  state?: JobState;
}

export interface RunFilter {
  job_id?: string;
  status?: RunStatus["type"];
  since?: string;
}

/** Any fields of a job; null means the default. */
export type JobChanges = { [Name in keyof NewJob]?: NewJob[Name] | null };

/** Only when it is triggered. */
export function manual(): Trigger {
  return { type: "manual" };
}

/** At a fixed interval: `every("10s")`, or in milliseconds. */
export function every(interval: string | number): Trigger {
  return { type: "scheduled", every: durationText(interval) };
}

/** By a cron expression in a time zone: `cron("0 2 * * *", "Europe/Berlin")`. */
export function cron(expression: string, timezone = "UTC"): Trigger {
  return { type: "scheduled", cron: expression, timezone };
}

/** Once. */
export function at(time: Date | string): Trigger {
  return { type: "scheduled", at: typeof time === "string" ? time : time.toISOString() };
}

/** When somebody calls the hook. */
export function onHook(slug: string): Trigger {
  return { type: "webhook", hook: slug };
}

/** Talks to one server. */
export class Client {
  /** @internal */
  readonly transport: Transport;

  constructor(options: ClientOptions = {}) {
    const server = options.server ?? (process.env["ORDO_SERVER"] || DEFAULT_SERVER);
    const token = options.token ?? (process.env["ORDO_TOKEN"] || undefined);
    this.transport = new Transport(server, token, options.timeoutMs ?? 30_000);
  }

  /** A new job. With the same key it is created once, however often this is called. */
  createJob(job: NewJob, idempotencyKey: string = randomUUID()): Promise<Job> {
    return this.transport.request("POST", "/v1/jobs", complete(job), { headers: { "idempotency-key": idempotencyKey } });
  }

  /**
   * The one job of this label, created or changed to be as described. Safe to call at every start.
   *
   * Fields that are not named stay as they are. A job that is as described is not touched: its schedule keeps its beat.
   * Throws if several jobs that are not over have the label.
   */
  async ensureJob(wanted: NewJob): Promise<Job> {
    const job = complete(wanted);
    for (let tried = 1; ; tried += 1) {
      const found: Job[] = [];
      for await (const one of this.jobs({ label: job.label })) found.push(one);
      const living = found.filter((one) => one.state !== "finished" && one.state !== "cancelled");
      const [current, other] = living;
      if (other) throw new OrdoError(`${living.length} jobs have the label ${job.label}: which one is meant?`);
      if (!current) {
        // Whoever ensures the same at the same time gets the same job, also after the last one has ended.
        const described = JSON.stringify(sorted([job, found[0]?.id ?? ""]));
        return this.createJob(job, `ensure-${createHash("sha256").update(described).digest("hex").slice(0, 40)}`);
      }
      const { held: _, ...definition } = job;
      const differs = changes(definition, current as unknown as Record<string, unknown>);
      if (Object.keys(differs).length === 0) return current;
      try {
        return await this.updateJob(current.id, differs, current.revision);
      } catch (error) {
        // Somebody else changed it meanwhile.
        if (!(error instanceof Problem) || error.status !== 412 || tried === ENSURE_TRIES) throw error;
      }
    }
  }

  job(id: string): Promise<Job> {
    return this.transport.request("GET", `/v1/jobs/${encodeURIComponent(id)}`);
  }

  /** Jobs, page by page: the newest first; by label with `label_prefix`, `search` or `tag`. */
  jobs(filter: JobFilter = {}): AsyncGenerator<Job> {
    const { tag, ...others } = filter;
    const tags = [tag ?? []].flat().join(",");
    return this.#pages<Job>("/v1/jobs", tags ? { ...others, tag: tags } : others);
  }

  /** Changes fields; null means the default. With `revision` only if nobody else changed the job since. */
  updateJob(id: string, changed: JobChanges, revision?: number): Promise<Job> {
    const headers: Record<string, string> = revision === undefined ? {} : { "if-match": `"${revision}"` };
    return this.transport.request("PATCH", `/v1/jobs/${encodeURIComponent(id)}`, changed, { headers });
  }

  /** Ends the job: it does not run any more. */
  async cancelJob(id: string, reason?: string): Promise<void> {
    const query = reason === undefined ? "" : `?${new URLSearchParams({ reason })}`;
    await this.transport.request("DELETE", `/v1/jobs/${encodeURIComponent(id)}${query}`);
  }

  pauseJob(id: string, reason?: string): Promise<Job> {
    return this.transport.request("POST", `/v1/jobs/${encodeURIComponent(id)}/pause`, { reason });
  }

  resumeJob(id: string): Promise<Job> {
    return this.transport.request("POST", `/v1/jobs/${encodeURIComponent(id)}/resume`);
  }

  /** Asks for a run now, with another input if one is given; returns its id. */
  async triggerJob(id: string, toolInput?: unknown, idempotencyKey: string = randomUUID()): Promise<string> {
    const body = { tool_input: toolInput };
    const headers = { "idempotency-key": idempotencyKey };
    const path = `/v1/jobs/${encodeURIComponent(id)}/trigger`;
    return (await this.transport.request<{ run_id: string }>("POST", path, body, { headers })).run_id;
  }

  run(id: string): Promise<Run> {
    return this.transport.request("GET", `/v1/runs/${encodeURIComponent(id)}`);
  }

  /** Runs, the newest first, page by page. Large results are left out: read the run. */
  runs(filter: RunFilter = {}): AsyncGenerator<Run> {
    return this.#pages<Run>("/v1/runs", { ...filter });
  }

  cancelRun(id: string, reason?: string): Promise<Run> {
    return this.transport.request("POST", `/v1/runs/${encodeURIComponent(id)}/cancel`, { reason });
  }

  /** Runs a finished run once more; returns the id of the new one. */
  async retryRun(id: string): Promise<string> {
    const headers = { "idempotency-key": randomUUID() };
    const path = `/v1/runs/${encodeURIComponent(id)}/retry`;
    return (await this.transport.request<{ run_id: string }>("POST", path, undefined, { headers })).run_id;
  }

  /** The run when it is over. The signal ends the waiting: `AbortSignal.timeout(60_000)`. */
  async wait(id: string, signal?: AbortSignal): Promise<Run> {
    for await (const _ of this.followLog(id, signal));
    return this.run(id);
  }

  /** The lines that are there. */
  log(id: string): AsyncGenerator<LogLine> {
    return this.#pages<LogLine>(`/v1/runs/${encodeURIComponent(id)}/logs`, {});
  }

  /** The lines as they are written, until the run is over. Goes on where it was if the server is restarted. */
  async *followLog(id: string, signal: AbortSignal = new AbortController().signal): AsyncGenerator<LogLine> {
    const backoff = new Backoff();
    let last: string | undefined;
    for (;;) {
      signal.throwIfAborted();
      const over = new AbortController();
      const end = () => over.abort();
      let silence = setTimeout(end, STREAM_SILENCE_MS);
      signal.addEventListener("abort", end);
      try {
        const headers: Record<string, string> = { accept: "text/event-stream" };
        if (last !== undefined) headers["last-event-id"] = last;
        const path = `/v1/runs/${encodeURIComponent(id)}/logs`;
        const body = await this.transport.stream(path, headers, over.signal);
        for await (const event of events(body)) {
          backoff.reset();
          clearTimeout(silence);
          silence = setTimeout(end, STREAM_SILENCE_MS);
          last = event.id ?? last;
          if (event.event === "end") return;
          if (event.event === "line") yield JSON.parse(event.data) as LogLine;
        }
      } catch (error) {
        if (error instanceof OrdoError && !isPassing(error)) throw error;
      } finally {
        clearTimeout(silence);
        signal.removeEventListener("abort", end);
        over.abort();
      }
      await pause(backoff.pause(), signal);
    }
  }

  async *#pages<T>(path: string, filter: Record<string, string | undefined>): AsyncGenerator<T> {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(filter)) if (value !== undefined) query.set(name, value);
    for (;;) {
      const page = await this.transport.request<{ items: T[]; next_cursor?: string | null }>("GET", `${path}?${query}`);
      yield* page.items;
      if (!page.next_cursor) return;
      query.set("cursor", page.next_cursor);
    }
  }
}

function complete(job: NewJob): NewJob & { trigger: Trigger } {
  return { ...job, trigger: job.trigger ?? manual() };
}

/**
 * What is said on the wire, by the server's own names.
 *
 * A newer server may say more: fields that are not here are passed on as they came.
 */
export interface FieldError {
  field: string;
  message: string;
}

/** Which share of a broadcast, from 0, of how many. */
export interface Shard {
  index: number;
  total: number;
}

export type RunStatus =
  | { type: "pending"; waiting_for?: string | null; retry_at?: string | null }
  | { type: "running"; cancelling?: string | null }
  | { type: "completed"; result: unknown }
  | { type: "failed"; reason: string }
  | { type: "cancelled"; reason: string }
  | { type: "skipped"; reason: unknown };

/** Why one attempt did not succeed. */
export interface AttemptError {
  attempt: number;
  at: string;
  reason: string;
}

/** One firing of a job. */
export interface Run {
  id: string;
  job_id: string;
  label: string;
  status: RunStatus;
  attempt: number;
  executor?: string | null;
  scheduled_for?: string | null;
  fired_at: string;
  started_at?: string | null;
  finished_at?: string | null;
  lateness_ms?: number | null;
  parent_id?: string | null;
  shard?: Shard | null;
  errors?: AttemptError[];
}

export type Trigger =
  | { type: "manual" }
  | { type: "webhook"; hook: string }
  | {
      type: "scheduled";
      at?: string;
      every?: string;
      cron?: string;
      timezone?: string;
      start?: string;
      end?: string;
      jitter?: string;
      exclude?: unknown[];
      dst?: { skipped?: "shift" | "skip"; repeated?: "first" | "last" | "both" };
    };

export type Block = "serial" | "discard" | "cover" | "concurrent" | { concurrent: { max: number } };

export type Routing =
  | "round"
  | "random"
  | "lfu"
  | "lru"
  | "busyover"
  | "first"
  | "last"
  | "consistent_hash"
  | "failover"
  | "sharding_broadcast";

export interface Retry {
  max_attempts?: number;
  backoff?: string;
  max_backoff?: string;
}

/** What becomes of occurrences that are late: with `fire_all` the newest `cap` of those inside `window` run. */
export type Misfire = "fire_once_now" | "do_nothing" | { fire_all: { cap?: number; window?: string } };

export interface UniqueKey {
  /** `label`, or a JSON pointer into the input. */
  key: string;
  window: string;
  on_conflict?: "refuse" | "merge";
}

export interface ConcurrencyKey {
  key: string;
  max: number;
}

export interface RateLimit {
  key: string;
  limit: number;
  per: string;
}

export interface After {
  jobs: string[];
  mode?: "all" | "any";
  on?: "success" | "failure" | "either";
}

export interface Reaction {
  incident: {
    severity?: "sev1" | "sev2" | "sev3" | "sev4" | "sev5";
    /** How many times in a row it must have happened. */
    after?: number;
    resolve_on_recovery?: boolean;
    escalation?: string;
  };
}

/** How much history is kept: at most `runs`, none older than `age`. */
export interface Retention {
  runs?: number;
  age?: string;
}

/** A job as it is asked for; the server's documentation has the meaning of each field. */
export interface NewJob {
  label: string;
  tool_name: string;
  tool_input?: unknown;
  /** Only when it is triggered, when left out. */
  trigger?: Trigger;
  group?: string;
  timeout?: string;
  retry?: Retry;
  idempotent?: boolean;
  block?: Block;
  routing?: Routing;
  priority?: number;
  misfire?: Misfire;
  unique_key?: UniqueKey;
  concurrency_key?: ConcurrencyKey;
  rate_limit?: RateLimit;
  /** The ids of jobs whose ends it follows. */
  after?: string | string[] | After;
  on_failure?: Reaction;
  on_missed?: Reaction;
  retention?: Retention;
  expire_after?: string;
  description?: string;
  description_url?: string;
  /** Words to find it by: `nightly`, `team:billing`. */
  tags?: string[];
  held?: boolean;
}

export type JobState = "active" | "paused" | "held" | "finished" | "cancelled";

/** A job as it stands. */
export interface Job extends Required<Pick<NewJob, "label" | "tool_name" | "trigger" | "group" | "timeout">> {
  id: string;
  tool_input: unknown;
  state: JobState;
  schedule: string;
  next_tick_at: string | null;
  revision: number;
  version: number;
  created_at: string;
  updated_at: string;
  retry: Retry;
  idempotent: boolean;
  block: Block;
  routing: Routing;
  priority: number;
  /** Left out when it has none. */
  tags?: string[];
}

/** One line of a run's log. */
export interface LogLine {
  id: string;
  at: string;
  stream: "stdout" | "stderr" | "system";
  text: string;
  attempt: number;
}

/** One attempt that was handed out. */
export interface Assignment {
  run_id: string;
  job_id: string;
  label: string;
  attempt: number;
  token: number;
  scheduled_for: string | null;
  timeout: string;
  tool_name: string;
  tool_input: unknown;
  payload: HookPayload | null;
  traceparent?: string;
  shard: Shard | null;
}

export interface HookPayload {
  hook: string;
  delivery: string;
  headers: [string, string][];
  body: string;
  encoding: "text" | "base64";
}

// Jobs of every kind that really run.
const script = (text) => ({ tool_name: "shell", tool_input: { script: text } });
const every = (length) => ({ type: "scheduled", every: length });
const cron = (expr, timezone = "Europe/Berlin") => ({ type: "scheduled", cron: expr, timezone });

export const LONG = `consolidate-quarterly-revenue-${"for-every-region-and-currency-".repeat(4)}eu`;

export async function seed(world) {
  const jobs = {};
  const add = async (label, fields) => (jobs[label] = await world.job({ label, ...fields }));
  await add("heartbeat", { ...script("printf '\\033[32mok\\033[0m beat %s\\n' \"$ORDO_RUN_ID\""), trigger: every("2s"), description: "Says that it is alive." });
  await add("sync-inventory", { ...script("for n in 1 2 3; do echo \"page $n\"; done; sleep 0.4"), trigger: every("5s") });
  await add("ping-status", { tool_name: "http", tool_input: { method: "GET", url: `${world.url}/healthz` }, trigger: every("3s") });
  await add("backup-database", { ...script("echo 'connecting to db-1'; echo 'pg_dump: error: connection refused' >&2; exit 1"), trigger: every("6s"), description: "Dumps the orders database to the vault.", tags: ["nightly", "team:storage", "vault"] });
  await add("flaky-import", { ...script("[ $(($(date +%s) / 9 % 4)) -ne 0 ] || { echo 'upstream said 502' >&2; exit 3; }; echo imported"), trigger: every("7s"), retry: { max_attempts: 3, backoff: "1s" } });
  await add("nightly-report", { ...script("echo report"), tags: ["nightly", "team:finance"], trigger: cron("0 2 * * *"), timeout: "10m", retry: { max_attempts: 3, backoff: "30s" } });
  await add("spring-cleaning", { ...script("echo clean"), trigger: cron("30 2 * * *") });
  await add("weekday-digest", { tool_name: "http", tool_input: { method: "POST", url: `${world.url}/healthz`, body: "{}" }, trigger: cron("0 9 * * MON-FRI") });
  await add("quarter-hourly-rollup", { tool_name: "noop", trigger: cron("*/15 * * * *", "UTC") });
  await add("export-ledger", { ...script("i=0; while [ $i -lt 6000 ]; do i=$((i+1)); echo \"row $i written\"; [ $((i % 50)) -ne 0 ] || echo \"warning: slow disk at $i\" >&2; sleep 0.1; done"), trigger: { type: "manual" } });
  await add("deploy-on-push", { ...script("echo deploy"), trigger: { type: "webhook", hook: "github" } });
  await add("rotate-keys", { ...script("echo rotate"), trigger: cron("0 4 1 * *", "UTC") });
  await add("migrate-archive", { ...script("echo migrate"), trigger: every("1h"), held: true });
  await add("once-and-done", { ...script("echo once"), trigger: { type: "scheduled", at: new Date(Date.now() + 500).toISOString() } });
  await add(LONG, { ...script("echo long"), trigger: cron("0 5 * * *", "America/Argentina/Buenos_Aires") });
  await add("résumé-générateur 日本語", { ...script("echo ünïcödé"), trigger: every("11s") });
  await world.api("POST", `/v1/jobs/${jobs["rotate-keys"].id}/pause`, { reason: "waiting for the new HSM" });
  const many = (from, count) =>
    Array.from({ length: count }, (_, n) => ({ label: `shard-${String(from + n).padStart(5, "0")}`, tool_name: "noop", trigger: every("1d") }));
  await world.api("POST", "/v1/jobs/batch", { jobs: many(0, 10000) });
  const run = await world.api("POST", `/v1/jobs/${jobs["export-ledger"].id}/trigger`);
  jobs.exportRun = run.run_id;
  return jobs;
}

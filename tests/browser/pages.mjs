// Every page of the dashboard, with something on each: what holds for one must hold for all.

/** Something of every kind, once for a server; its names by kind. */
export async function objects(world, jobs) {
  if (world.objects) return world.objects;
  const post = (path, body) => world.api("POST", path, body);
  const incident = await post("/v1/incidents", { title: "Payments are slow", severity: "sev2", identifier: "every-page" });
  await post(`/v1/incidents/${incident.id}/notes`, { text: "the bank answers late; asked them" });
  await post(`/v1/incidents/${incident.id}/actions`, { text: "raise the timeout", owner: "ada" });
  await post("/v1/hooks", { slug: "every-page", verify: { type: "github", secret: "a-long-enough-secret" } });
  await post("/v1/hooks/every-page/test", { ref: "main" });
  const monitor = await post("/v1/monitors", { name: "every-page", every: "1d", grace: "1h", description: "the backup of the vault" });
  for (const path of ["/start", ""]) await fetch(world.url + monitor.ping_path + path);
  const subscription = await post("/v1/subscriptions", { url: "https://receiver.example.com/webhooks/of/ordo", events: ["incident.*"] });
  await post("/v1/channels", { name: "every-page", kind: "webhook", url: "https://receiver.example.com/webhooks/of/ordo" });
  await post("/v1/escalations", { name: "every-page", escalation: { steps: [{ notify: "#on-call", via: "every-page" }, { after: "15m", notify: "lead@example.org" }] } });
  await post("/v1/silences", { matching: "every-page-*", for: "2h", reason: "disk replacement" });
  await post("/v1/tokens", { name: "every-page", role: "viewer" });
  const after = await world.job({ label: "every-page-chained", tool_name: "noop", trigger: { type: "manual" }, after: { jobs: [jobs.heartbeat.id] } });
  world.objects = { incident: incident.id, subscription: subscription.id, after: after.id };
  return world.objects;
}

/** An executor that only says that it is there; it is lost by itself when nobody hears of it for a while. */
async function registered(world) {
  const { id } = await world.api("POST", "/v1/executors", { name: "every-page", group: "every-page", tools: ["noop"] });
  return id;
}

/** [name, address] of each. */
export async function pages(world, jobs) {
  const made = await objects(world, jobs);
  const executor = await registered(world);
  const busy = `/jobs/${jobs["backup-database"].id}`;
  return [
    ["home", "/"],
    ["jobs", "/jobs?q=nightly"],
    ["jobs with a long label", "/jobs?q=consolidate"],
    ["no jobs", "/jobs?q=nothing-like-it"],
    ["form", "/jobs/new"],
    ["import", "/jobs/import"],
    ["job", `/jobs/${jobs["nightly-report"].id}`],
    ["busy job", busy],
    ["chained job", `/jobs/${made.after}`],
    ["edit", `${busy}/edit`],
    ["definition", `${busy}/definition`],
    ["chain", `/jobs/${jobs.heartbeat.id}/chain`],
    ["history", `${busy}/history`],
    ["incidents of a job", `${busy}/incidents`],
    ["runs of a job", `/runs?status=&job=${jobs["backup-database"].id}`],
    ["runs", "/runs"],
    ["runs by reason", "/runs?reason=exit"],
    ["timeline", "/runs?view=timeline"],
    ["run", `/runs/${jobs.exportRun}`],
    ["calendar", "/calendar"],
    ["month", "/calendar?view=month"],
    ["chains", "/chains"],
    ["incidents", "/incidents"],
    ["incident", `/incidents/${made.incident}`],
    ["postmortem", `/incidents/${made.incident}/postmortem`],
    ["silences", "/silences"],
    ["monitors", "/monitors"],
    ["new monitor", "/monitors/new"],
    ["monitor", "/monitors/every-page"],
    ["edit monitor", "/monitors/every-page/edit"],
    ["hooks", "/hooks"],
    ["new hook", "/hook"],
    ["hook", "/hook/every-page"],
    ["edit hook", "/hook/every-page/edit"],
    ["executors", "/executors"],
    ["executor", `/executors/${executor}`],
    ["nodes", "/nodes"],
    ["channels", "/channels"],
    ["new channel", "/channels/new?kind=email"],
    ["channel", "/channels/every-page"],
    ["edit channel", "/channels/every-page/edit"],
    ["new chain", "/escalations/new"],
    ["chain of escalation", "/escalations/every-page"],
    ["edit chain of escalation", "/escalations/every-page/edit"],
    ["notifications", "/notifications"],
    ["subscriptions", "/subscriptions"],
    ["new subscription", "/subscriptions/new"],
    ["subscription", `/subscriptions/${made.subscription}`],
    ["edit subscription", `/subscriptions/${made.subscription}/edit`],
    ["secrets", "/secrets"],
    ["new secret", "/secrets/new"],
    ["tokens", "/tokens"],
    ["new token", "/tokens/new"],
    ["audit", "/audit"],
    ["docs", "/docs"],
    ["page of the docs", "/docs/benchmarks"],
  ];
}

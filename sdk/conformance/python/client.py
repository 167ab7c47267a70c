"""What a program does with the client in Python; prints what came of it as JSON, which the suite checks."""

from __future__ import annotations

import json
import os
import threading
from datetime import timedelta

from ordo import Client, Problem, Unreachable, cron, every

GROUP = os.environ["WORKER_GROUP"]
client = Client()

ensured = [
    client.ensure_job(
        f"{GROUP} hourly", "echo", {"n": 1}, group=GROUP, trigger=every(timedelta(hours=1)), timeout="60s",
        tags=["team:sdk", "hourly"],
    )
    for _ in range(2)
]
tagged = [[one.label, list(one.tags)] for one in client.jobs(tag=["hourly", "team:sdk"], label_prefix=f"{GROUP} ")]
changed = client.ensure_job(f"{GROUP} hourly", "echo", {"n": 2}, group=GROUP, trigger=every("1h"))
client.cancel_job(changed.id, "no longer wanted")
anew = client.ensure_job(f"{GROUP} hourly", "echo", {"n": 1}, group=GROUP, trigger=every(timedelta(hours=1)), timeout="60s")
race: list[str] = []
racers = [
    threading.Thread(target=lambda: race.append(Client().ensure_job(f"{GROUP} race", "echo", group=GROUP).id))
    for _ in range(4)
]
for racer in racers:
    racer.start()
for racer in racers:
    racer.join()

job = client.create_job(f"{GROUP} nightly", "echo", {"n": 3}, group=GROUP, trigger=cron("0 2 * * *", "Europe/Berlin"))
again = client.create_job(f"{GROUP} keyed", "echo", group=GROUP, idempotency_key=f"{GROUP}-key")
twice = client.create_job(f"{GROUP} keyed", "echo", group=GROUP, idempotency_key=f"{GROUP}-key")
run = client.wait(client.trigger_job(job.id, {"n": 4}), timeout=100)
chat = client.create_job(f"{GROUP} chat", "chatty", {"lines": 300}, group=GROUP)
lines = [line.text for line in client.follow_log(client.trigger_job(chat.id), timeout=100)]
paused = client.pause_job(job.id, "for a while").state
resumed = client.resume_job(job.id).state
many = [client.create_job(f"{GROUP} page {number}", "echo", group=GROUP).id for number in range(60)]
listed = [one.id for one in client.jobs(label_prefix=f"{GROUP} page ")]

refusals: dict[str, object] = {}
try:
    client.create_job(f"{GROUP} bad", "echo", group=GROUP, timeout="soon")
except Problem as problem:
    refusals["invalid"] = [problem.status, problem.code, [one.field for one in problem.errors]]
try:
    client.job("00000000-0000-7000-8000-000000000000")
except Problem as problem:
    refusals["missing"] = [problem.status, problem.code, []]
try:
    Client("http://127.0.0.1:9", timeout=5).job(job.id)
except Unreachable:
    refusals["unreachable"] = True
try:
    client.wait(client.trigger_job(client.create_job(f"{GROUP} never", "nobody_has_it", group=GROUP).id), timeout=0.3)
except TimeoutError:
    refusals["timeout"] = True

print(
    json.dumps(
        {
            "ensured": [[one.id, one.revision] for one in ensured],
            "tagged": tagged,
            "changed": [changed.id, changed.raw["tool_input"], changed.raw["timeout"]],
            "anew": anew.id,
            "race": race,
            "keyed": [again.id, twice.id],
            "next_tick_at": job.raw["next_tick_at"],
            "run": {"status": run.status, "result": run.result, "label": run.label},
            "lines": lines,
            "paused": paused,
            "resumed": resumed,
            "created": sorted(many),
            "listed": sorted(listed),
            "runs": [[one.id for one in client.runs(job_id=job.id)], [run.id]],
            "refusals": refusals,
        }
    )
)

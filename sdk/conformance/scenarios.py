"""What a worker and a client must do, in whatever language. Each function is one promise.

Invariant: evidence comes from outside: what handlers reported to the witness, what the server recorded, what passed the proxy.
Nothing is waited for by time.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

from languages import ROOT
from proxy import CUT, DEAF, PASS, Answer
from witness import PATIENCE
from world import World

Scenario = Callable[[World], None]
REPORT = "/v1/runs/report"
TWICE = {"idempotent": True, "retry": {"max_attempts": 2, "backoff": "100ms"}}
THOUSAND = 1_000


def works(world: World) -> None:
    """A run is done with its input, and its result is kept."""
    world.worker("a")
    run = world.once("echo", {"text": "hällo \u2603", "deep": [1, {"a": None}]})
    result = world.daemon.completed(run)
    assert result["input"] == {"text": "hällo \u2603", "deep": [1, {"a": None}]}, result
    assert result["attempt"] == 1 and result["shard"] is None and result["fence"] > 0, result
    assert len(world.witness.facts(event="begun", run_id=run)) == 1


def logs(world: World) -> None:
    """Lines come in order and in full, however many, and before the end of the run."""
    world.worker("a")
    run = world.once("chatty", {"lines": 2_500})
    world.daemon.completed(run)
    assert world.daemon.lines(run) == [*(f"line {number}" for number in range(2_500)), "two", "lines"]


def fails(world: World) -> None:
    """An exception is a failure with its message and its trace; the next attempt has a higher fence."""
    world.worker("a")
    run = world.once("fail", {"times": 1, "message": "out of film"}, retry={"max_attempts": 2, "backoff": "50ms"})
    over = world.daemon.over(run)
    assert over["status"] == {"type": "completed", "result": {"attempt": 2}}, over
    assert "out of film" in over["errors"][0]["reason"], over
    assert any("out of film" in line for line in world.daemon.lines(run)), "the trace is not in the log"
    first, second = world.witness.facts(event="begun", run_id=run)
    assert first["fence"] < second["fence"] and (first["attempt"], second["attempt"]) == (1, 2)
    for tool, given, said in (("fail", {"times": 9, "message": "torn"}, "torn"), ("no_json", None, "no JSON")):
        over = world.daemon.over(world.once(tool, given))
        assert over["status"]["type"] == "failed" and said in over["status"]["reason"], over


def gives_back(world: World) -> None:
    """A run that is given back comes again and costs no attempt."""
    world.worker("a")
    run = world.once("give_back", retry={"max_attempts": 1})
    assert world.daemon.completed(run) == {"by": "a"}
    assert len(world.witness.facts(event="gave_back", run_id=run)) == 1
    assert len(world.witness.facts(event="begun", run_id=run)) == 1


def cancels(world: World) -> None:
    """A run that is cancelled is told to its handler, stops, and is cancelled; the others go on."""
    world.worker("a")
    runs = [world.once("hold"), world.once("hold_async")]
    other = world.once("hold")
    for run in [*runs, other]:
        world.begun(run, "a")
    for run in runs:
        world.daemon.call("POST", f"/v1/runs/{run}/cancel", {"reason": "changed our mind"})
    for run in runs:
        world.witness.expect(event="stopped", run_id=run, reason="cancelled")
        over = world.daemon.over(run)
        assert over["status"] == {"type": "cancelled", "reason": "changed our mind"}, over
        assert world.effects(run) == []
    world.witness.release(other, "a")
    assert world.daemon.completed(other)["by"] == "a"


def times_out(world: World) -> None:
    """A run that takes longer than its timeout is told to stop, and has failed."""
    world.worker("a")
    for tool in ("hold", "hold_async"):
        run = world.once(tool, timeout="1s")
        world.witness.expect(event="stopped", run_id=run, reason="timeout")
        over = world.daemon.over(run)
        assert over["status"]["type"] == "failed" and "timed out after 1 s" in over["status"]["reason"], over
        started, finished = (datetime.fromisoformat(over[name].rstrip("Z")) for name in ("started_at", "finished_at"))
        assert finished - started >= timedelta(seconds=1), "it was not given its time"


def crashes(world: World) -> None:
    """What a killed worker had is done by another if that does no harm, and has failed otherwise."""
    a = world.worker("a")
    again, once = world.once("hold", **TWICE), world.once("hold", retry={"max_attempts": 2})
    first = world.begun(again, "a")
    world.begun(once, "a")
    world.worker("b")
    a.signal(signal.SIGKILL)
    second = world.begun(again, "b")
    assert second["attempt"] == 2 and second["fence"] > first["fence"], (first, second)
    world.witness.release(again, "b")
    assert world.daemon.completed(again) == {"by": "b", "fence": second["fence"]}
    assert [one["fence"] for one in world.effects(again)] == [second["fence"]]
    over = world.daemon.over(once)
    assert over["status"]["type"] == "failed" and "was lost" in over["status"]["reason"], over
    assert world.effects(once) == []


def loses_its_lease(world: World) -> None:
    """A worker that was frozen hears that its runs are lost, stops them, and goes on under a new registration."""
    a = world.worker("a")
    run = world.once("hold", **TWICE)
    asynchronous = world.once("hold_async", **TWICE)
    first = world.begun(run, "a")
    world.begun(asynchronous, "a")
    b = world.worker("b")
    a.signal(signal.SIGSTOP)
    second = world.begun(run, "b")
    world.begun(asynchronous, "b")
    a.signal(signal.SIGCONT)
    for one in (run, asynchronous):
        world.witness.expect(event="stopped", run_id=one, worker="a", reason="lost")
        world.witness.release(one, "b")
        assert world.daemon.completed(one)["by"] == "b"
        assert [fact["worker"] for fact in world.effects(one)] == ["b"]
    assert second["fence"] > first["fence"], (first, second)
    b.signal(signal.SIGTERM)
    b.leaves()
    assert world.daemon.completed(world.once("echo"))["by"] == "a"


def is_stale(world: World) -> None:
    """A report with a stale token is refused, changes nothing, is not sent again, and the worker goes on."""
    proxy = world.proxy()
    world.worker("a", server=proxy.url)
    run = world.once("stubborn", **TWICE)
    first = world.begun(run, "a")
    b = world.worker("b")

    def unheard(_method: str, path: str, _before: int, _body: Any) -> str:
        return PASS if path == REPORT else CUT

    proxy.rule = unheard
    second = world.begun(run, "b")
    world.witness.release(run, "a")
    stale = proxy.expect(REPORT, PATIENCE, lambda one: True)
    assert stale.body["reports"][0]["token"] == first["fence"], stale.body
    assert stale.answer["results"][0]["status"] == 409, stale.answer
    world.witness.release(run, "b")
    assert world.daemon.completed(run) == {"by": "b", "fence": second["fence"]}
    proxy.rule = lambda *_: PASS
    b.signal(signal.SIGTERM)
    b.leaves()
    echo = world.once("echo")
    assert world.daemon.completed(echo)["by"] == "a"
    sent = [report["token"] for one in proxy.exchanges(REPORT) for report in one.body["reports"]]
    assert sent.count(first["fence"]) == 1, sent
    assert len(world.daemon.events("JobExecuted", run)) == 1


def reports_until_answered(world: World) -> None:
    """A report is sent until the server has answered it; one whose answer was lost counts once."""
    proxy = world.proxy()

    def failing(_method: str, path: str, before: int, body: Any) -> str | Answer:
        if path != REPORT:
            return PASS
        problem = {"status": 503, "code": "overloaded", "title": "Overloaded", "detail": "later", "type": "x"}
        part = [{"run_id": one["run_id"], "status": 503, "error": problem} for one in body["reports"]]
        verdicts: list[str | Answer] = [(503, problem), (200, {"results": part}), (502, "a proxy's page"), CUT, CUT, DEAF]
        return verdicts[before] if before < len(verdicts) else PASS

    proxy.rule = failing
    world.worker("a", server=proxy.url)
    run = world.once("hold")
    world.begun(run, "a")
    world.witness.release(run, "a")
    assert world.daemon.completed(run)["by"] == "a"
    last = proxy.expect(REPORT, PATIENCE, lambda one: one.status == 200 and one.answer["results"][0]["status"] == 409)
    assert last.body == proxy.exchanges(REPORT)[0].body, "the report changed on its way"
    assert len(world.effects(run)) == 1 and len(world.daemon.events("JobExecuted", run)) == 1
    assert world.daemon.completed(world.once("echo"))["by"] == "a"


def drains_on_sigterm(world: World) -> None:
    """SIGTERM: nothing new is taken, what runs is finished and reported, and the process ends well."""
    proxy = world.proxy()
    a = world.worker("a", server=proxy.url)
    (registered,) = world.daemon.executors(world.group)
    run = world.once("hold")
    world.begun(run, "a")
    a.signal(signal.SIGTERM)
    proxy.expect(f"/v1/executors/{registered['id']}", PATIENCE, lambda one: one.method == "DELETE")
    later = world.once("echo")
    world.worker("b")
    assert world.daemon.completed(later)["by"] == "b"
    world.witness.release(run, "a")
    assert world.daemon.completed(run)["by"] == "a"
    a.leaves()
    assert registered["id"] not in world.alive(), "it did not say goodbye"


def hears_signals_in_any_thread(world: World) -> None:
    """The system may deliver SIGTERM to any thread: the one that decides hears of it all the same, at once."""
    a = world.worker("a")
    assert world.daemon.completed(world.once("echo"))["by"] == "a"
    a.signal_other_thread(signal.SIGTERM)
    a.leaves()


def drains_when_asked(world: World) -> None:
    """The server asks a worker to leave: it finishes what it has and ends by itself."""
    a = world.worker("a")
    run = world.once("hold")
    world.begun(run, "a")
    (registered,) = world.daemon.executors(world.group)
    world.daemon.call("POST", f"/v1/executors/{registered['id']}/drain")
    a.expect("leaving")
    world.witness.release(run, "a")
    assert world.daemon.completed(run)["by"] == "a"
    a.leaves()
    assert registered["id"] not in world.alive(), "it did not say goodbye"


def keeps_its_grace(world: World) -> None:
    """What does not end within the grace is told to stop; what does not stop is reported as cut short."""
    a = world.worker("a", grace_ms=200)
    polite, stubborn = world.once("hold"), world.once("stubborn")
    world.begun(polite, "a")
    world.begun(stubborn, "a")
    a.signal(signal.SIGTERM)
    world.witness.expect(event="stopped", run_id=polite, reason="shutdown")
    a.leaves()
    for run in (polite, stubborn):
        over = world.daemon.over(run)
        assert over["status"] == {"type": "failed", "reason": "interrupted by shutdown"}, over
        assert world.effects(run) == []


def survives_a_restart(world: World) -> None:
    """The server is killed and started again: the worker goes on, and what ended meanwhile is reported once."""
    world.worker("a")
    before = [one["id"] for one in world.daemon.executors(world.group)]
    ends, goes_on = world.once("hold"), world.once("hold_async")
    for run in (ends, goes_on):
        world.begun(run, "a")
    world.daemon.kill()
    world.witness.release(ends, "a")
    world.witness.expect(event="effect", run_id=ends)
    world.daemon.start()
    assert world.daemon.completed(ends)["by"] == "a"
    world.witness.release(goes_on, "a")
    assert world.daemon.completed(goes_on)["by"] == "a"
    for run in (ends, goes_on):
        assert world.daemon.run(run)["attempt"] == 1
        assert len(world.effects(run)) == 1 and len(world.witness.facts(event="begun", run_id=run)) == 1
    assert world.daemon.completed(world.once("echo"))["by"] == "a"
    assert [one["id"] for one in world.daemon.executors(world.group)] == before


def broadcasts(world: World) -> None:
    """Each worker gets its share of a broadcast, once."""
    names = ["a", "b", "c"]
    for name in names:
        world.worker(name)
    job = world.daemon.job(
        label=world.group, group=world.group, tool_name="echo", routing="sharding_broadcast"
    )
    whole = world.daemon.over(world.daemon.trigger(job))
    assert whole["status"]["type"] == "completed", whole
    runs = world.daemon.call("GET", f"/v1/runs?job_id={job}")["items"]
    shares = [world.daemon.completed(run["id"]) for run in runs if run.get("parent_id") == whole["id"]]
    assert sorted(one["by"] for one in shares) == names, shares
    assert sorted(one["shard"]["index"] for one in shares) == [0, 1, 2], shares
    assert {one["shard"]["total"] for one in shares} == {3}, shares
    assert len(world.witness.facts(event="begun")) == 3


def takes_a_thousand(world: World) -> None:
    """A thousand runs are in one worker at the same moment, each once."""
    world.worker("a", capacity=THOUSAND)
    now = (datetime.now(timezone.utc) + timedelta(seconds=1)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    jobs = [
        {
            "label": f"{world.group} {number}",
            "group": world.group,
            "tool_name": "gather" if number % 2 else "gather_async",
            "tool_input": {"size": THOUSAND},
            "trigger": {"type": "scheduled", "at": now},
        }
        for number in range(THOUSAND)
    ]
    results = world.daemon.call("POST", "/v1/jobs/batch", {"jobs": jobs})["results"]
    world.daemon.expect_events("JobExecuted", {f"ordo-job-{one['id']}" for one in results})
    effects = [fact["run_id"] for fact in world.witness.facts(event="effect")]
    assert len(effects) == THOUSAND and len(set(effects)) == THOUSAND, len(effects)


def is_refused(world: World) -> None:
    """A worker whose token is not known, or may not serve the group, ends and says why."""
    made = world.daemon.call("POST", "/v1/tokens", {"name": f"{world.group}-viewer", "role": "viewer"})
    for token, said in (("nonsense", "401"), (made["token"], "403")):
        worker = world.worker("a", token=token)
        assert worker.ends() == 1, worker.said()
        worker.expect(said)


def has_a_client(world: World) -> None:
    """Jobs are created, ensured by label, triggered, waited for and listed; refusals have their code."""
    world.worker("a")
    env = {"ORDO_SERVER": world.daemon.url, "ORDO_TOKEN": world.daemon.token, "WORKER_GROUP": world.group}
    done = subprocess.run(
        world.language.client, env={**os.environ, **env}, capture_output=True, text=True, timeout=2 * PATIENCE
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    (first, revision), (second, later) = said["ensured"]
    assert first == second and revision == later, said["ensured"]
    assert said["tagged"] == [[f"{world.group} hourly", ["hourly", "team:sdk"]]], said["tagged"]
    assert said["changed"] == [first, {"n": 2}, "1m"], said["changed"]
    assert said["anew"] != first, "a job that was cancelled is not the one that is ensured"
    assert len(said["race"]) == 4 and len(set(said["race"])) == 1, said["race"]
    assert said["keyed"][0] == said["keyed"][1], said["keyed"]
    assert said["next_tick_at"] is not None
    assert said["run"]["status"] == "completed" and said["run"]["result"]["input"] == {"n": 4}, said["run"]
    assert said["lines"] == [*(f"line {number}" for number in range(300)), "two", "lines"], said["lines"][-5:]
    assert (said["paused"], said["resumed"]) == ("paused", "active")
    assert said["listed"] == said["created"] and len(said["listed"]) == 60
    listed, triggered = said["runs"]
    assert listed == triggered, said["runs"]
    refusals = said["refusals"]
    assert refusals["invalid"] == [422, "invalid_job", ["timeout"]], refusals
    assert refusals["missing"] == [404, "job_not_found", []], refusals
    assert refusals["unreachable"] is True and refusals["timeout"] is True, refusals


def is_five_lines(world: World) -> None:
    """The worker of the package's README does its work and leaves in order."""
    env = {"ORDO_SERVER": world.daemon.url, "ORDO_TOKEN": world.daemon.token}
    # The examples of all languages are of one group.
    with _films:
        worker = world.start("five-lines", world.language.five_lines, env)
        job = world.daemon.job(label=world.group, group="films", tool_name="resize", tool_input={"width": 640})
        assert world.daemon.completed(world.daemon.trigger(job)) == {"width": 320}
        worker.signal(signal.SIGTERM)
        worker.leaves()


_films = threading.Lock()


def has_an_example(world: World) -> None:
    """The worker in examples/, which speaks the protocol without a package, survives a restart and stops when told to."""
    token, example = world.daemon.token, str(ROOT / "examples/worker.py")
    a = world.start("example", [sys.executable, example, world.daemon.url], {"ORDO_TOKEN": token})
    job = world.daemon.job(label="greet", group="python", tool_name="greet", block={"concurrent": {"max": 3}})
    assert world.daemon.completed(world.daemon.trigger(job, {"name": "Ada"})) == {"greeting": "Hello Ada, attempt 1"}
    (before,) = world.daemon.executors("python")
    slow = world.daemon.trigger(job, {"seconds": 600})
    world.daemon.expect_events("JobStarted", {f"ordo-job-{job}"}, slow)
    world.daemon.kill()
    world.daemon.start()
    world.daemon.call("POST", f"/v1/runs/{slow}/cancel", {"reason": "enough"})
    assert world.daemon.over(slow)["status"] == {"type": "cancelled", "reason": "enough"}
    late = world.daemon.over(world.daemon.once(label="late", group="python", tool_name="greet", timeout="500ms", tool_input={"seconds": 600}))
    assert late["status"] == {"type": "failed", "reason": "timed out"}, late
    frozen = world.daemon.trigger(job, {"seconds": 600})
    world.daemon.expect_events("JobStarted", {f"ordo-job-{job}"}, frozen)
    assert [one["id"] for one in world.daemon.executors("python")] == [before["id"]]
    a.signal(signal.SIGSTOP)
    assert "was lost" in world.daemon.over(frozen)["status"]["reason"]
    a.signal(signal.SIGCONT)
    assert world.daemon.completed(world.daemon.trigger(job))["greeting"] == "Hello world, attempt 1"
    a.signal(signal.SIGTERM)
    a.leaves()


def has_types(world: World) -> None:
    """The package and the programs that use it keep to their types, strictly."""
    world.language.check_types()


#: The slowest first: they wait for a lease to expire.
ALL: list[Scenario] = [
    has_types,
    loses_its_lease,
    is_stale,
    crashes,
    survives_a_restart,
    has_an_example,
    keeps_its_grace,
    takes_a_thousand,
    cancels,
    drains_when_asked,
    drains_on_sigterm,
    hears_signals_in_any_thread,
    times_out,
    has_a_client,
    reports_until_answered,
    broadcasts,
    works,
    logs,
    fails,
    gives_back,
    is_refused,
    is_five_lines,
]

#: Those that end the server: each has one of its own.
ALONE: set[Scenario] = {survives_a_restart, has_an_example}

#: Those about what is there in one language only.
OF_ONE_LANGUAGE: dict[Scenario, str] = {has_an_example: "python", hears_signals_in_any_thread: "python"}

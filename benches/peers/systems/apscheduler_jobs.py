"""APScheduler, called by `drive`: apscheduler_jobs.py apscheduler WORKLOAD [NAME=NUMBER...]; prints one line of JSON.

It is a library: scheduler, handlers and callers share this process. Jobs are kept in SQLite, which syncs each commit
(journal_mode=WAL, synchronous=FULL), so that what was acknowledged survives a power cut.
It has no call for many jobs at once: the bulk of the others is two callers that add one by one.
"""

import json
import os
import shutil
import sqlite3
import sys
import tempfile
import threading
import time
from datetime import datetime, timezone
from importlib.metadata import version

from apscheduler.events import EVENT_JOB_EXECUTED
from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore
from apscheduler.schedulers.background import BackgroundScheduler
from sqlalchemy import create_engine, event

WORKERS = 50
HOUR_MS = 3_600_000
GIVE_UP_S = 240
TAKES = {"W1": ["seconds", "jobs"], "W2": ["jobs"], "W3": ["rate", "seconds"], "W4": ["pending", "rate", "seconds"]}
MAY = ["cut_s"]

late = {}
recorded = threading.Semaphore(0)


def now_ms():
    return time.time_ns() / 1e6


def noop(payload):
    late.setdefault(payload["id"], now_ms() - payload["due"])


class Ids:
    """Numbers that no two threads get twice."""

    def __init__(self):
        self.lock, self.last = threading.Lock(), -1

    def next(self):
        with self.lock:
            self.last += 1
            return self.last


def open_scheduler(folder):
    engine = create_engine(f"sqlite:///{folder}/jobs.sqlite", pool_size=64, connect_args={"timeout": 60})

    @event.listens_for(engine, "connect")
    def durable(connection, _):
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")

    scheduler = BackgroundScheduler(
        jobstores={"default": SQLAlchemyJobStore(engine=engine)},
        executors={"default": ThreadPoolExecutor(WORKERS)},
        # Late jobs run as well, each of them.
        job_defaults={"misfire_grace_time": None, "coalesce": False},
        timezone=timezone.utc,
    )
    scheduler.add_listener(lambda _: recorded.release(), EVENT_JOB_EXECUTED)
    scheduler.start()
    return scheduler


class Meter:
    """What a stretch of time cost; 100 % is one core."""

    def __init__(self):
        self.start = self.look()

    @staticmethod
    def look():
        with open("/proc/stat") as stat:
            user, nice, system, _, _, irq, softirq, steal = map(int, stat.readline().split()[1:9])
        with open("/proc/self/io") as io:
            written = next(int(line.split()[1]) for line in io if line.startswith("wchar"))
        return time.monotonic(), time.process_time(), (user + nice + system + irq + softirq + steal) / 100, written

    def stop(self, jobs):
        seconds, own, busy, written = (to - at for to, at in zip(self.look(), self.start))
        with open("/proc/self/smaps_rollup") as maps:
            kib = next(int(line.split()[1]) for line in maps if line.startswith("Pss:"))
        cost = {
            "seconds": round(seconds, 1),
            "server_cpu_pct": 0,
            "driver_cpu_pct": round(own / seconds * 100, 1),
            "other_cpu_pct": round(max(0, busy - own) / seconds * 100, 1),
            "memory_mib": 0,
            "driver_memory_mib": round(kib / 1024, 1),
            "written_mib": round(written / 1_048_576, 1),
        }
        return cost | ({"bytes_per_job": round(written / jobs)} if jobs else {})


class Driver:
    def __init__(self, scheduler):
        self.scheduler, self.ids = scheduler, Ids()

    def add(self, due):
        payload = {"id": self.ids.next(), "due": due, "name": "bench", "filling": "x" * 60}
        at = datetime.fromtimestamp(due / 1000, timezone.utc)
        self.scheduler.add_job("__main__:noop", "date", run_date=at, args=[payload], id=str(payload["id"]))

    def add_all(self, callers, count, due, cut_s=float("inf")):
        """Adds `count` jobs, or as many as `cut_s` seconds allow; how many, and per second."""
        numbers, added, faults, begin = Ids(), [], [], time.monotonic()

        def call():
            try:
                while (n := numbers.next()) < count and time.monotonic() - begin < cut_s:
                    self.add(due(n))
                    added.append(n)
            except Exception as fault:
                faults.append(fault)

        threads = [threading.Thread(target=call) for _ in range(callers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if faults:
            raise faults[0]
        return {"jobs": len(added), "per_s": round(len(added) / (time.monotonic() - begin))}

    @staticmethod
    def measured(work):
        meter = Meter()
        figures = work()
        return figures | meter.stop(figures.get("jobs"))

    def schedule(self, seconds, jobs):
        def due(n):
            return round(now_ms()) + HOUR_MS + n

        def one_by_one(callers):
            self.add_all(callers, callers, due)  # connections are made
            return self.measured(lambda: self.add_all(callers, 10**9, due, seconds))

        return {"one": one_by_one(1), "many": one_by_one(64), "bulk": self.measured(lambda: self.add_all(2, jobs, due))}

    def fire(self, jobs, gap_ms):
        """One job every `gap_ms`, scheduled ahead; measured until all are recorded as done."""
        per_s = self.add_all(1, min(jobs, 100), lambda n: round(now_ms()) + 30 * 24 * HOUR_MS)["per_s"]
        first = round(now_ms() + 3_000 + 2_500 * jobs / max(per_s, 1))
        self.add_all(1, jobs, lambda n: first + int(n * gap_ms))
        if now_ms() > first - 200:
            raise RuntimeError("scheduling took longer than expected: the machine is too busy to measure")
        time.sleep((first - 100 - now_ms()) / 1000)

        def run():
            end = (first + jobs * gap_ms) / 1000 + GIVE_UP_S
            for _ in range(jobs):
                if not recorded.acquire(timeout=max(0, end - time.time())):
                    raise RuntimeError(f"only {len(late)} of {jobs} jobs began")
            spent = now_ms() - first
            ordered = sorted(late.values())
            names = {"late_p50_ms": 0.5, "late_p99_ms": 0.99, "late_max_ms": 1}
            lateness = {name: round(ordered[min(jobs - 1, int(jobs * part))], 2) for name, part in names.items()}
            return {"jobs": jobs, "runs_per_s": round(jobs * 1000 / spent)} | lateness

        return self.measured(run)

    def burst(self, jobs):
        return {"run": self.fire(jobs, 0)}

    def steady(self, rate, seconds):
        return {"run": self.fire(rate * seconds, 1000 / rate)}

    def mass(self, pending, rate, seconds, cut_s=180):
        far = round(now_ms()) + 30 * 24 * HOUR_MS
        load = self.measured(lambda: self.add_all(2, pending, lambda n: far + n, cut_s))
        time.sleep(5)
        idle = self.measured(lambda: time.sleep(10) or {})
        return {"load": load, "idle": idle, "run": self.fire(rate * seconds, 1000 / rate)}


def numbers(workload, given):
    values = {}
    for pair in given:
        name, _, value = pair.partition("=")
        if name not in TAKES[workload] + MAY or not value.isdigit() or int(value) == 0:
            sys.exit(f"error: {pair}: wanted are {', '.join(TAKES[workload])}, each a number above 0")
        values[name] = int(value)
    if missing := [name for name in TAKES[workload] if name not in values]:
        sys.exit(f"error: missing: {' '.join(f'{name}=NUMBER' for name in missing)}")
    return values


def main(system, workload, *given):
    if workload not in TAKES:
        sys.exit(f"error: no workload {workload} for APScheduler: one of {', '.join(TAKES)}")
    values = numbers(workload, given)
    folder = tempfile.mkdtemp(prefix="ordo-peers-")
    try:
        driver = Driver(open_scheduler(folder))
        run = {"W1": driver.schedule, "W2": driver.burst, "W3": driver.steady, "W4": driver.mass}[workload]
        parts = run(**values)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    about = {"version": version("apscheduler"), "server": f"SQLite {sqlite3.sqlite_version}", "worker": "driver"}
    print(json.dumps({"system": system, "workload": workload, **values, "about": about, "parts": parts}), flush=True)


if __name__ == "__main__":
    status = 1
    try:
        main(*sys.argv[1:])
        status = 0
    except Exception as fault:
        print(f"error: {fault}", file=sys.stderr)
    # Threads of the scheduler do not hold up the end.
    os._exit(status)

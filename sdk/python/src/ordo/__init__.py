"""Workers and a client for Ordo, a durable scheduler.

Five lines make a worker::

    from ordo import Worker
    worker = Worker(group="films")
    @worker.tool("resize")
    def resize(ctx, input): return {"width": input["width"] // 2}
    worker.run()
"""

from ordo.client import Client, at, cron, every, manual, on_hook
from ordo.context import CancelReason, Context
from ordo.errors import Cancelled, GiveBack, OrdoError, Problem, ProtocolError, Unreachable
from ordo.fields import JobFields
from ordo.model import AttemptError, FieldError, HookPayload, Job, LogLine, Run, RunStatus, Shard
from ordo.version import VERSION as __version__
from ordo.worker import Worker

__all__ = [
    "AttemptError",
    "CancelReason",
    "Cancelled",
    "Client",
    "Context",
    "FieldError",
    "GiveBack",
    "HookPayload",
    "Job",
    "JobFields",
    "LogLine",
    "OrdoError",
    "Problem",
    "ProtocolError",
    "Run",
    "RunStatus",
    "Shard",
    "Unreachable",
    "Worker",
    "__version__",
    "at",
    "cron",
    "every",
    "manual",
    "on_hook",
]

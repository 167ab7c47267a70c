"""The worker of the conformance suite in Python; README.md says what each of its tools does."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import queue
import threading
import urllib.request
from collections.abc import Callable
from typing import Any

from ordo import Context, GiveBack, Worker

NAME = os.environ["WORKER_NAME"]
worker = Worker(
    group=os.environ["WORKER_GROUP"],
    name=NAME,
    capacity=int(os.environ["WORKER_CAPACITY"]),
    grace=int(os.environ["WORKER_GRACE_MS"]) / 1000,
)


def say(ctx: Context, event: str, **more: Any) -> None:
    """Tells the witness; returns when it has answered."""
    fact = {"worker": NAME, "event": event, "run_id": ctx.run_id, "fence": ctx.fence, "attempt": ctx.attempt, **more}
    sent = urllib.request.Request(os.environ["WITNESS"], json.dumps(fact).encode(), method="POST")
    urllib.request.urlopen(sent).close()


@worker.tool("echo")
def echo(ctx: Context, input: Any) -> Any:
    say(ctx, "begun")
    shard = None if ctx.shard is None else {"index": ctx.shard.index, "total": ctx.shard.total}
    return {"by": NAME, "input": input, "attempt": ctx.attempt, "fence": ctx.fence, "shard": shard}


@worker.tool("hold")
def hold(ctx: Context, input: Any) -> Any:
    say(ctx, "begun")
    news: queue.SimpleQueue[str] = queue.SimpleQueue()

    def released() -> None:
        say(ctx, "await")
        news.put("released")

    def cancelled() -> None:
        ctx.wait_cancelled()
        news.put("cancelled")

    threading.Thread(target=released, daemon=True).start()
    threading.Thread(target=cancelled, daemon=True).start()
    if news.get() == "cancelled":
        say(ctx, "stopped", reason=ctx.cancel_reason)
        ctx.raise_if_cancelled()
    say(ctx, "effect")
    return {"by": NAME, "fence": ctx.fence}


@worker.tool("hold_async")
async def hold_async(ctx: Context, input: Any) -> Any:
    try:
        await asyncio.to_thread(say, ctx, "begun")
        await asyncio.to_thread(say, ctx, "await")
    except asyncio.CancelledError:
        say(ctx, "stopped", reason=ctx.cancel_reason)
        raise
    await asyncio.to_thread(say, ctx, "effect")
    return {"by": NAME, "fence": ctx.fence}


@worker.tool("stubborn")
def stubborn(ctx: Context, input: Any) -> Any:
    say(ctx, "begun")
    say(ctx, "await")
    say(ctx, "effect", cancelled=ctx.cancelled)
    return {"by": NAME, "fence": ctx.fence}


@worker.tool("fail")
def fail(ctx: Context, input: Any) -> Any:
    say(ctx, "begun")
    if ctx.attempt <= input["times"]:
        raise RuntimeError(input["message"])
    return {"attempt": ctx.attempt}


@worker.tool("no_json")
def no_json(ctx: Context, input: Any) -> Any:
    return {"ends": threading.Lock()}


given_back: set[str] = set()


@worker.tool("give_back")
def give_back(ctx: Context, input: Any) -> Any:
    if ctx.run_id not in given_back:
        given_back.add(ctx.run_id)
        say(ctx, "gave_back")
        raise GiveBack(0.05, "not yet")
    say(ctx, "begun")
    return {"by": NAME}


@worker.tool("chatty")
def chatty(ctx: Context, input: Any) -> Any:
    for number in range(input["lines"]):
        ctx.log(f"line {number}")
    ctx.log("two\nlines", "stderr")
    return None


#: Wakes each run that waits for the others.
waiting: list[Callable[[], object]] = []
lock = threading.Lock()


def enter(size: int, wake: Callable[[], object]) -> None:
    """Counts a run; when all of them are there, each is woken."""
    with lock:
        waiting.append(wake)
        everybody = list(waiting) if len(waiting) == size else []
    for one in everybody:
        one()


@worker.tool("gather")
def gather(ctx: Context, input: Any) -> Any:
    everybody = threading.Event()
    enter(input["size"], everybody.set)
    everybody.wait()
    say(ctx, "effect")
    return None


@worker.tool("gather_async")
async def gather_async(ctx: Context, input: Any) -> Any:
    loop, everybody = asyncio.get_running_loop(), asyncio.Event()
    enter(input["size"], lambda: loop.call_soon_threadsafe(everybody.set))
    await everybody.wait()
    await asyncio.to_thread(say, ctx, "effect")
    return None


logging.basicConfig(level=logging.INFO)
worker.run()

#!/usr/bin/env python3
"""Programs made for other services, installed as their users do it, against the real server.

    cargo xtask compatibility                    all of it
    cargo xtask compatibility --only borgmatic   the stories whose name contains a word
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
import traceback
from pathlib import Path

import borgmatic_pings
import xxl_cut_over
import xxl_executors
from server import Server

STORIES = [*borgmatic_pings.ALL, *xxl_executors.ALL, *xxl_cut_over.ALL]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--ordo", required=True, type=Path)
    parser.add_argument("--only", default="")
    asked = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="ordo-compatibility-"))
    # Another build may put another binary in its place meanwhile.
    ordo = Path(shutil.copy(asked.ordo, folder / "ordo"))
    wanted = [story for story in STORIES if asked.only in story.__name__]
    failed = 0
    for story in wanted:
        begun, server = time.monotonic(), Server(ordo, folder / story.__name__)
        try:
            story(server)
            outcome = "ok"
        except Exception:
            failed += 1
            outcome = "FAILED\n" + traceback.format_exc() + server.tail()
        finally:
            server.close()
        print(f"{story.__name__}: {outcome} ({time.monotonic() - begun:.1f}s)", flush=True)
    print(f"{len(wanted)} stories, {failed} failed")
    if failed or not wanted:
        print(f"logs are in {folder}")
        return 1
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())

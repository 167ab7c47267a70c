#!/usr/bin/env python3
"""One suite for the packages of every language: built, installed, and driven against the real server.

    cargo xtask sdk                                 all of it
    cargo xtask sdk --language python --only crash  the scenarios of one language whose name contains a word
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import threading
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import scenarios
from daemon import Daemon
from languages import MAKERS, Language, Tools, check_sources
from world import World

#: How many scenarios are under way at once: most of them wait.
AT_ONCE = 12


def main() -> int:
    asked = _arguments()
    check_sources()
    folder = Path(tempfile.mkdtemp(prefix="ordo-sdk-"))
    # Another build may put another binary in its place meanwhile.
    ordo = Path(shutil.copy(asked.ordo, folder / "ordo"))
    tools = Tools(Path(asked.tools_python).absolute(), Path(asked.node_modules).absolute())
    with ThreadPoolExecutor() as pool:
        made = {name: pool.submit(MAKERS[name], tools, folder) for name in asked.language or MAKERS}
    languages = [one.result() for one in made.values()]
    print(f"built and installed: {', '.join(language.name for language in languages)}", flush=True)
    wanted = [one for one in scenarios.ALL if asked.only in one.__name__]
    if not wanted:
        print(f"no scenario is called {asked.only!r}")
        return 2
    shared = Daemon(ordo, folder / "shared")
    try:
        pairs = [(one, language) for one in wanted for language in languages if _concerns(one, language)]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            failures = sum(pool.map(lambda pair: _play(*pair, shared, ordo, folder), pairs))
    finally:
        shared.close()
    print(f"{len(pairs)} scenarios, {failures} failed")
    if failures:
        print(f"logs are in {folder}")
        return 1
    shutil.rmtree(folder)
    return 0


def _concerns(scenario: scenarios.Scenario, language: Language) -> bool:
    return scenarios.OF_ONE_LANGUAGE.get(scenario, language.name) == language.name


_printing = threading.Lock()


def _play(scenario: scenarios.Scenario, language: Language, shared: Daemon, ordo: Path, folder: Path) -> int:
    """Returns how many failed."""
    name, start, why = scenario.__name__, time.monotonic(), ""
    try:
        alone = scenario in scenarios.ALONE
        daemon = Daemon(ordo, folder / f"{language.name}-{name}") if alone else shared
        world = World(name.replace("_", "-"), language, daemon, folder)
        try:
            scenario(world)
        finally:
            world.close()
            if alone:
                daemon.close()
    except Exception:
        why = traceback.format_exc()
    with _printing:
        took = time.monotonic() - start
        print(f"{language.name:<11}{name:<24}{took:>6.1f} s  {'FAILED' if why else 'passed'}", flush=True)
        if why:
            print(why, flush=True)
    return int(bool(why))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ordo", required=True, help="the binary of the server")
    parser.add_argument("--tools-python", required=True, help="a Python with pip, setuptools and mypy")
    parser.add_argument("--node-modules", required=True, help="the folder with TypeScript and the types of Node")
    parser.add_argument("--language", action="append", choices=sorted(MAKERS), help="only this one; may be repeated")
    parser.add_argument("--only", default="", help="scenarios whose name contains this")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())

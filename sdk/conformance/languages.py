"""The packages: built as they would be published, installed as a user would, and the programs that use them.

Invariant: nothing is imported from the sources. What runs is what came out of the wheel and of the npm package.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
SDK = HERE.parent
ROOT = SDK.parent


@dataclass(frozen=True)
class Tools:
    """Programs of others: a Python with mypy and setuptools, and the folder of TypeScript's modules."""

    python: Path
    node_modules: Path


@dataclass(frozen=True)
class Language:
    name: str
    worker: list[str]
    client: list[str]
    #: The worker of the package's README, as it stands there.
    five_lines: list[str]
    #: Holds the package and the programs that use it to their types.
    check_types: Callable[[], None]


def python(tools: Tools, work: Path) -> Language:
    folder = work / "python"
    source = _fresh_copy(SDK / "python", folder / "source")
    _do([tools.python, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet", "--no-deps",
         "--no-build-isolation", "--wheel-dir", folder, source])
    wheel = _only(folder.glob("*.whl"))
    assert wheel.name == f"ordo_sdk-{version()}-py3-none-any.whl", wheel.name
    _do([tools.python, "-m", "venv", "--without-pip", folder / "venv"])
    installed = folder / "venv/bin/python"
    _do([tools.python, "-m", "pip", "--disable-pip-version-check", "--python", installed, "install", "--quiet",
         "--no-index", "--no-deps", wheel])
    programs = _fresh_copy(HERE / "python", folder / "programs")
    (programs / "five_lines.py").write_text(_first_block(SDK / "python/README.md", "python"))
    names = ("worker", "client", "five_lines")
    mypy = [tools.python, "-m", "mypy", "--strict", "--cache-dir", tools.python.parent.parent / "mypy-cache"]

    def check_types() -> None:
        _do([*mypy, source / "src"])
        _do([*mypy, "--python-executable", installed, programs / "worker.py", programs / "client.py"])

    return Language("python", *([str(installed), str(programs / f"{name}.py")] for name in names), check_types)


def typescript(tools: Tools, work: Path) -> Language:
    folder = work / "typescript"
    source = _fresh_copy(SDK / "typescript", folder / "source")
    (source / "node_modules").symlink_to(tools.node_modules)
    tsc = tools.node_modules / ".bin/tsc"
    _do([tsc, "-p", source])
    (source / "node_modules").unlink()
    _do(["npm", "pack", "--silent", "--pack-destination", folder], source)
    package = _only(folder.glob("*.tgz"))
    assert package.name == f"ordo-sdk-{version()}.tgz", package.name
    programs = _fresh_copy(HERE / "typescript", folder / "programs")
    _do(["npm", "install", "--silent", "--no-audit", "--no-fund", "--offline", package], programs)
    (programs / "five_lines.ts").write_text(_first_block(SDK / "typescript/README.md", "ts"))
    for types in ("@types", "undici-types"):
        (programs / "node_modules" / types).symlink_to(tools.node_modules / types)
    names = ("worker", "client", "five_lines")
    # Its types are checked here: without them there is nothing to run.
    _do([tsc, "-p", programs])
    return Language("typescript", *(["node", str(programs / f"built/{name}.js")] for name in names), lambda: None)


MAKERS = {"python": python, "typescript": typescript}


def version() -> str:
    """The version of the workspace: the packages have the same."""
    found = re.search(r'^\[workspace\.package\]\nversion = "([^"]+)"', (ROOT / "Cargo.toml").read_text(), re.M)
    assert found, "Cargo.toml has no version"
    return found.group(1)


def check_sources() -> None:
    """What stands in several places is the same in all of them."""
    said = {
        "sdk/python/src/ordo/version.py": f'VERSION = "{version()}"',
        "sdk/typescript/src/version.ts": f'VERSION = "{version()}"',
    }
    for file, text in said.items():
        assert text in (ROOT / file).read_text(), f"{file} does not say {text}"
    for licence in ("LICENSE-MIT", "LICENSE-APACHE"):
        for package in ("python", "typescript"):
            same = (ROOT / licence).read_bytes() == (SDK / package / licence).read_bytes()
            assert same, f"sdk/{package}/{licence} is not the one of the project"


def _first_block(file: Path, language: str) -> str:
    found = re.search(rf"^```{language}\n(.*?)^```$", file.read_text(), re.M | re.S)
    assert found, f"{file} has no example in {language}"
    code = found.group(1)
    assert len([line for line in code.splitlines() if line.strip()]) <= 5, f"{file}: more than five lines"
    return code


def _fresh_copy(source: Path, to: Path) -> Path:
    left_out = shutil.ignore_patterns("node_modules", "dist", "build", "*.egg-info", "__pycache__", ".mypy_cache")
    shutil.copytree(source, to, ignore=left_out)
    return to


def _only(found: object) -> Path:
    files = list(found)  # type: ignore[call-overload]
    assert len(files) == 1, files
    return Path(files[0])


def _do(command: Sequence[object], folder: Path | None = None) -> None:
    done = subprocess.run(
        [str(part) for part in command], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True
    )
    if done.returncode != 0:
        raise AssertionError(f"{command}: {done.returncode}\n{done.stdout}{done.stderr}")

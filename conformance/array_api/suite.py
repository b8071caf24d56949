"""The standard's own test suite as a checkout on this machine: where it is, and which revision."""

import os
import subprocess
from pathlib import Path

#: The suite, and the text of the standard that it reads, in `array-api` inside it.
SOURCE = "https://github.com/data-apis/array-api-tests"
REVISION = "55fcc60179efa2680ddd6cd926ddf17b83530e2b"
STANDARD_REVISION = "5f847a3858875c682ae901aa22b0413bf24be9da"
#: The version of the standard that is tested.
VERSION = "2025.12"


class SuiteError(Exception):
    """There is no suite to run."""


def git(*arguments: str, cwd: Path | None = None) -> str:
    """What a command of git prints."""
    out = subprocess.run(["git", *arguments], cwd=cwd, capture_output=True, text=True)
    if out.returncode:
        raise SuiteError(f"git {' '.join(arguments)}: {out.stderr.strip()}")
    return out.stdout.strip()


def default_path() -> Path:
    """Where the suite is cloned to when no path is given."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "rustarr" / f"array-api-tests-{REVISION[:12]}"


def clone(path: Path) -> None:
    """Clones the suite at its pinned revision, with the standard's text."""
    path.mkdir(parents=True, exist_ok=True)
    try:
        git("init", "--quiet", cwd=path)
        git("fetch", "--quiet", "--depth=1", SOURCE, REVISION, cwd=path)
        git("checkout", "--quiet", "FETCH_HEAD", cwd=path)
        git("submodule", "--quiet", "update", "--init", "--depth=1", cwd=path)
    except SuiteError as error:
        raise SuiteError(f"{error}\nThe suite could not be cloned; give the path of a checkout with --suite.") from None


def differences(path: Path) -> list[str]:
    """What distinguishes a checkout from the pinned one."""
    found = []
    for folder, revision in ((path, REVISION), (path / "array-api", STANDARD_REVISION)):
        try:
            at = git("rev-parse", "HEAD", cwd=folder)
            changed = git("status", "--porcelain", "--untracked-files=no", "--ignore-submodules", cwd=folder)
        except (SuiteError, OSError) as error:
            found.append(f"{folder} is no checkout: {error}")
            continue
        if at != revision:
            found.append(f"{folder} is at {at}, not at {revision}")
        if changed:
            found.append(f"{folder} has changes: {changed.splitlines()[0].strip()}, ...")
    return found


def find(path: Path | None, any_revision: bool) -> tuple[Path, list[str]]:
    """The suite's folder, cloned if no path is given, and what distinguishes it from the pinned one.

    Raises
    ------
    SuiteError
        Without a suite, and for another revision unless any will do.
    """
    if path is None:
        path = default_path()
        if not (path / "array_api_tests").exists():
            clone(path)
    path = path.resolve()
    if not (path / "array_api_tests").is_dir():
        raise SuiteError(f"{path} has no folder array_api_tests: it is no checkout of {SOURCE}")
    found = differences(path)
    if found and not any_revision:
        raise SuiteError("\n".join([*found, "--any-revision runs it all the same."]))
    return path, found


def standard_text(path: Path) -> str:
    """The standard's text about its functions, with single spaces."""
    folder = path / "array-api" / "src" / "array_api_stubs" / f"_{VERSION.replace('.', '_')}"
    return " ".join(" ".join(file.read_text().split()) for file in sorted(folder.glob("*.py")))

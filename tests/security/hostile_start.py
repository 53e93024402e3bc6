"""Started by test_trust.py in a process of its own: load settings of many folders, report what happened meanwhile.

An audit hook sees every process, connection, environment change and file opened for writing that Python makes.
"""

import json
import os
import sys
from contextlib import suppress
from importlib import import_module

import msgspec

from holdfast.settings.errors import SettingsError
from holdfast.settings.load import Request, load
from holdfast.settings.sources import SettingsRoots
from holdfast.settings.trust import TrustStore
from holdfast.settings.trust_question import explain_untrusted, trust_question
from holdfast.settings.watch import Reloader

FORBIDDEN = (
    "subprocess.", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.startfile", "pty.", "socket.",
    "os.putenv", "os.unsetenv", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.symlink", "os.link",
    "os.truncate",
    "os.chmod", "os.chown", "os.kill", "ctypes.", "exec", "compile", "import",
)  # fmt: skip
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def main(folders: list[str], roots: SettingsRoots) -> None:
    seen: list[str] = []
    watching = False

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if not watching:
            return
        if event == "open":
            flags = arguments[2]
            if isinstance(flags, int) and flags & WRITING:
                seen.append(f"open for writing {arguments[0]!r}")
        elif event.startswith(FORBIDDEN):
            seen.append(f"{event} {arguments[:2]!r}")

    for name in ("hook_schema", "front_matter_hooks"):  # our own code, loaded with the first hook of a folder
        import_module(f"holdfast.settings.{name}")
    sys.addaudithook(hook)
    report: dict[str, object] = {}
    for folder in folders:
        os.chdir(folder)
        environment = dict(os.environ)
        seen.clear()
        watching = True
        outcome = start(folder, roots)
        watching = False
        report[folder] = {**outcome, "seen": list(seen), "environment": dict(os.environ) == environment}
    sys.stdout.write(json.dumps(report))


def start(folder: str, roots: SettingsRoots) -> dict[str, object]:
    request = Request(folder, roots, trust=TrustStore(roots.state, home=roots.home))
    try:
        settings = load(request)
    except SettingsError as error:
        with suppress(SettingsError):
            Reloader(request)
        return {"error": str(error)}
    question = trust_question(settings)
    explain_untrusted(settings)
    Reloader(request).refresh()
    return {
        "error": None,
        "trusted": settings.trusted,
        "mode": settings.default_mode,
        "allow": [rule.text for rule in settings.rules if rule.behavior == "allow"],
        "deny": [rule.text for rule in settings.rules if rule.behavior != "allow"],
        "directories": len(settings.directories),
        "hooks": len(settings.hooks),
        "env": [entry.name for entry in settings.env],
        "servers": [*settings.mcp_enabled, *(["all"] if settings.mcp_enable_all else [])],
        "keys": sorted(settings.merged.values),
        "sandbox": sorted(settings.sandbox),
        "question": question is not None,
    }


if __name__ == "__main__":
    given = json.loads(sys.stdin.read())
    main(given["folders"], msgspec.convert(given["roots"], SettingsRoots))

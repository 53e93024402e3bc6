"""The deterministic classifier of `auto` mode: which commands are too risky to run unasked, by named class."""

import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from holdfast.permissions.shell.programs.options import subcommand_places
from holdfast.permissions.shell.programs.program import by_subcommand, having, roles_of, runs_code, told, words_told
from holdfast.permissions.shell.risk.outward import (
    builds_request,
    deploys,
    opens_container,
    posts,
    shows_secret,
    stays_here,
)
from holdfast.permissions.shell.risk.removals import critical_removal
from holdfast.permissions.shell.text.analysis import Analysis
from holdfast.permissions.shell.words.parts import Part
from holdfast.permissions.shell.words.word import has_option, names


class Risk(NamedTuple):
    """One class of risk."""

    name: str
    words: str


PRIVILEGE: Final = Risk("privilege", "runs with other rights")
DELETES: Final = Risk("deletes-outside", "deletes files outside the working directory")
CRITICAL: Final = Risk("critical-removal", "removes something that cannot be brought back")
HISTORY: Final = Risk("history-rewrite", "rewrites or throws away repository history")
PUBLISHES: Final = Risk("publishes", "publishes to other people")
REMOTE_CODE: Final = Risk("remote-code", "runs code fetched from the network")
CREDENTIALS: Final = Risk("credentials", "touches credentials")
SYSTEM: Final = Risk("system-config", "changes the system's configuration")
KILLS: Final = Risk("kills-processes", "stops other processes")
DEVICES: Final = Risk("disk-devices", "writes to disks or devices")
EXFILTRATION: Final = Risk("network-exfiltration", "may send files to another machine")
PERMISSIONS: Final = Risk("permission-widening", "widens file permissions")
HOOKS: Final = Risk("git-config", "changes git configuration or hooks")
DAEMON: Final = Risk("background", "leaves something running or scheduled")
HIDDEN: Final = Risk("hidden", "cannot be understood before it runs")
INFRASTRUCTURE: Final = Risk("infrastructure", "changes running infrastructure")
DEPLOYS: Final = Risk("deploys", "deploys, releases or migrates")
CONTAINER: Final = Risk("container", "gives a container the rights or files of this machine")
TRACKED: Final = Risk("tracked-tree", "removes files that are under version control")
DATABASE: Final = Risk("database", "destroys data in a database")

_BY_ROLE: Final = {
    "privilege": PRIVILEGE, "devices": DEVICES, "kills": KILLS, "system": SYSTEM, "sends": EXFILTRATION,
    "schedules": DAEMON, "vault": CREDENTIALS,
}  # fmt: skip
"""What a program is by its role, whatever its words are."""
_PRINTS_ALL: Final = ("it prints the whole environment", "it prints every variable")
_DECLARES: Final = names("export declare typeset readonly")
_DELETES: Final = having("deletes") | {"mv"}
_CHANGES_NAMED: Final = having("deletes", "places", "rewrites") | {"truncate"}
_SECRET_PATHS: Final = re.compile(
    r"(?:^|/)(?:\.ssh|\.gnupg|\.aws|\.azure|\.kube|\.docker/config\.json|\.netrc|\.npmrc|\.pypirc|\.git-credentials|"
    r"\.env(?:\.[A-Za-z0-9_-]+)?|id_(?:rsa|ed25519|ecdsa|dsa)|\.config/gh|\.password-store|shadow|sudoers|credentials)"
    r"(?:/|$)"
)

_GOVERNING: Final = re.compile(r"(?:^|/)\.git/(?:hooks|config)(?:/|$)|(?:^|/)\.gitconfig$|(?:^|/)\.husky(?:/|$)")
_SYSTEM_PATHS: Final = re.compile(r"/(?:etc|boot|usr|bin|sbin|lib|lib64|sys|proc|var/spool/cron)(?:/|$)")
_RC_FILES: Final = re.compile(r"(?:^|/)\.(?:bashrc|bash_profile|profile|zshrc|zprofile|zshenv|login|cshrc)$")
_WIDE_MODE: Final = re.compile(r"0?[0-7]?[0-7][0-7][2367]$|[augo]*o?[+=][rx]*w|.*\+s|[24567][0-7]{3}$|a\+|777|666")
_SQL: Final = re.compile(
    r"\b(?:drop\s+(?:table|database|schema)|truncate\s+table|delete\s+from|dropDatabase)\b", re.IGNORECASE
)
_UPLOADS: Final = names("-T --upload-file -d --data --data-binary --data-raw --data-urlencode -F --form --json")
_PUBLISH: Final = words_told("publishes")
_GIT_SENDS: Final = by_subcommand(_PUBLISH)
_GIT_LOSES: Final = by_subcommand({name: tuple(text.split()) for name, text in told("loses").items()})
_GH_PUBLIC: Final = frozenset({"create", "merge", "close", "delete", "comment", "edit", "review", "upload", "transfer"})
_INFRASTRUCTURE: Final = words_told("operates")


def high_risk(analysis: "Analysis", *, cwd: str | None = None) -> str | None:
    """Say why `auto` mode must ask, as "class: words", or None when it may run."""
    found = next(iter(risks(analysis, cwd=cwd)), None)
    return None if found is None else f"{found.name}: {found.words}"


def risks(analysis: "Analysis", *, cwd: str | None = None) -> list[Risk]:
    """Find every class of risk, the gravest first."""
    if analysis.read_only:
        return []
    found: list[Risk] = []
    if critical_removal(analysis, cwd=cwd) is not None:
        found.append(CRITICAL)
    if "fetches" in analysis.effects.classes and _pipes_to_interpreter(analysis):
        found.append(REMOTE_CODE)
    if analysis.doubt:
        found.append(HIDDEN)
    found.extend(risk for part in analysis.parts for check in _CHECKS if (risk := check(part)) is not None)
    found.extend(_beyond(analysis, cwd))
    for redirect in analysis.redirect_writes:
        if redirect.target is not None:
            risk = _path_risk(redirect.target.text) or _outside(redirect.target.text, SYSTEM)
            if risk is not None:
                found.append(risk)
    return list(dict.fromkeys(found))


def _beyond(analysis: "Analysis", cwd: str | None) -> "Iterator[Risk]":
    for part in analysis.parts:
        if builds_request(part, analysis.values):
            yield EXFILTRATION
        if opens_container(part, cwd):
            yield CONTAINER
    if "whose name says it is a secret" in analysis.reason and any(
        item.kind == "heredoc" for item in analysis.redirects
    ):
        yield CREDENTIALS


def _pipes_to_interpreter(analysis: "Analysis") -> bool:
    fetched = False
    for part in analysis.parts:
        roles = roles_of(part.name)
        fetched = fetched or "fetches" in roles
        if fetched and (runs_code(part.name) or "evaluates" in roles):
            return True
        if fetched and part.texts and part.texts[0].startswith(("./", "/tmp/", "~/")):  # noqa: S108 - what was fetched
            return True
    return False


def _arguments(part: "Part") -> list[str]:
    return [word.text for word in part.argv[1:]]


def _named(part: "Part") -> Risk | None:
    name, roles = part.name, roles_of(part.name)
    found = next((risk for role, risk in _BY_ROLE.items() if role in roles), None)
    if found is None and ((part.refusal or "").startswith(_PRINTS_ALL) or "--export-secret-keys" in part.texts):
        return CREDENTIALS
    of_device = name == "dd" and any(text.startswith("of=/dev/") for text in _arguments(part))
    return DEVICES if found is None and (of_device or name.startswith("mkfs")) else found


def _git(part: "Part") -> Risk | None:
    if part.name != "git":
        return None
    args = _arguments(part)
    found = (_git_operation(args[at - 1], args) for at in subcommand_places("git", ["", *args]))
    return next(filter(None, found), None) or _git_settings("", args)


def _git_operation(operation: str, args: list[str]) -> Risk | None:
    if operation == "push":
        forced = any(text.startswith(("--force", "-f", "+", "--delete", "--mirror", "--prune", ":")) for text in args)
        return HISTORY if forced else PUBLISHES
    if any(_says(args, word) for word in _GIT_LOSES.get(operation, ())):
        return HISTORY
    return _git_settings(operation, args)


def _says(args: list[str], word: str) -> bool:
    """Whether a word of an entry is among these; `-f*` is whatever begins so, `*` stands for no word at all."""
    return word == "*" or word in args or (word[-1] == "*" and any(text.startswith(word[:-1]) for text in args))


def _git_settings(operation: str, args: list[str]) -> Risk | None:
    if operation == "send-email" or (operation in _GIT_SENDS and not _GIT_SENDS[operation].isdisjoint(args)):
        return PUBLISHES
    if operation == "rm" and has_option(["", *args], "rR", "--recursive"):
        return TRACKED
    if operation == "config" or any(
        text in ("-c", "--exec-path") or text.startswith("--exec-path=") for text in args[:4]
    ):
        return HOOKS
    if operation in ("remote", "submodule") and any(text in ("add", "set-url", "foreach", "update") for text in args):
        return HOOKS
    if operation in ("rebase", "bisect") and any(text in ("-x", "--exec", "run", "--root") for text in args):
        return HISTORY
    return None


def _publishing(part: "Part") -> Risk | None:
    args = _arguments(part)
    places = subcommand_places(part.name, ["", *args]) if args[:1] and args[0][:1] == "-" else [1]
    return next(filter(None, (_published(part, args[at - 1 :]) for at in (1, *places))), None)


def _published(part: "Part", args: list[str]) -> Risk | None:
    if args[:2] == ["compose", "down"] and not {"-v", "--volumes"}.isdisjoint(args):
        return DATABASE
    if part.name.startswith("python") and args[:3] == ["-m", "twine", "upload"]:
        return PUBLISHES
    if part.name in _PUBLISH and not _PUBLISH[part.name].isdisjoint(args[:2]):
        return PUBLISHES
    if "forge" in roles_of(part.name) and (not _GH_PUBLIC.isdisjoint(args[1:2]) or args[:1] == ["api"]):
        return PUBLISHES
    if "logs-in" in roles_of(part.name) and args[:1] in (["auth"], ["login"], ["token"]):
        return CREDENTIALS
    return _infrastructure(part, args)


def _infrastructure(part: "Part", args: list[str]) -> Risk | None:
    if part.name in _INFRASTRUCTURE:
        wanted = _INFRASTRUCTURE[part.name]
        if not wanted or not wanted.isdisjoint(args[:2]):
            return INFRASTRUCTURE
    if "database" in roles_of(part.name):
        text = " ".join(args)
        if part.name == "dropdb" or _SQL.search(text) or "FLUSH" in text.upper():
            return DATABASE
    return None


def _outward(part: "Part") -> Risk | None:
    if deploys(part):
        return DEPLOYS
    if posts(part):
        return PUBLISHES
    lists_all = part.name in _DECLARES and all(text[:1] == "-" for text in part.texts[1:])
    return CREDENTIALS if lists_all or shows_secret(part) else None


def _network(part: "Part") -> Risk | None:
    if "fetches" not in roles_of(part.name) or stays_here(part):
        return None
    args = _arguments(part)
    if any(text in _UPLOADS or text.startswith(("--data", "--upload", "--post-", "-d@", "-F", "-T")) for text in args):
        return EXFILTRATION
    if any(
        not {text, text[2:], text.partition("=")[2]}.isdisjoint(("POST", "PUT", "DELETE", "PATCH")) for text in args
    ):
        return EXFILTRATION
    return None


def _permissions(part: "Part") -> Risk | None:
    if part.name == "chmod" and any(_WIDE_MODE.match(text) for text in _arguments(part)[:3]):
        return PERMISSIONS
    if part.name != "chmod" and "modes" in roles_of(part.name):
        return PERMISSIONS
    return None


def _paths(part: "Part") -> Risk | None:
    for text in _arguments(part):
        risk = _path_risk(text)
        if risk is not None:
            return risk
    changes = part.writes or (_arguments(part) if part.name in _CHANGES_NAMED else ())
    for path in changes:
        risk = _outside(path, DELETES if part.name in _DELETES or part.kind == "remove" else SYSTEM)
        if risk is not None:
            return risk
    return None


def _path_risk(text: str) -> Risk | None:
    if _SECRET_PATHS.search(text):
        return CREDENTIALS
    if _GOVERNING.search(text):
        return HOOKS
    if _RC_FILES.search(text):
        return SYSTEM
    return None


def _outside(path: str, risk: Risk) -> Risk | None:
    if _SYSTEM_PATHS.match(path):
        return risk
    if risk is DELETES and (path.startswith(("/", "~", "..")) and not path.startswith(("/tmp/", "/var/tmp/"))):  # noqa: S108
        return risk
    return None


def _hidden(part: "Part") -> Risk | None:
    if part.dynamic_name or "evaluates" in roles_of(part.name):
        return HIDDEN
    if part.name == "rm" and has_option(part.texts, "rR", "--recursive"):
        # Nothing of the name is known: `rm -rf "$X"`.
        unknown = (word for word in part.argv[1:] if not word.static and not word.text and not word.glob)
        if next(unknown, None) is not None:
            return HIDDEN
    if part.name == "xargs" or part.more:
        return None if roles_of(part.name).isdisjoint(("deletes", "shell")) else HIDDEN
    return None


_CHECKS: Final["tuple[Callable[[Part], Risk | None], ...]"] = (
    _named,
    _git,
    _publishing,
    _outward,
    _network,
    _permissions,
    _paths,
    _hidden,
)

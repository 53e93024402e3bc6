"""What reaches beyond the project: deploys, migrations, containers that get the host, requests that carry output."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from holdfast.permissions.shell.programs.options import after_global_options
from holdfast.permissions.shell.programs.program import having, roles_of, words_told
from holdfast.permissions.shell.text.analysis import Analysis
from holdfast.permissions.shell.words.parts import Part
from holdfast.permissions.shell.words.word import is_secret, names

_DEPLOYS: Final = words_told("deploys")
"""Programs that put something into use, and the words with which they do; none: always."""
_SCRIPTS: Final = re.compile(
    r"(?:.*[:_./-])?(?:deploy|release|publish|migrate)"
    r"(?:[:_.-](?!.*(?:notes|docs|status|check|dry|list|lint|plan|history|help)).*)?\Z"
)
_MIGRATES: Final = re.compile(
    r"db:(?!version|migrate:status|abort)|migrat\w*(?::(?!status)|\Z)|ecto\.(?:drop|migrate|reset|rollback)"
)
_SHOWS_ONLY: Final = names("--help -h --version --dry-run --snapshot")
_LOOKS: Final = names("list ls show view status diff history current info check validate resolve")
"""Words behind which a migration, a secret or a deployment is only looked at."""
_FORGE_LOCAL: Final = names("search status browse help completion config alias version")
_FORGE_LOOKS: Final = names("list view status diff checks watch download checkout clone set-default ls trace verify")
_NAMESPACES: Final = ("--net", "--network", "--pid", "--ipc", "--uts", "--userns", "--cgroupns")
_WIDE: Final = ("--privileged", "--cap-add", "--device", "--security-opt", "--volumes-from")
_BINDS: Final = ("--volume", "--mount")
_BIND_CLUSTER: Final = re.compile(r"-[itdP]*v(.*)\Z", re.DOTALL)
_SOURCE: Final = re.compile(r"(?:^|,)(?:source|src)=([^,]*)")
_HERE: Final = ("$PWD", "${PWD}", "$(pwd)", "`pwd`")
_SHOWS: Final = having("prints-words", "fetches") | {"tee"}
_SUBSTITUTED: Final = ("$(", "`", "<(", "${<}")
"""What another command prints, and what `read` takes from its input."""
_NAMED: Final = re.compile(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)")
_LOOPBACK: Final = re.compile(r"(?:https?://)?(?:localhost|127(?:\.[0-9]{1,3}){3}|\[::1\])(?::[0-9]{1,5})?(?:[/?]|\Z)")
_CURL_CLUSTER: Final = re.compile(r"-[sSfivkNgG]*(?:([XdHmwFuA])(.*))?\Z", re.DOTALL)
_CURL_LONG: Final = names("--silent --show-error --fail --include --verbose --insecure --no-buffer --compressed --get")
_CURL_VALUED: Final = names(
    "--request --data --data-raw --data-binary --data-urlencode --header --max-time --connect-timeout --write-out"
    " --json --form --user --user-agent --retry --retry-delay"
)
_SENDING: Final = re.compile(
    r"-[sSfivkNgG]*(?:[dF]|X(?!GET\Z|HEAD\Z|\Z)).*|--(?:data|json|form|request|upload).*", re.DOTALL
)
_LOOKING: Final = words_told("looks")
"""Programs that only look when this is their first word, or these are their first two; none: always."""
_KILLS: Final = re.compile(r"-(?:[^-]*K|-k)")
"""`ss -K` closes connections of others."""
_SQL_LOOKS: Final = re.compile(r"\s*(?:select\b|explain\b|\.(?:tables|schema)\b)[^;]*;?\s*\Z", re.IGNORECASE)
_SQL_ACTS: Final = re.compile(r"writefile|load_extension|\bedit\s*\(|fts3_tokenizer|\battach\b", re.IGNORECASE)
_SQL_OPTIONS: Final = names("-readonly -header -noheader -column -json -csv -line -list -table -box -markdown -batch")


def only_looks(analysis: "Analysis") -> bool:
    """Whether every command is proven to read or is a mere question, and nothing is written: a person may say yes."""
    if analysis.doubt or analysis.assigned or analysis.redirect_writes or not analysis.parts:
        return False
    return analysis.only_commands and all(part.refusal is None or _asks_only(part) for part in analysis.parts)


def _asks_only(part: "Part") -> bool:
    if not part.certain_text or part.writes or part.assigns or not part.texts or part.texts[0] != part.name:
        return False
    words = list(part.texts[1:])
    if part.name == "curl":
        return stays_here(part) and not any(map(_SENDING.match, words)) and "-X" not in words
    if part.name == "sqlite3":
        told = [word for word in words if word not in _SQL_OPTIONS]
        looks = len(told) == 2 and told[0][:1] != "-" and _SQL_LOOKS.match(told[1])
        return bool(looks) and not _SQL_ACTS.search(told[1])
    looks = _LOOKING.get(part.name)
    if looks is not None and not looks:
        return not any(map(_KILLS.match, words))
    if part.name == "go" and any(word[:1] == "-" for word in words):
        return False  # `go env -w` writes, `go list -toolexec` starts programs
    if "forge" in roles_of(part.name) and not {"-w", "--web"}.isdisjoint(words):
        return False  # it opens a browser
    return bool(words[:1] and looks and not looks.isdisjoint((words[0], ":".join(words[:2]))))


def deploys(part: "Part") -> bool:
    """Whether a command puts something into use, or changes the shape of a database."""
    words = _plain(part)
    if not words or not _SHOWS_ONLY.isdisjoint(words):
        return False
    told = [words[0], *(word.removeprefix("./") for word in words[1:] if word[:1] != "-")]
    if "script-runner" not in roles_of(told[0]) and not told[0].startswith("python"):
        return _puts_into_use(told)
    # `yarn prisma db push`, `bundle exec rails db:drop`: what is started stands among the first words.
    return any(_puts_into_use(told[at:]) for at in range(min(3, len(told))))


def _puts_into_use(words: list[str]) -> bool:
    name, args = words[0].rpartition("/")[2].partition("@")[0], words[1:]
    known = _DEPLOYS.get(name)
    if known is not None and (not known or (name == "vercel" and not args)):
        return True
    if known is not None:
        found = next((at for at, word in enumerate(args[:3]) if word in known), None)
        if found is not None and args[found + 1 : found + 2] and args[found + 1] in _LOOKS:
            return False
        if found is not None:
            return True
    if name == "heroku" and args and ":" in args[0]:
        return True
    if "migrator" in roles_of(name) and any(_MIGRATES.match(word) for word in args):
        return True
    return "script-runner" in roles_of(name) and any(_SCRIPTS.match(word) for word in args[:3])


def posts(part: "Part") -> bool:
    """Whether a command speaks to other people as the user, or changes what others work with."""
    if "posts" in roles_of(part.name):
        return True
    if "forge" not in roles_of(part.name):
        return False
    words = _plain(part)[1:]
    told = [word for word in words[after_global_options(part.name, ["", *words]) - 1 :] if word[:1] != "-"]
    return len(told) > 1 and told[0] not in _FORGE_LOCAL and told[1] not in _FORGE_LOOKS


def opens_container(part: "Part", cwd: str | None) -> bool:
    """Whether a container is given the host: its rights, its namespaces, or a directory outside."""
    if "container" not in roles_of(part.name):
        return False
    words = [text.strip("\"'") for text in part.texts[1:]]
    for at, word in enumerate(words):
        name, _, glued = word.partition("=")
        value = glued or (words[at + 1] if at + 1 < len(words) else "")
        if name in _WIDE and glued != "false":
            return True
        if name in _NAMESPACES and value.startswith(("host", "container:")):
            return True
        if name in _BINDS and _is_outside(value, cwd):
            return True
        cluster = _BIND_CLUSTER.match(word)
        if cluster is not None and _is_outside(cluster[1].removeprefix("=") or value, cwd):
            return True
    return False


def _is_outside(bind: str, cwd: str | None) -> bool:
    found = _SOURCE.search(bind)
    source = found[1] if found else bind.partition(":")[0]
    source = source.strip("\"'")
    if source.startswith(_HERE):
        return ".." in source
    if cwd is not None and (source == cwd or source.startswith(f"{cwd}/")):
        return ".." in source
    return source[:1] in ("/", "~", "$", "`") or ".." in source


def builds_request(part: "Part", values: "Mapping[str, Sequence[str]]") -> bool:
    """Whether a request carries what another command printed: in its address, a header or its body."""
    if "fetches" not in roles_of(part.name):
        return False
    if part.more:
        return True  # what xargs hands on
    told = _filled(values)
    for word, text in zip(part.argv[1:], part.texts[1:], strict=True):
        if word.static or _LOOPBACK.match(text.strip("\"'")):
            continue
        if any(mark in text for mark in _SUBSTITUTED) or not told.isdisjoint(_NAMED.findall(text)):
            return True
    return False


def _filled(values: "Mapping[str, Sequence[str]]") -> set[str]:
    """The variables that the text fills from another command, from its input or from such a variable."""
    found: set[str] = set()
    for _ in range(len(values)):
        before = len(found)
        for name, texts in values.items():
            if any(mark in text for text in texts for mark in _SUBSTITUTED) or any(
                not found.isdisjoint(_NAMED.findall(text)) for text in texts
            ):
                found.add(name)
        if len(found) == before:
            break
    return found


def shows_secret(part: "Part") -> bool:
    """Whether a command prints or sends a variable whose name says that it is a secret."""
    if part.name == "printenv":
        return any(map(is_secret, part.texts[1:]))
    shown = [item.target for item in part.redirects if item.kind == "herestring" and item.target is not None]
    if part.name in _SHOWS:
        shown += part.argv
    return any(word.secret for word in shown)


def writes_scratch(part: "Part") -> bool:
    """Whether a program only puts down what it is told to, so that it may do so among temporary files."""
    return "scratch" in roles_of(part.name)


def stays_here(part: "Part") -> bool:
    """Whether every address that a request names is this machine's own, and nothing leads it elsewhere."""
    if part.name != "curl" or not part.certain_text:
        return False
    found, words = False, iter(part.texts[1:])
    for word in words:
        cluster = _CURL_CLUSTER.match(word)
        if word in ("-o", "--output"):
            if next(words, None) != "/dev/null":
                return False
        elif word in _CURL_VALUED or (cluster is not None and cluster[1] and not cluster[2]):
            if next(words, None) is None:
                return False
        elif word in _CURL_LONG or cluster is not None:
            continue
        elif _LOOPBACK.match(word):
            found = True
        else:
            return False
    return found


def _plain(part: "Part") -> list[str]:
    """The words, the program without its directory."""
    return [part.name, *part.texts[1:]] if part.texts and part.name else []

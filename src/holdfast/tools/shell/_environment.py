"""What commands see as their environment: ours, what the user's login shell adds, nothing that steers bash itself."""

import asyncio
import logging
import os
from collections.abc import Callable, Mapping
from typing import NamedTuple

from holdfast.host.child_env import Scrub, child_environment
from holdfast.host.command import Command, StartError
from holdfast.host.processes import Processes
from holdfast.host.programs import find_program, own_programs, paths_outside

__all__ = ["LoginShell", "ShellEnvironment"]

_log = logging.getLogger(__name__)
_LIMIT_S = 5.0
_LIMIT_BYTES = 1 << 20
_SHELLS = frozenset({"bash", "zsh", "sh", "dash", "ksh", "fish"})
_BEGIN = b"\0holdfast-environment\0"
_FUNCTIONS = b"\0holdfast-functions\0"
_ALIASES = b"\0holdfast-aliases\0"
_BODIES = b"\0holdfast-bodies\0"
_TAKE = "printf '\\0holdfast-environment\\0'; env -0; printf '\\0holdfast-functions\\0'"
_TAKE_FUNCTIONS = (
    "; declare -F; printf '\\0holdfast-aliases\\0'; alias -p; printf '\\0holdfast-bodies\\0'; alias -p; declare -f"
)
# These change how bash reads a text or what it runs before it, so the text would not be the one that was analysed.
_STEERS_BASH = (
    "BASH_ENV",
    "ENV",
    "SHELLOPTS",
    "BASHOPTS",
    "CDPATH",
    "GLOBIGNORE",
    "EXECIGNORE",
    "BASH_COMPAT",
    "BASH_LOADABLES_PATH",
    "BASH_XTRACEFD",
    "POSIXLY_CORRECT",
    "PROMPT_COMMAND",
    "PS4",
    "TMOUT",
)
_OF_ONE_SHELL = frozenset({"PWD", "OLDPWD", "SHLVL", "_", "PS1", "PS2", *_STEERS_BASH})
_OURS = "HOLDFAST_"
_SYSTEM_PATH = "/usr/bin:/bin"
_KEPT_PATHS = 8
_EXPORTED_FUNCTION = "BASH_FUNC_"


class LoginShell(NamedTuple):
    """What the user's login shell knows beyond our own environment."""

    variables: Mapping[str, str]
    names: frozenset[str] = frozenset()
    """Functions and aliases."""
    definitions: str = ""
    """Their text."""


_NOTHING = LoginShell({})


class ShellEnvironment:
    """Makes the environment of each command. The login shell is asked once, when the first command needs it."""

    def __init__(
        self,
        *,
        scrub: Scrub = Scrub.CREDENTIALS,
        given: Mapping[str, str] | None = None,
        login: bool = True,
        functions: bool = False,
        is_trusted: Callable[[], bool] | None = None,
        definitions_file: Callable[[], str] | None = None,
        roots: Callable[[], tuple[str, ...]] | None = None,
    ) -> None:
        """Choose what commands see.

        Args:
            scrub: What of our own environment is kept from them.
            given: What the settings set for them.
            login: Whether the user's login shell is asked.
            functions: Whether its functions and aliases are there, too.
            is_trusted: The login shell is asked only once this says yes.
            definitions_file: Where the functions may be written down.
            roots: The directories we work in, as they are now: what lies there is no program that we may run unasked.
        """
        self._given = given or {}
        self.base = child_environment(scrub=scrub, given=self._given)
        self._scrub = scrub
        self._asks_login = login
        self.has_functions = functions and definitions_file is not None
        """Whether functions and aliases of the user are in use."""
        self._definitions_file = definitions_file
        self._is_trusted = is_trusted or _always
        self._roots = roots or _here
        self._login: LoginShell | None = None
        self._asking: asyncio.Future[LoginShell] | None = None
        self._variables: dict[str, str | None] | None = None
        self._unasked: dict[str, str | None] | None = None
        self._outside: dict[tuple[object, ...], dict[str, str | None]] = {}
        self._of_hooks: dict[str, str] = {}

    def give(self, variables: Mapping[str, str]) -> None:
        """From now on commands see these, too, as a hook at the session's start wants it."""
        self._of_hooks.update((name, value) for name, value in variables.items() if name not in _OF_ONE_SHELL)
        self._variables = self._unasked = None
        self._outside.clear()

    @property
    def shadowed(self) -> frozenset[str]:
        """Names that are functions or aliases, so that the text does not tell what they run."""
        return frozenset() if self._login is None or not self.has_functions else self._login.names

    @property
    def names(self) -> frozenset[str]:
        """The variables that commands see, as far as the login shell was asked already."""
        login = () if self._login is None else self._login.variables
        return frozenset({*self.base, *login, *self._of_hooks})

    async def variables(
        self, processes: Processes, *, unasked: bool, own_word: bool = False, roots: tuple[str, ...] | None = None
    ) -> Mapping[str, str | None]:
        """What to add to the environment of a command, and (None) what to take away.

        Args:
            processes: Where the login shell is started.
            unasked: The command runs on the strength of our own analysis: programs may start no helpers.
            own_word: Nobody but us let it run: programs inside the directories we work in are not found by name.
            roots: Those directories, where whoever calls has others than the session.
        """
        if self._login is None and self._asks_login:
            await self.prepare(processes)
        made = self._made(unasked=unasked)
        if not own_word:
            return made
        return self._without_own_programs(made, unasked=unasked, roots=self._roots() if roots is None else roots)

    async def prepare(self, processes: Processes) -> None:
        """Ask the login shell, if that was not done yet and may be done."""
        if self._login is not None or not self._asks_login or not self._is_trusted():
            return
        if self._asking is None or self._asking.done():
            self._asking = asyncio.ensure_future(
                _ask_login_shell(processes, functions=self.has_functions, roots=self._roots())
            )
        # Commands that start together share one question; one that is cancelled does not take it from the others.
        login = await asyncio.shield(self._asking)
        if self._login is None:
            self._login = login
            self._variables = self._unasked = None
            self._outside.clear()

    def _made(self, *, unasked: bool) -> dict[str, str | None]:
        if self._variables is None:
            self._variables = self._make()
        if not unasked:
            return self._variables
        if self._unasked is None:
            from holdfast.permissions.shell.reach.git_config import unasked_environment  # noqa: PLC0415 - loaded by then

            self._unasked = {**self._variables, **unasked_environment((*self.base, *self._variables))}
        return self._unasked

    def _without_own_programs(
        self, made: dict[str, str | None], *, unasked: bool, roots: tuple[str, ...]
    ) -> dict[str, str | None]:
        key = (unasked, roots)
        found = self._outside.get(key)
        if found is None:
            path = self._path(made)
            kept = os.pathsep.join(paths_outside(key[1], path, but=own_programs()))
            found = made if kept == path else {**made, "PATH": kept or _SYSTEM_PATH}
            if len(self._outside) >= _KEPT_PATHS:
                self._outside.clear()
            self._outside[key] = found
        return found

    def left_out(self, seen: Mapping[str, str | None]) -> list[str]:
        """The entries of PATH that a command with these variables did not see because nobody was asked about it."""
        kept = self._path(seen).split(os.pathsep)
        return [entry for entry in self._path(self._made(unasked=False)).split(os.pathsep) if entry not in kept]

    def _path(self, made: Mapping[str, str | None]) -> str:
        return made.get("PATH") or self.base.get("PATH", os.defpath)

    def _make(self) -> dict[str, str | None]:
        login = self._login or _NOTHING
        made: dict[str, str | None] = dict.fromkeys(
            [name for name in self.base if name in _STEERS_BASH or name.startswith(_EXPORTED_FUNCTION)]
        )
        known = {**self.base, **login.variables, **self._of_hooks}
        merged = child_environment(known, scrub=self._scrub, given={**self._given, **self._of_hooks})
        for name, value in merged.items():
            is_new = self.base.get(name) != value
            if is_new and name not in _OF_ONE_SHELL and not name.startswith((_OURS, _EXPORTED_FUNCTION)):
                made[name] = value
        path = merged.get("PATH", "")
        # A relative entry would let the project decide what `cat` is.
        absolute = os.pathsep.join(entry for entry in path.split(os.pathsep) if os.path.isabs(entry))
        if absolute != path:
            made["PATH"] = absolute or os.defpath.removeprefix(f".{os.pathsep}")
        if self.has_functions and login.definitions and self._definitions_file is not None:
            made["BASH_ENV"] = _write_definitions(self._definitions_file(), login.definitions)
        return made


def _always() -> bool:
    return True


def _here() -> tuple[str, ...]:
    return (os.getcwd(),)


async def _ask_login_shell(processes: Processes, *, functions: bool, roots: tuple[str, ...]) -> LoginShell:
    wanted = os.environ.get("SHELL", "")
    name = os.path.basename(wanted)
    shell = find_program(name, outside=roots, path=os.path.dirname(wanted)) if name in _SHELLS else None
    if shell is None:
        return _NOTHING
    takes_functions = functions and name == "bash"
    script = _TAKE + (_TAKE_FUNCTIONS if takes_functions else "")
    home = os.path.expanduser("~")
    command = Command(
        argv=[shell, "-l", "-c", script],
        cwd=home if os.path.isdir(home) else "/",
        kept_bytes=_LIMIT_BYTES,
        timeout_s=_LIMIT_S,
        kill_grace_s=0.2,
        label="login shell",
    )
    try:
        finished = await processes.run(command)
    except StartError as error:
        _log.warning("the login shell %r could not be asked: %s", shell, error)
        return _NOTHING
    head, dropped, tail = finished.output.stdout.kept()
    if finished.exit.timed_out or dropped or _BEGIN not in head + tail:
        _log.warning("the login shell %r gave no environment within %s s; ours is used", shell, _LIMIT_S)
        return _NOTHING
    return _read(head + tail)


def _read(data: bytes) -> LoginShell:
    environment, _, rest = data.partition(_BEGIN)[2].partition(_FUNCTIONS)
    variables: dict[str, str] = {}
    for entry in environment.split(b"\0"):
        name, equals, value = entry.partition(b"=")
        if name and equals:
            variables[os.fsdecode(name)] = os.fsdecode(value)
    functions, _, rest = rest.partition(_ALIASES)
    aliases, _, bodies = rest.partition(_BODIES)
    names = {line.split(" ")[-1] for line in functions.decode("utf-8", "replace").splitlines()}
    for line in aliases.decode("utf-8", "replace").splitlines():
        if line.startswith("alias "):
            names.add(line.removeprefix("alias ").removeprefix("-- ").partition("=")[0])
    return LoginShell(variables, frozenset(names), bodies.decode("utf-8", "replace"))


def _write_definitions(path: str, definitions: str) -> str:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
        file.write(f"shopt -s expand_aliases\n{definitions}\n")
    return path

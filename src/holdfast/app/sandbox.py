"""From settings and rights to the sandbox of a session: what each command may write, read and reach."""

import contextlib
import os
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Final

import msgspec

from holdfast.app.lookout import Lookout, denial
from holdfast.contract import ToolContext, ToolFailed
from holdfast.host.command import Command, StartError
from holdfast.host.programs import current_folder
from holdfast.lib.names import show_name
from holdfast.permissions import CallFacts, PermissionContext, RuleSource, decide
from holdfast.permissions.rules.grammar import parse_rules
from holdfast.settings import Settings
from holdfast.settings.layout import find_layout
from holdfast.settings.sandbox import SandboxSettings, sandbox_of

if TYPE_CHECKING:
    from holdfast.app.network import DomainBorder, Turned
    from holdfast.app.rights import Rights
    from holdfast.host.sandbox import Found, Policy, Wall
    from holdfast.host.sandbox.alone import LoneWall
    from holdfast.host.sandbox.wall import Entered

__all__ = ["WEAKNESS", "SandboxKit", "sandbox_for_once", "sandbox_problem", "sandbox_weakness"]


@contextlib.contextmanager
def sandbox_for_once(rights: "Rights") -> "Generator[SandboxKit]":
    """The sandbox of something that is no session; what it needs goes with it."""
    import tempfile  # noqa: PLC0415 - only here

    from holdfast.settings.directories import user_directories  # noqa: PLC0415 - only where there is no session

    with tempfile.TemporaryDirectory(prefix="holdfast-") as temporary:
        kit = SandboxKit(
            lambda: rights.settings,
            lambda: rights.permissions,
            temporary=lambda: temporary,
            journal=os.path.join(user_directories().state, "sandbox"),
        )
        try:
            yield kit
        finally:
            kit.end()


def sandbox_problem(settings: Settings) -> str:
    """Why the sandbox that the settings ask for cannot work here; empty when it can, or none is asked for."""
    wanted = sandbox_of(settings)
    if not wanted.enabled:
        return ""
    from holdfast.host.sandbox import NotAvailable  # noqa: PLC0415 - only where a sandbox is wanted

    try:
        _find(wanted)
    except NotAvailable as problem:
        return "" if _weak_version(wanted) else str(problem)
    return ""


def sandbox_weakness(settings: Settings) -> str:
    """What the sandbox that the settings ask for does not promise here although it works; empty: it is whole."""
    wanted = sandbox_of(settings)
    from holdfast.host.sandbox import NotAvailable  # noqa: PLC0415 - only where a sandbox is wanted

    try:
        _find(wanted)
    except NotAvailable as problem:
        return f"{WEAKNESS} ({problem})" if _weak_version(wanted) else ""
    return ""


def _weak_version(wanted: SandboxSettings) -> int:
    """The version of Landlock where it may be the only wall; 0: it may not, or there is none."""
    if not wanted.may_be_weak or wanted.is_required or wanted.fail_if_unavailable:
        return 0
    from holdfast.host.sandbox import NotAvailable, look_for_landlock  # noqa: PLC0415 - only where bubblewrap fails

    try:
        return look_for_landlock()
    except NotAvailable:
        return 0


def _find(wanted: SandboxSettings) -> "Found":
    from holdfast.host.sandbox import NotAvailable, look_for_sandbox  # noqa: PLC0415 - only where a sandbox is wanted

    found = look_for_sandbox(path=wanted.bwrap_path, outside=current_folder())
    if not found.has_proc and not wanted.is_nested:
        raise NotAvailable(
            "a new /proc cannot be mounted here, as in most containers; set sandbox.enableWeakerNestedSandbox to work "
            "without one: commands then see the processes of this container"
        )
    return found


WEAKNESS: Final = (
    "the sandbox is Landlock alone: commands write only where they may and reach no network, but nothing is hidden "
    "from them, they can change what governs the agent in the project and modes and times anywhere, and they see other "
    "processes. So every command is asked about as without a sandbox, and allowed domains are ignored"
)


class SandboxKit:
    """The sandbox of one session. It follows the settings; the roots are those of the rights in force."""

    def __init__(
        self,
        settings: Callable[[], Settings],
        permissions: Callable[[], PermissionContext],
        *,
        temporary: Callable[[], str],
        journal: str | None = None,
        private: str | None = None,
    ) -> None:
        """Take what the session has.

        Args:
            settings: The settings in force.
            permissions: The rights in force, for calls that bring none.
            temporary: Makes the session's directory for temporary files and says where it is.
            journal: Where placeholders are noted, so that the next start removes what a crash left.
            private: The session's own directory, in which commands write only the one for temporary files.
        """
        self._settings = settings
        self._permissions = permissions
        self._temporary = temporary
        self._journal = journal
        self._private = () if private is None else (private,)
        self._wall: Wall | LoneWall | None = None
        self._lookout = Lookout()
        self._turned: Turned | None = None
        self._known: tuple[Settings, SandboxSettings] | None = None
        self._exclusion: tuple[tuple[str, ...], PermissionContext] | None = None

    @property
    def wanted(self) -> SandboxSettings:
        """What the settings in force ask for."""
        settings = self._settings()
        if self._known is None or self._known[0] is not settings:
            self._known = (settings, sandbox_of(settings))
        return self._known[1]

    @property
    def is_on(self) -> bool:
        """Whether there is a sandbox to be in or to leave."""
        return self.wanted.enabled

    def confines(self, command: str, ctx: ToolContext, *, leaves: bool) -> bool:
        """Everything, but what asks to leave and what the settings leave out."""
        wanted = self.wanted
        if not wanted.enabled:
            return False
        return not leaves and not (wanted.excluded and self._is_excluded(command, ctx, wanted.excluded))

    def holds_files(self, ctx: ToolContext) -> bool:
        """Whether every rule about files becomes a mask of a command that starts now."""
        from holdfast.app.masks import masks_of  # noqa: PLC0415 - only where a rule may be meant

        rights = ctx.rights if isinstance(ctx.rights, PermissionContext) else self._permissions()
        return masks_of(rights, ctx.cwd, writable=self.policy(rights, ctx.cwd).writable).is_certain

    def refuses_to_leave(self) -> str:
        """Why no call may leave the sandbox."""
        wanted = self.wanted
        if wanted.enabled and not wanted.allows_outside:
            return "the setting sandbox.allowUnsandboxedCommands keeps every command in the sandbox"
        return ""

    def outside(self, *, leaves: bool) -> str:
        """What is told about a command that runs outside."""
        wanted = self.wanted
        if wanted.is_required and (problem := sandbox_problem(self._settings())):
            raise ToolFailed(f"this machine's policy requires the sandbox, and it cannot start: {problem}")
        if leaves and (refusal := self.refuses_to_leave()):
            raise ToolFailed(refusal)
        why = "as the call asked" if leaves else "as the setting sandbox.excludedCommands says"
        return f"This command ran outside the sandbox, {why}"

    def wrap(self, command: Command, ctx: ToolContext) -> Command:
        """The same process in the sandbox."""
        from holdfast.host.sandbox import NotAvailable  # noqa: PLC0415 - only where a sandbox is wanted

        try:
            wall = self._get_wall()
        except NotAvailable as problem:
            raise ToolFailed(
                f"the sandbox is switched on and cannot start, so nothing was run: {problem}. To work without it set "
                "sandbox.enabled to false"
            ) from problem
        rights = ctx.rights if isinstance(ctx.rights, PermissionContext) else self._permissions()
        return self._watched(wall.wrap(command, self.policy(rights, command.cwd)), rights)

    def without_writes(self, command: Command, ctx: ToolContext) -> Command:
        """In plan mode without a sandbox: where the kernel can hold it, the same command, which can write nothing."""
        rights = ctx.rights if isinstance(ctx.rights, PermissionContext) else self._permissions()
        if not any(bound.effective_mode == "plan" for bound in (rights, *rights.ancestors())):
            return command
        from holdfast.host.sandbox import NotAvailable, Policy, look_for_landlock  # noqa: PLC0415 - only in plan mode
        from holdfast.host.sandbox.alone import LoneWall  # noqa: PLC0415 - the same

        try:
            version = look_for_landlock()
        except NotAvailable:
            return command  # the reading of its text is what holds it, as `doctor` says
        return LoneWall(version, only_files=True).wrap(command, Policy(temporary=self._temporary()))

    def confine(
        self,
        what: str,
        command: Command,
        *,
        is_own: bool,
        may_leave: Callable[[], bool],
        writable: tuple[str, ...] = (),
    ) -> Command:
        """A program that is no command of a model: a hook or a server, behind the wall where it is to be.

        Args:
            what: `hooks` or `servers`, as the setting `sandbox.alsoConfine` names them.
            command: What is to be started.
            is_own: It is the user's own, which is confined only where that setting says so; a folder's always is.
            may_leave: The user approved that it runs outside.
            writable: Files that it may write besides.

        Raises:
            StartError: There is no sandbox here.
        """
        wanted = self.wanted
        if not wanted.enabled or (what not in wanted.also if is_own else may_leave()):
            return command
        rights = self._permissions()
        try:
            wall = self._get_wall()
        except OSError as problem:
            raise StartError(
                f"The sandbox is switched on and cannot start, so {command.label or 'it'} is not started: {problem}"
            ) from problem
        policy = self.policy(rights, command.cwd)
        policy = msgspec.structs.replace(policy, granted=(*policy.granted, *writable))
        return self._watched(wall.wrap(command, policy), rights)

    def _watched(self, wrapped: Command, rights: PermissionContext) -> Command:
        if wrapped.wall is None:
            return wrapped
        places = self._project_directories(rights)
        return msgspec.structs.replace(wrapped, wall=self._lookout.watch(wrapped.wall, places))

    @property
    def has_doubt(self) -> bool:
        """A command made something that other programs obey and nobody has looked at it, or the wall is too weak."""
        return bool(self._lookout.waiting) or bool(self.weakness)

    @property
    def weakness(self) -> str:
        """What the sandbox does not promise here; empty: it is whole, or there is none."""
        return sandbox_weakness(self._settings()) if self.wanted.may_be_weak else ""

    def answered(self) -> None:
        """A person was asked since, and let a command run."""
        self._lookout.waiting.clear()

    def notices(self, command: str, errors: str, *, failed: bool) -> list[str]:
        """What is to be told about a confined command that ended."""
        found: list[str] = []
        if made := self._lookout.look() or list(self._lookout.waiting):
            names = ", ".join(map(show_name, made))
            found.append(
                f"While it ran, {names} came into being or changed: other programs obey it, so the user should look "
                "at it. Until then commands in the sandbox are asked about"
            )
        turned = [] if self._turned is None else self._turned.take()
        if failed and (
            told := denial(
                command,
                errors,
                ignored=self.wanted.ignored_violations,
                may_leave=not self.refuses_to_leave(),
                turned=turned,
            )
        ):
            found.append(told)
        return found

    def find(self) -> "Found":
        """The sandbox of this machine.

        Raises:
            NotAvailable: There is none.
        """
        return _find(self.wanted)

    def enter(self, command: Command) -> "Entered":
        """Put one command behind the wall at once.

        Raises:
            NotAvailable: There is no sandbox here.
            StartError: It cannot be built.
        """
        return self._get_wall().enter(command, self.policy(self._permissions(), command.cwd))

    def policy(self, rights: PermissionContext, cwd: str | None = None) -> "Policy":
        """The confinement under some rights. No root comes from a call; where it starts, relative deny rules hold."""
        from holdfast.app.confinement import confinement  # noqa: PLC0415 - only where a sandbox is wanted

        wanted = self.wanted
        return confinement(
            wanted,
            rights,
            places=self._project_directories(rights),
            cwd=cwd or self._settings().cwd,
            border=self._border(rights),
            temporary=self._temporary(),
            private=self._private,
            is_nested=wanted.is_nested and not self.weakness and not self.find().has_proc,
        )

    def _border(self, rights: PermissionContext) -> "DomainBorder | None":
        wanted = self.wanted
        if not (wanted.allowed_domains or wanted.http_proxy_port or wanted.socks_proxy_port):
            return None
        from holdfast.app.network import DomainBorder, Turned  # noqa: PLC0415 - only where something may be reached

        if self._turned is None:
            self._turned = Turned()
        return DomainBorder(wanted, rights, self._turned.note)

    def _project_directories(self, rights: PermissionContext) -> list[str]:
        """Where settings are read from: from the project's root down to where the session started, and added ones."""
        settings = self._settings()
        layout = find_layout(settings.cwd, home=rights.home)
        working = [os.path.realpath(place) for place in rights.roots.working]
        return list(dict.fromkeys((*layout.directories, *working)))

    def _get_wall(self) -> "Wall | LoneWall":
        if self.weakness:
            from holdfast.host.sandbox.alone import LoneWall  # noqa: PLC0415 - only where bubblewrap fails

            self._lookout.holds = False
            if not isinstance(self._wall, LoneWall):
                self.end()
                self._wall = LoneWall(_weak_version(self.wanted))
            return self._wall
        found = self.find()
        if self._wall is None:
            from holdfast.host.sandbox import Wall  # noqa: PLC0415 - only where a sandbox is wanted
            from holdfast.host.sandbox.placeholders import Placeholders, remove_leftovers  # noqa: PLC0415 - the same

            if self._journal is not None:
                remove_leftovers(self._journal)
            self._wall = Wall(found, placeholders=Placeholders(self._journal))
        return self._wall

    def _is_excluded(self, command: str, ctx: ToolContext, patterns: tuple[str, ...]) -> bool:
        """Whether every part of a command is one that runs outside: as rules would allow it that hold only these."""
        from holdfast.contract import Effects, RuleSubject  # noqa: PLC0415 - few settings name commands

        if self._exclusion is None or self._exclusion[0] != patterns:
            source = RuleSource("session")
            rules, _ = parse_rules([_as_rule(pattern) for pattern in patterns], "allow", source, aliases={})
            root = self._permissions().project_root or ctx.cwd
            self._exclusion = (patterns, PermissionContext.started_in(root, "dontAsk", rules))
        call = CallFacts(
            "Bash",
            ("Bash",),
            {"command": command},
            ctx.cwd,
            read_only=False,
            effects=Effects(),
            subject=RuleSubject("command", command),
        )
        decision = decide(call, self._exclusion[1])
        return decision.behavior == "allow" and decision.layer == "allow"

    async def leave_loop(self) -> None:
        """What serves networks ends with the loop; the next one begins anew."""
        if self._wall is not None:
            self._wall.rest()

    async def close(self) -> None:
        """Remove what was made for the session."""
        self.end()

    def end(self) -> None:
        """Remove what was made."""
        if self._wall is not None:
            self._wall.close()
            self._wall = None


def _as_rule(pattern: str) -> str:
    """A bare name means the program with any arguments."""
    return f"Bash({pattern} *)" if pattern.isalnum() else f"Bash({pattern})"

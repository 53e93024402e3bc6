"""Settings, told and changed. The text the model reads is in config.md, beside this file."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal, NotRequired, TypedDict, cast

from pydantic import Field

from holdfast.contract import Args, ArgumentsInvalid, Effects, SessionFacts, Tool, ToolContext, ToolFailed, ToolResult
from holdfast.contract.render import Line, ShownResult
from holdfast.lib.spelling import did_you_mean
from holdfast.settings import Settings, SettingsError, SettingsRoots, SourceKind

__all__ = ["Config", "ConfigArgs", "ConfigOutput"]

Value = str | bool | int | float
_LOOKS: Final = ("theme", "preferredNotifChannel")
SETTABLE: Final = (
    *("model", "fallbackModel", "tools.siblingErrors", "tools.taskList"),
    *("globLimits.maxResults", "agents.maxRunning", "tasks.maxRunning"),
    *_LOOKS,
)
"""Matters of taste. Whatever is not here governs rights, or is not known, and stays out of a model's reach."""
_TOLD: Final = (
    *("permissions.allow", "permissions.ask", "permissions.deny", "permissions.additionalDirectories"),
    *("permissions.defaultMode", "permissions.disableBypassPermissionsMode", "permissions.disableAutoMode"),
    *("disableAllHooks", "hooks.onGateFailure", "hooks.allowPrivateAddresses", "allowManagedHooksOnly"),
    *("allowManagedPermissionRulesOnly", "enabledMcpjsonServers", "disabledMcpjsonServers", "availableModels"),
    *("enableAllProjectMcpServers", "sandbox.enabled", "sandbox.autoAllowBashIfSandboxed", "sandbox.filesystem"),
    *("sandbox.network", "sandbox.excludedCommands", "env.scrub", "shell.functions", "classifier.model"),
    *("web.robots", "web.model", "agents.maxDepth"),
)
"""Told, never changed here. Values that may hold a secret (variables, servers, headers) are not among them."""
_GOVERNING: Final = frozenset(
    {"permissions", "hooks", "mcpServers", "sandbox", "env", "web", "telemetry", "apiKeyHelper", "enabledPlugins"}
)


_MODELS: Final = frozenset({"model", "fallbackModel"})
_MODEL_CHARS: Final = 200


class ConfigArgs(Args):
    """Which setting, and what it should be."""

    setting: str = Field(min_length=1, max_length=200, description="Its name, with dots where it is inside another.")
    value: Value | None = Field(default=None, description="What it should be; left out, the value is told.")


class ConfigOutput(TypedDict):
    """The setting as it is, or as it was and is now."""

    success: bool
    operation: NotRequired[Literal["get", "set"]]
    setting: NotRequired[str]
    value: NotRequired[Any]
    previousValue: NotRequired[Any]
    newValue: NotRequired[Any]
    error: NotRequired[str]


class Config(Tool[ConfigArgs, ConfigOutput]):
    """Tells settings, and writes a few of them to the user's own file after the user's yes."""

    name, args_type = "Config", ConfigArgs
    output_type = ConfigOutput
    search_hint = "settings, preferences, change the default model"
    max_result_chars = 100_000
    should_defer = True

    def __init__(self, now: Callable[[], Settings] | None = None) -> None:
        """Take the settings in force."""
        self.now = now

    def is_enabled(self, session: SessionFacts) -> bool:
        """Only for the first agent."""
        return session.agent_id is None

    def is_read_only(self, args: ConfigArgs) -> bool:
        """Telling changes nothing."""
        return args.value is None

    def is_concurrency_safe(self, args: ConfigArgs) -> bool:
        """The same."""
        return args.value is None

    def effects(self, args: ConfigArgs, ctx: ToolContext) -> Effects:
        """The user's settings file is written: a protected place, so that no rule allows it in passing."""
        return Effects() if args.value is None else Effects(writes=[_file(ctx.cwd)])

    def classifier_input(self, args: ConfigArgs) -> str | None:
        """All of it."""
        return args.setting if args.value is None else f"{args.setting} = {args.value!r}"

    def render_use(self, raw: Mapping[str, Any]) -> str:
        """The setting, and what it should be."""
        change = f" = {raw['value']}" if raw.get("value") is not None else ""
        return f"{self.name}({raw.get('setting', '')}{change})"

    def render_result(self, result: ShownResult, *, condensed: bool = True) -> Sequence[Line] | str:
        """The value, and what it was."""
        data = result.data
        if not data or not condensed or not data["success"]:
            return result.text
        if data["operation"] == "get":
            return [[("dim", f"{data['setting']} = "), ("", repr(data["value"]))]]
        return [
            [
                ("dim", f"{data['setting']} = "),
                ("accent", repr(data["newValue"])),
                ("dim", f", was {data['previousValue']!r}"),
            ]
        ]

    async def validate(self, args: ConfigArgs, ctx: ToolContext) -> None:
        """What cannot be told or changed is refused before anybody is asked."""
        del ctx
        key = args.setting
        if args.value is None:
            if key not in (*SETTABLE, *_TOLD):
                raise ArgumentsInvalid(_unknown(key, (*SETTABLE, *_TOLD)), error_code=1)
        elif key not in SETTABLE:
            governs = key in _TOLD or key.split(".")[0] in _GOVERNING
            reason = f"{key!r} governs what you may do, so it cannot be set here; tell the user, who can change it"
            raise ArgumentsInvalid(reason if governs else _unknown(key, SETTABLE), error_code=2 if governs else 1)
        elif key in _MODELS:
            _check_model(key, args.value)
        elif key in _LOOKS:
            _check_look(key, args.value)

    async def call(self, args: ConfigArgs, ctx: ToolContext) -> ToolResult[ConfigOutput]:
        """Tell it, or write it."""
        if self.now is None:
            raise ToolFailed("there are no settings here", error_code=3)
        settings, key = self.now(), args.setting
        before = _plain(settings.get(key))
        if args.value is None:
            data: ConfigOutput = {"success": True, "operation": "get", "setting": key, "value": before}
            where = settings.where(key)
            return ToolResult(data, f"{key} is not set." if before is None else f"{key} = {before!r} ({where})")
        try:
            saved, value = await asyncio.to_thread(_save, key, args.value, ctx.cwd)
        except SettingsError as error:
            failed: ConfigOutput = {"success": False, "operation": "set", "setting": key, "error": str(error)}
            return ToolResult(failed, f"{key} was not changed: {error}", is_error=True)
        data = {"success": True, "operation": "set", "setting": key, "previousValue": before, "newValue": value}
        return ToolResult(data, f"{key} is {value!r} in {saved} now.{_but(settings, key)}")


def _check_model(key: str, value: Value) -> None:
    """Later sessions begin with it: it is the name of a provider's model, and no file that speaks in its place."""
    from holdfast.models.open import KEYS, provider_of  # noqa: PLC0415 - only where something is changed

    name = value if isinstance(value, str) and value.isprintable() and len(value) <= _MODEL_CHARS else ""
    if provider_of(name) not in KEYS:
        raise ArgumentsInvalid(
            f"{str(value)[:80]!r} names no model that {key} could be; write provider:name, such as anthropic:sonnet",
            error_code=4,
        )


def _check_look(key: str, value: Value) -> None:
    from holdfast.settings.tastes import TASTES  # noqa: PLC0415 - only where something is changed

    if value not in TASTES[key]:
        raise ArgumentsInvalid(f"{key} is one of {', '.join(TASTES[key])}, not {str(value)[:80]!r}", error_code=4)


def _file(cwd: str) -> str:
    from holdfast.settings.save import save_target  # noqa: PLC0415 - only where something is changed

    return save_target(SourceKind.USER, cwd, SettingsRoots.from_environment()).file


def _save(key: str, value: Value, cwd: str) -> tuple[str, Value]:
    """Write it; a text that means a number or a word of logic is tried as that, too."""
    from holdfast.settings.save import save_value  # noqa: PLC0415 - the same

    file = _file(cwd)
    meant: dict[str, Value] = {"true": True, "false": False}
    other = meant.get(value.lower(), int(value) if value.isdecimal() else value) if isinstance(value, str) else value
    if isinstance(other, float) and other.is_integer():
        other = int(other)
    tries = [value, other] if other != value or type(other) is not type(value) else [value]
    for number, one in enumerate(tries, 1):
        try:
            return save_value(file, tuple(key.split(".")), one).path, one
        except SettingsError:
            if number == len(tries):
                raise
    raise AssertionError


def _but(settings: Settings, key: str) -> str:
    """Where another source has the last word, or when it counts."""
    where = settings.where(key)
    if where is not None and where.source is not SourceKind.USER:
        return f" It has no effect yet: {where} says {_plain(settings.get(key))!r}."
    if key in _LOOKS:
        return " The terminal follows it from its next start on; `/config` changes it at once."
    return " A running conversation keeps its model." if key in _MODELS else ""


def _unknown(key: str, known: tuple[str, ...]) -> str:
    return f"there is no setting {key[:80]!r} here.{did_you_mean(key, known)} These are known: {', '.join(known)}"


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in cast("Mapping[Any, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in cast("list[Any]", value)]
    return value

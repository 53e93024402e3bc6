"""What settings ask for and this version cannot do: told at the start, or a reason not to start."""

from holdfast.contract import UsageError
from holdfast.host.child_env import Scrub, may_be_given
from holdfast.lib.visible import visible
from holdfast.settings import Settings

__all__ = ["refuse_what_must_hold", "what_is_not_honoured"]


def what_is_not_honoured(settings: Settings) -> list[str]:
    """One line for each thing that is configured and does not work yet."""
    return [*_sandbox(settings), *_env(settings)]


def refuse_what_must_hold(settings: Settings) -> None:
    """Stop before any tool can run where the settings say that nothing may run without the sandbox.

    Raises:
        UsageError: `sandbox.failIfUnavailable` is on, or policy switched the sandbox on, and there is none.
    """
    if settings.sandbox.get("enabled") is not True:
        return
    from holdfast.settings.sandbox import sandbox_of  # noqa: PLC0415 - only where a sandbox is wanted

    wanted = sandbox_of(settings)
    if not (wanted.fail_if_unavailable or wanted.is_required):
        return
    problem = _problem(settings)
    if problem:
        key = "sandbox.failIfUnavailable" if wanted.fail_if_unavailable else "sandbox.enabled"
        raise UsageError(
            f"{settings.where(key)}: {key} is true, and the sandbox cannot start, so nothing is started: {problem}"
        )


def _env(settings: Settings) -> list[str]:
    """Variables that are set for children and must not reach them; none ever reaches ourselves."""
    scrub = Scrub(settings.env_scrub)
    return [
        f"{entry.origin}: env.{visible(entry.name, limit_chars=60)} is not passed to commands: it would change how "
        "shells read what was judged, or hand over a key for a model"
        for entry in settings.env
        if not may_be_given(entry.name, entry.value, scrub=scrub)
    ]


def _sandbox(settings: Settings) -> list[str]:
    if settings.sandbox.get("enabled") is not True:
        return []
    problem = _problem(settings)
    if problem:
        where = settings.where("sandbox.enabled")
        return [f"{where}: the sandbox is switched on and cannot start, so every command is refused: {problem}"]
    if settings.sandbox.get("enableWeakerLandlockSandbox") is True:
        from holdfast.app.sandbox import sandbox_weakness  # noqa: PLC0415 - only where a sandbox is wanted

        if weakness := sandbox_weakness(settings):
            return [f"{settings.where('sandbox.enableWeakerLandlockSandbox')}: {weakness}"]
    if not settings.sandbox.get("network"):
        return []
    from holdfast.app.network import unusable_domains  # noqa: PLC0415 - only where something may be reached
    from holdfast.settings.sandbox import sandbox_of  # noqa: PLC0415 - the same

    return [f"sandbox.network: {problem}" for problem in unusable_domains(sandbox_of(settings))]


def _problem(settings: Settings) -> str:
    if settings.sandbox.get("enabled") is not True:
        return ""
    from holdfast.app.sandbox import sandbox_problem  # noqa: PLC0415 - only where a sandbox is wanted

    return sandbox_problem(settings)

"""Where a session stands with trust and with its sandbox, for faces that show it."""

from typing import TYPE_CHECKING

from holdfast.settings.trust_question import trust_question

if TYPE_CHECKING:
    from holdfast.app.running import RunningAgent

__all__ = ["sandbox_standing", "trust_standing"]


def trust_standing(agent: "RunningAgent") -> list[tuple[bool, str]]:
    """Whether the folder is trusted, and what of it waits."""
    settings = agent.rights.settings
    if settings.untrustable is not None:
        return [(False, f"{settings.root} cannot be trusted: {settings.untrustable}")]
    rows = [
        (settings.trusted, f"{settings.root} is {'trusted' if settings.trusted else 'not trusted (holdfast trust)'}")
    ]
    question = trust_question(settings)
    waiting = () if question is None else question.waiting
    return rows + [(False, f"{line.place}  {line.kind}  {line.text}: {line.effect}") for line in waiting]


def sandbox_standing(agent: "RunningAgent") -> list[tuple[bool, str]]:
    """Whether commands are confined, and what that promises on this machine; programs are started to find out."""
    from holdfast.app.sandbox import SandboxKit  # noqa: PLC0415 - loaded with the session
    from holdfast.host.sandbox.promises import promises  # noqa: PLC0415 - starts programs

    kit = agent.opened.shell.wall
    if not isinstance(kit, SandboxKit):
        return [(False, "there is none in this session")]
    is_on = kit.wanted.enabled
    rows = [(is_on, "commands are confined" if is_on else "off: set sandbox.enabled to confine commands")]
    found = promises(kit.find)
    return rows + [(one.holds, f"{one.name}{f': {one.detail}' if one.detail else ''}") for one in found]

"""From a typed line to what the model reads: pasted texts, pictures, mentioned files, and what the person did since."""

from typing import TYPE_CHECKING, Any

from holdfast.contract import UsageError
from holdfast.lib.visible import visible
from holdfast.tui.input.attaching import Attachments
from holdfast.tui.input.mentions import Mention, find_mentions
from holdfast.tui.show.outcomes import text_of

if TYPE_CHECKING:
    from holdfast.app.running import RunningAgent

__all__ = ["PromptMaker"]

_TOLD_CHARS = 20_000
_ATTACHED_CHARS = 100_000
_DONE = "what I did myself"

Content = str | list[dict[str, Any]]


class PromptMaker:
    """Puts prompts together. What is shown of one is the line as it was typed."""

    def __init__(self) -> None:
        self.attachments = Attachments()
        self._told: list[str] = []
        """What the person did here and the model should know."""
        self._typed: dict[str, str] = {}
        """By what was sent: what was typed."""

    def tell(self, text: str) -> None:
        """Let the model know with the next prompt."""
        self._told.append(text)

    def typed(self, sent: str) -> str:
        """The line that became this prompt."""
        return self._typed.pop(sent, sent)

    def plain(self, line: str) -> Content:
        """The prompt without anything that would have to be read first: while a run is under way."""
        return self._put_together(line, self.attachments.expand(line).text, [])

    async def whole(self, line: str, agent: "RunningAgent") -> Content:
        """The prompt with everything that it names; each is read through the rules, and a refusal leaves it out."""
        expanded = self.attachments.expand(line)
        wanted = find_mentions(expanded.text, agent.cwd)
        wanted += [Mention("picture", "Read", {"file_path": path}) for path in expanded.files]
        read: list[dict[str, Any]] = []
        pictures: list[dict[str, Any]] = []
        for mention in wanted:
            text, found = await self._read(mention, agent)
            read += [{"type": "text", "text": text}] if text else []
            pictures += found
        return self._put_together(line, expanded.text, [*read, *pictures])

    async def _read(self, mention: Mention, agent: "RunningAgent") -> tuple[str, list[dict[str, Any]]]:
        try:
            reply = await agent.call_tool(mention.tool, mention.arguments)
        except UsageError:  # a run has begun meanwhile: the model can read it by itself
            return "", []
        if reply.is_error:
            return "", []
        blocks = reply.content if isinstance(reply.content, list) else []
        pictures = [block for block in blocks if block.get("type") in ("image", "document")]
        text = text_of([block for block in blocks if block.get("type") == "text"] if blocks else reply.content)
        if not text or (pictures and len(blocks) == len(pictures) + 1):  # a picture needs no words about it
            return "", pictures
        return _attached(mention.name, text[:_ATTACHED_CHARS]), pictures

    def _put_together(self, line: str, text: str, more: list[dict[str, Any]]) -> Content:
        """The person's words first and alone: what else goes with them is not taken for words of theirs later."""
        if text != line:
            self._typed[text] = line
        told, self._told = self._told, []
        more = [*({"type": "text", "text": _attached(_DONE, one[:_TOLD_CHARS])} for one in told), *more]
        return [{"type": "text", "text": text}, *more] if more else text


def _attached(name: str, text: str) -> str:
    from holdfast.agent.notes import ATTACHED  # noqa: PLC0415 - loaded with the agent
    from holdfast.agent.prompt.fences import defused  # noqa: PLC0415 - the same

    kept = visible(name).replace('"', "'")
    shown = defused(text).replace("</attached", "<\\/attached")
    return f'{ATTACHED}name="{kept}">\n{shown}\n</attached>'

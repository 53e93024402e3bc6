"""What goes wrong with configuration."""

from holdfast.lib.visible import visible


class SettingsError(ValueError):
    """Configuration that cannot be used. It stops the start: a broken file never means "no rules"."""

    def __init__(
        self,
        reason: str,
        *,
        path: str | None = None,
        line: int | None = None,
        column: int | None = None,
        advice: str = "",
    ) -> None:
        self.reason = reason
        self.path = path
        self.line = line
        self.column = column
        self.advice = advice
        place = ":".join(str(part) for part in (path and visible(path), line, column) if part)
        super().__init__(f"{place or 'settings'}: {reason}{'. ' if advice else ''}{advice}")

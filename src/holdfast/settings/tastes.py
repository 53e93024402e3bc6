"""Settings that are a matter of taste, and what each may be. The terminal draws by them."""

from types import MappingProxyType
from typing import Final

__all__ = ["TASTES", "THEME_NAMES"]

THEME_NAMES: Final = ("ansi", "dark", "light", "dark-daltonized", "light-daltonized")
TASTES: Final = MappingProxyType(
    {
        "theme": ("auto", *THEME_NAMES),
        "preferredNotifChannel": ("notifications_disabled", "terminal_bell", "iterm2", "iterm2_with_bell", "kitty"),
    }
)

"""The user's own gates and reactions."""

from typing import TYPE_CHECKING

from holdfast.hooks.answers import HookAnswer, HookFailed
from holdfast.hooks.gate import NO_HOOKS, Hook, HookCall, Hooks
from holdfast.hooks.matcher import compile_matcher
from holdfast.lib.lazy import export_lazily

if TYPE_CHECKING:
    from holdfast.hooks.hear import Verdict, hear

__all__ = [
    "NO_HOOKS",
    "Hook",
    "HookAnswer",
    "HookCall",
    "HookFailed",
    "Hooks",
    "Verdict",
    "compile_matcher",
    "hear",
]

# Who has no hooks needs nobody to hear them.
export_lazily(__name__, {"hear": ("Verdict", "hear")})

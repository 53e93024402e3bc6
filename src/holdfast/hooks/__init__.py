"""The user's own gates and reactions."""

from holdfast.hooks.gate import Hook, HookAnswer, HookCall, Hooks
from holdfast.hooks.matcher import compile_matcher

__all__ = ["Hook", "HookAnswer", "HookCall", "Hooks", "compile_matcher"]

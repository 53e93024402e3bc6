"""A tool that does nothing but be asked about. The text the model reads is in testing_permission.md, beside this."""

from collections.abc import Mapping
from typing import Any, ClassVar

from holdfast.contract import Args, Opinion, Tool, ToolContext, ToolResult
from holdfast.contract.render import ShownResult

__all__ = ["TestingPermission"]


class TestingPermissionArgs(Args):
    """No arguments."""


class TestingPermission(Tool[TestingPermissionArgs, str]):
    """Always asks, whatever the mode says; then answers one sentence. For tests of permission dialogs."""

    __test__: ClassVar[bool] = False  # pytest collects classes named Test*

    name = "TestingPermission"
    args_type = TestingPermissionArgs
    search_hint = "ask for permission in a test"
    max_result_chars = 1_000
    read_only = True
    concurrency_safe = True
    requires_user_interaction = True

    async def check_permission(self, args: TestingPermissionArgs, ctx: ToolContext) -> Opinion:
        """Ask, always."""
        del args, ctx
        return Opinion.ask("Run test?")

    async def call(self, args: TestingPermissionArgs, ctx: ToolContext) -> ToolResult[str]:
        """Say that it ran."""
        del args, ctx
        return ToolResult("TestingPermission executed successfully")

    def render_use(self, raw: Mapping[str, Any]) -> str:
        """Nothing to show."""
        del raw
        return ""

    def render_result(self, result: ShownResult, *, condensed: bool = True) -> str:
        """Nothing to show."""
        del result, condensed
        return ""

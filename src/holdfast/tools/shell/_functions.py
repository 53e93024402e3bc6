"""Bash with the functions and aliases of the user's login shell (setting `shell.functions`)."""

from holdfast.contract import NO_OBJECTION, Opinion, ToolContext
from holdfast.tools.shell.bash import Bash, BashArgs, analysed_here

__all__ = ["BashWithFunctions"]


class BashWithFunctions(Bash):
    """With `shell.functions`: a name that the user's login shell defines anew is never taken as what it seems."""

    def may_object(self, args: BashArgs) -> bool:
        """Every command is looked at: the names are known only once the login shell was asked."""
        del args
        return True

    async def check_permission(self, args: BashArgs, ctx: ToolContext) -> Opinion:
        """Ask about a command whose names the text does not explain."""
        await self.environment.prepare(self.board.processes)
        analysis = analysed_here(args.command, ctx.cwd)
        if analysis.read_only and self.is_shadowed(analysis):
            return Opinion.ask("a name in the command is a function or alias of your login shell")
        return await super().check_permission(args, ctx) if Bash.may_object(self, args) else NO_OBJECTION

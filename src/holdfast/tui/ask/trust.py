"""The first question in a folder: may what it brings count?"""

import asyncio
import sys

from holdfast.app.options import Options
from holdfast.app.rights import load_rights
from holdfast.settings import SettingsRoots, TrustStore
from holdfast.settings.trust_question import trust_question
from holdfast.tui.ask.menu import Menu, Option
from holdfast.tui.face import Face
from holdfast.tui.show.words import Line

__all__ = ["ask_trust"]

_refused: set[str] = set()
"""Folders that this process has asked about."""


async def ask_trust(face: Face, options: Options) -> None:
    """Show what the folder brings, item by item, and ask; without a yes it is as before."""
    if options.trust is not None or not sys.stdin.isatty():  # who sends lines by a pipe did not read the question
        return
    settings = (await asyncio.to_thread(load_rights, options)).settings
    question = trust_question(settings)
    if question is None or settings.root in _refused:
        return
    _refused.add(settings.root)
    body: list[Line] = [[("bold", f"The folder {question.folder} brings:")]]
    for line in question.lines:
        body.append([("accent", f"  {line.place}"), ("bold", f"  {line.kind}"), ("", f"  {line.text}")])
        body.append([("dim", f"      {line.effect}")])
    choices = [Option("No, work here without it (its deny and ask rules count)", "no"), Option("Yes, trust it", "yes")]
    chosen = await face.choose(Menu("Trust this folder, so that these count?", choices, body=body))
    if chosen.value == "yes":
        roots = SettingsRoots.from_environment()
        TrustStore(roots.state, home=roots.home).trust(settings.root, items=question.approvals)

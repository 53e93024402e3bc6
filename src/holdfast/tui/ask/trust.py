"""The first question in a folder: may what it brings count? Item by item, for who wants that."""

import asyncio
import os
import sys
from typing import TYPE_CHECKING

import msgspec

from holdfast.app.options import Options
from holdfast.app.rights import Rights, load_rights
from holdfast.lib.visible import visible
from holdfast.settings import SettingsRoots, TrustStore
from holdfast.settings.trust_question import TrustQuestion, trust_question
from holdfast.tui.ask.menu import Menu, Option
from holdfast.tui.face import Face
from holdfast.tui.show.words import Line, wrapped

if TYPE_CHECKING:
    from holdfast.settings.mcp_servers import ServerEntry

__all__ = ["ask_servers", "ask_trust", "choose_items"]

_AGAIN = "should it or its files change, you are asked again; disabledMcpjsonServers in your settings ends that"
_refused: set[str] = set()
"""Folders and servers that this process has asked about."""


async def ask_trust(face: Face, options: Options) -> None:
    """Show what the folder brings, item by item, and ask; without a yes it is as before."""
    if options.trust is not None or not sys.stdin.isatty():  # who sends lines by a pipe did not read the question
        return
    rights = await asyncio.to_thread(load_rights, options)
    settings = rights.settings
    question = trust_question(settings)
    if question is not None and settings.root not in _refused:
        _refused.add(settings.root)
        approved = await choose_items(face, question)
        if approved is None:
            return
        _store().trust(settings.root, items=approved)
        rights = await asyncio.to_thread(load_rights, options)
    if rights.settings.trusted:
        await ask_servers(face, rights, options)


async def ask_servers(face: Face, rights: Rights, options: Options) -> None:
    """Show each of the folder's servers that nobody has agreed to, and let it count if the person says so."""
    root = rights.settings.root
    if not os.path.lexists(os.path.join(root, ".mcp.json")):
        return
    from holdfast.app.servers import unapproved_servers  # noqa: PLC0415 - few folders have servers

    for entry, identity in unapproved_servers(rights, options):
        if identity in _refused:
            continue
        _refused.add(identity)
        menu = _server_menu(entry, face.columns - 1)
        chosen = await face.choose(menu)
        face.commit(wrapped(menu.told(chosen), face.columns - 1))
        if chosen.value == "yes":
            _store().approve(root, identity)


def _server_menu(entry: "ServerEntry", columns: int) -> Menu:
    config = visible(msgspec.json.encode(dict(entry.config)).decode())
    body: list[Line] = [
        [],
        [("", "The folder's server "), ("bold", visible(entry.name)), ("", " would be started as:")],
        [("", f"  {config}")],
        [("dim", f"  {_AGAIN}")],
    ]
    options = [
        Option("No, not now (Esc)", "no"),
        Option("Yes, start it in this folder from now on", "yes"),
    ]
    return Menu("Start this server?", options, body=[part for line in body for part in wrapped(line, columns)])


def _store() -> TrustStore:
    roots = SettingsRoots.from_environment()
    return TrustStore(roots.state, home=roots.home)


async def choose_items(face: Face, question: TrustQuestion) -> tuple[str, ...] | None:
    """What of the folder is approved besides what its trust alone brings; none: it is not trusted."""
    body: list[Line] = [[], [("bold", f"The folder {question.folder} brings:")]]
    for place, line in enumerate(question.lines, 1):
        body.append([("accent", f"  {line.place}"), ("bold", f"  {line.kind}"), ("", f"  {line.text}")])
        if place == len(question.lines) or question.lines[place].effect != line.effect:  # the next says the same
            body.append([("dim", f"      {line.effect}")])
    body = [part for line in body for part in wrapped(line, face.columns - 1)]
    single = [line for line in question.lines if line.hash in question.approvals]
    options = [
        Option("No, work here without it; its deny and ask rules apply (Esc)", "no"),
        Option("Yes, trust it" + (" and approve all of this" if single else ""), "yes"),
    ]
    if single:
        options.append(Option("Yes, but let me choose what runs programs or sets variables", "some"))
    menu = Menu("Trust this folder, so that these apply?", options, body=body)
    chosen = await face.choose(menu)
    face.commit(wrapped(menu.told(chosen), face.columns - 1))
    if chosen.value == "yes":
        return question.approvals
    if chosen.value != "some":
        return None
    offers = [Option(f"{line.place}  {line.kind}  {line.text}", line.hash) for line in single]
    menu = Menu("Which of these should apply?", [*offers, Option("Done", "done")], has_many=True)
    marked = await face.choose(menu)
    face.commit(wrapped(menu.told(marked), face.columns - 1))
    return marked.marked if marked.value == "done" else None

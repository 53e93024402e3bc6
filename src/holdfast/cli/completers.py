"""What a shell may offer for a word: tools, sessions, tasks, changes that can be taken back, models.

A shell asks at every press of a key, so nothing is loaded before it does, and trouble means that nothing is offered.
"""

import logging
import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import click
    from click.shell_completion import CompletionItem

__all__ = ["complete_changes", "complete_models", "complete_sessions", "complete_tasks", "complete_tools"]

_MOST = 100
Offer = tuple[str, str]
"""A word, and what helps to choose it."""


def _quietly(
    offers: Callable[["click.Context", str], Iterable[Offer]],
) -> Callable[["click.Context", "click.Parameter", str], "list[CompletionItem]"]:
    """A callback for click: the words that begin as typed; what goes wrong must not end up on a command line."""

    def complete(ctx: "click.Context", param: "click.Parameter", incomplete: str) -> "list[CompletionItem]":
        from click.shell_completion import CompletionItem  # noqa: PLC0415 - only a shell needs it

        from holdfast.lib.visible import visible  # noqa: PLC0415 - the same

        del param
        before = logging.root.manager.disable
        logging.disable()  # the log is not set up here, so its words would end up on the screen
        try:
            found = [offer for offer in offers(ctx, incomplete) if offer[0].startswith(incomplete)]
        except Exception:  # noqa: BLE001 - a shell shows a traceback in the middle of the line being typed
            return []
        finally:
            logging.disable(before)
        return [
            CompletionItem(word, help=visible(about, limit_chars=60) or None)
            for word, about in found[:_MOST]
            if word.isprintable() and not any(char.isspace() for char in word)
        ]

    return complete


@_quietly
def complete_tools(ctx: "click.Context", incomplete: str) -> Iterable[Offer]:
    """The built-in tools; in a list of several, the last."""
    from holdfast.app.offered import rendered  # noqa: PLC0415 - see above

    del ctx
    before = incomplete[: incomplete.rfind(",") + 1]
    tools = rendered()
    return [(f"{before}{tool.names[0]}", "") for tool in sorted(tools, key=lambda tool: tool.names[0])]


@_quietly
def complete_sessions(ctx: "click.Context", incomplete: str) -> Iterable[Offer]:
    """The sessions of this directory, the latest first; those of others where the beginning fits none of them."""
    from holdfast.session import user_store  # noqa: PLC0415 - see above
    from holdfast.session.summaries import summarise  # noqa: PLC0415 - the same

    store = user_store()
    paths = _begun(store.paths(_directory(ctx)), incomplete) or _begun(store.paths(), incomplete)
    shown = [(os.path.basename(path), summarise(store, path).title) for path in paths[:_MOST]]
    return [("latest", "the one used last"), *shown] if shown or not incomplete else [("latest", "")]


@_quietly
def complete_tasks(ctx: "click.Context", incomplete: str) -> Iterable[Offer]:
    """The background tasks of this directory's sessions, the latest first, else of all."""
    from holdfast.session import user_store  # noqa: PLC0415 - see above
    from holdfast.tasks.records import read_records  # noqa: PLC0415 - the same

    store = user_store()
    for project in (_directory(ctx), None):
        found = [
            record
            for path in store.paths(project)
            for record in read_records(os.path.join(path, "tasks")).values()
            if record.id.startswith(incomplete)
        ]
        if found:
            found.sort(key=lambda record: -record.start_time)
            return [(record.id, f"{record.status}: {record.description}") for record in found]
    return []


@_quietly
def complete_changes(ctx: "click.Context", incomplete: str) -> Iterable[Offer]:
    """The calls whose changes `undo` can take back, the latest first."""
    from holdfast.cli.undo import store_of  # noqa: PLC0415 - see above

    del incomplete
    store = store_of(ctx.params.get("name"))
    changes = store.changes() if store is not None else []
    return {change.call: (change.call, os.path.basename(change.path)) for change in reversed(changes)}.values()


@_quietly
def complete_models(ctx: "click.Context", incomplete: str) -> Iterable[Offer]:
    """Short names, the names whose price is known, and how a provider is written."""
    from holdfast.models.catalog import known_models  # noqa: PLC0415 - the same
    from holdfast.models.open import ALIASES  # noqa: PLC0415 - see above

    del ctx
    names: list[Offer] = [*ALIASES.items(), *((known.name, "") for known in known_models())]
    names += [("anthropic:", "a name"), ("openai:", "a name"), ("ollama:", "a model on this machine")]
    names += [("scripted:", "a file"), ("replay:", "a file")]
    provider, colon, _ = incomplete.partition(":")
    if colon:
        family = {"anthropic": "claude-", "openai": ("gpt-", "o")}.get(provider, "?")
        own = [known.name for known in known_models() if known.name.startswith(family)]
        own += [*ALIASES] if provider == "anthropic" else []
        return [(f"{provider}:{name}", "") for name in own]
    return names


def _begun(paths: Iterable[str], incomplete: str) -> list[str]:
    fitting = [path for path in paths if os.path.basename(path).startswith(incomplete)]
    return sorted(fitting, key=_used_at, reverse=True)


def _used_at(path: str) -> float:
    try:
        return os.stat(os.path.join(path, "journal.jsonl")).st_mtime
    except OSError:
        return 0.0


def _directory(ctx: "click.Context") -> str:
    given: Any = ctx.params.get("cwd")
    return os.path.realpath(given if isinstance(given, str) else os.curdir)

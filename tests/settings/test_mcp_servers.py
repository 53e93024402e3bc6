"""Where MCP servers are configured: every place, its rank, and what is broken there."""

import json
from typing import Any

import pytest
from tests.settings.conftest import World

from holdfast.settings.errors import SettingsError
from holdfast.settings.mcp_servers import ServerList, find_servers


def server(name: str) -> dict[str, Any]:
    return {"command": name}


def found(world: World, **more: Any) -> ServerList:
    place = str(world.project)
    return find_servers(world.roots, cwd=place, root=place, **more)


def named(world: World, **more: Any) -> dict[str, tuple[str, object]]:
    return {one.name: (one.scope, one.config.get("command")) for one in found(world, **more).entries}


def managed(world: World, content: object, kind: str = "claude-code") -> None:
    place = world.policy / kind / "managed-mcp.json"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")


def everywhere(world: World) -> dict[str, Any]:
    """One server of the same name in every place; returns the two that are no files."""
    world.write(".mcp.json", {"mcpServers": {"s": server("project")}})
    world.write("~/.config/holdfast/mcp.json", {"mcpServers": {"s": server("own"), "o": server("own")}})
    local: dict[str, Any] = {
        str(world.project): {"mcpServers": {"s": server("local")}},
        "/elsewhere": {"mcpServers": {"x": {}}},
    }
    world.write("~/.claude.json", {"mcpServers": {"s": server("user"), "u": server("user")}, "projects": local})
    return {"flags": (json.dumps({"mcpServers": {"s": server("flag")}}),), "settings": {"s": server("settings")}}


def test_the_whole_entry_of_the_highest_place_counts(world: World) -> None:
    more = everywhere(world)
    assert named(world, **more)["s"] == ("flag", "flag")
    del more["flags"]
    assert named(world, **more) == {"s": ("local", "local"), "o": ("user", "own"), "u": ("user", "user")}
    assert named(world, scopes=frozenset({"project"})) == {"s": ("project", "project")}
    assert named(world, scopes=frozenset({"user"}), **more)["s"] == ("user", "own")


def test_a_strict_command_line_and_a_managed_file_stand_alone(world: World) -> None:
    more = everywhere(world)
    assert named(world, strict=True, **more) == {"s": ("flag", "flag")}
    managed(world, {"mcpServers": {"m": server("managed")}})
    assert named(world, **more) == {"m": ("managed", "managed")}
    managed(world, {"mcpServers": {"n": server("more")}}, "holdfast")
    assert named(world, strict=True, **more) == {"m": ("managed", "managed"), "n": ("managed", "more")}


@pytest.mark.parametrize("broken", ["", "{", "[]", '{"mcpServers": [1]}', '{"mcpServers": {}}'])
def test_a_managed_file_that_is_broken_lets_nothing_else_in(world: World, broken: str) -> None:
    more = everywhere(world)
    managed(world, broken)
    assert named(world, **more) == {}
    assert bool(found(world, **more).problems) == (broken in ("", "{"))


def test_broken_places_are_said_and_keep_no_other_from_counting(world: World) -> None:
    world.write(".mcp.json", "{broken")
    world.write("~/.claude.json", '{"mcpServers": {"u": {"command": "u"}, "odd": 5}}')
    world.write("~/.config/holdfast/mcp.json", '{"mcpServers": ')
    seen = found(world)
    assert [one.name for one in seen.entries] == ["u"]
    assert len(seen.problems) == 3
    assert "'odd' is not an object" in "".join(seen.problems)


@pytest.mark.parametrize("text", ["{", "no-such-file.json"])
def test_a_broken_command_line_is_an_error(world: World, text: str) -> None:
    with pytest.raises(SettingsError, match="--mcp-config"):
        found(world, flags=(text,))


def test_a_bare_map_is_one_of_servers_and_only_of_these(world: World) -> None:
    bare: dict[str, Any] = {"a": server("a"), "b": {"url": "https://x"}, "version": 1, "note": {"text": "x"}}
    world.write("servers.json", bare)
    assert set(named(world, flags=("servers.json",))) == {"a", "b"}
    assert set(named(world, flags=(json.dumps(bare),))) == {"a", "b"}

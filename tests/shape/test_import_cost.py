"""Importing costs little: what a program does not use, it does not load."""

import json
import os
import subprocess
import sys
from pathlib import Path

HEAVY = (
    "mcp",
    "anthropic",
    "openai",
    "prompt_toolkit",
    "rich",
    "httpx2",
    "jsonschema_rs",
    "tree_sitter",
    "PIL",
    "click",
)


def loaded_by(statement: str) -> set[str]:
    code = f"{statement}\nimport sys\nprint('\\n'.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    return set(done.stdout.split())


def test_the_package_itself_loads_nothing() -> None:
    modules = loaded_by("import holdfast")
    assert not {"asyncio", "pydantic", "msgspec", *HEAVY} & modules


def test_the_version_needs_no_command_line_library() -> None:
    modules = loaded_by("import sys; sys.argv = ['holdfast', '--version']\nfrom holdfast.__main__ import main; main()")
    assert not {"asyncio", "pydantic", "msgspec", *HEAVY} & modules


def test_the_executor_and_the_decorator_load_nothing_heavy() -> None:
    modules = loaded_by("from holdfast import Executor, tool")
    assert not {"importlib.metadata", "annotated_types", *HEAVY} & modules


def test_rules_and_stages_are_loaded_with_the_first_executor_not_with_its_import() -> None:
    modules = loaded_by("from holdfast import Executor, tool")
    later = {"holdfast.permissions", "holdfast.lib.gitignore", "holdfast.engine.pipeline", "holdfast.registry"}
    assert not {"tempfile", "secrets", "hashlib", "json", *later} & modules


def test_a_first_executor_loads_no_shell_analysis_and_no_policy_tools() -> None:
    modules = loaded_by("from holdfast import Executor\nExecutor()")
    heavy = {"lint", "policy_tests", "explain", "suggest", "bash_rules", "powershell", "shell"}
    assert not {*HEAVY, "tempfile", *(f"holdfast.permissions.{name}" for name in heavy)} & modules


def test_settings_are_read_without_the_validation_library_or_an_event_loop() -> None:
    assert not {"pydantic", "asyncio", *HEAVY} & loaded_by("import holdfast.settings")


def test_an_agent_loads_a_provider_only_when_it_asks_one() -> None:
    later = {"httpx2", "opentelemetry", "tree_sitter", "holdfast.agent.loop", "holdfast.models.open", "click"}
    assert not {*HEAVY, *later} & loaded_by("from holdfast import Agent")
    script = "from holdfast import Agent\nfrom holdfast.models.scripted import ScriptedModel\n"
    modules = loaded_by(f"{script}Agent(ScriptedModel(['ok']), persist=False).run_sync('hi')")
    assert not {"httpx2", "opentelemetry", "jsonschema_rs", "holdfast.models.open", "holdfast.app.telemetry"} & modules


def test_a_run_that_calls_no_shell_loads_no_shell_analysis() -> None:
    script = "from holdfast import Agent\nfrom holdfast.models.scripted import ScriptedModel\n"
    modules = loaded_by(f"{script}Agent(ScriptedModel(['ok']), persist=False).run_sync('hi')")
    later = {"holdfast.permissions.shell.text.analysis", "holdfast.tools.shell._run", "pydantic.type_adapter"}
    assert not later & modules
    assert "holdfast.tools.shell.bash" in modules


def test_a_prompt_without_stream_json_loads_no_protocol(tmp_path: Path) -> None:
    script = tmp_path / "model.json"
    script.write_text(
        json.dumps([{"blocks": [{"type": "tool_use", "id": "t", "name": "Glob", "input": {"pattern": "*"}}]}, "done"])
    )
    code = (
        "import atexit, sys\n"
        "atexit.register(lambda: print('\\n'.join(sys.modules)))\n"
        f"sys.argv = ['holdfast', '-p', 'hi', '--model', {f'scripted:{script}'!r}]\n"
        "from holdfast.__main__ import main\n"
        "main()"
    )
    environ = {**os.environ, "HOME": str(tmp_path)}
    argv = [sys.executable, "-c", code]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=60, cwd=tmp_path, env=environ, check=False)
    modules = done.stdout.split()
    protocols = ("holdfast.acp", "holdfast.cli.host", "holdfast.cli.stream_input", "holdfast.mcp", "holdfast.tui")
    assert "holdfast.agent.loop" in modules, done.stderr
    assert [one for one in modules if one.startswith(protocols)] == []

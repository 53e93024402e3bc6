"""Importing costs little: what a program does not use, it does not load."""

import subprocess
import sys

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

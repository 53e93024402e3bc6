"""What the README and the docs show, runs, and the pages show exactly what runs."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXAMPLES = sorted((ROOT / "docs_src").glob("*.py"))
EXPECTED = {
    "agent_events.py": re.compile(r"Glob completed\nStructuredOutput completed\nSummary\(title='Readme', words=12\)\n"),
    "agent_ten_lines.py": re.compile(r"Milk costs 1\.29\.\n"),
    "ten_lines.py": re.compile(r"(CallFinished\(tool_use_id=.t\d., name=.add., .*\)\n){3}"),
    "server_in_python.py": re.compile(r"It is 5\.\n"),
    "test_your_tool.py": re.compile(r"3 passed\n"),
    "own_provider.py": re.compile(r"StreamStarted\(.*\)\nTextDelta\(.*\)\nBlockEnded\(.*\)\nStreamEnded\(.*\)\n"),
    "web_lab.py": re.compile(r"https://docs\.example\.com/guide answered 200 OK .*\n.*\n# Guide\n(.*\n)*"),
    "typed_agent.py": re.compile(r"2\.29\n7 messages, .*\n"),
    "test_an_agent.py": re.compile(r"3 passed\n"),
    "from_pydantic_ai.py": re.compile(r"You have 123\.45\. False True\n"),
    "from_pydantic_ai_more.py": re.compile(
        r"SELECT 1\nRoses are red\. Violets are blue\.\nfailed: error_during_execution\n"
    ),
    "second_classifier.py": re.compile(r"denied\n"),
    "hook_function.py": re.compile(r"I may not push. \['Bash'\]\n"),
    "mcp_client.py": re.compile(r".*1\\tHello\..*\n"),
    "own_session.py": re.compile(r"completed\n\['add'\]\n"),
    "own_tool.py": re.compile(r"\d+ words\n"),
}
SAID = {"hook_function.py": re.compile(r"1 call was refused \(Bash\): a rule or a hook denies it, .*\n")}
"""What an example says on standard error, where it says anything."""


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_an_example_runs_and_prints_what_it_should(example: Path) -> None:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"  # one starts `holdfast`
    argv, env = [sys.executable, str(example)], {**os.environ, "PATH": path}
    done = subprocess.run(argv, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert SAID.get(example.name, re.compile("")).fullmatch(done.stderr)
    assert EXPECTED[example.name].fullmatch(done.stdout)


def test_pages_show_the_examples_word_for_word() -> None:
    shown = [
        (page, name, code)
        for page in PAGES
        for name, code in re.findall(
            r"<!-- docs_src/(\w+\.py) -->\n```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL
        )
    ]
    assert {name for _, name, _ in shown} == {path.name for path in EXAMPLES}
    for page, name, code in shown:
        assert code == (ROOT / "docs_src" / name).read_text("utf-8"), f"{page.name} differs from docs_src/{name}"


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_inside_the_repository_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}, which does not exist"

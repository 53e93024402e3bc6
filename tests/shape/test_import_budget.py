"""What each command may load, counted in modules, not in time: ours by number, those of others by name."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

COUNT = (
    "import sys\n"
    "before = {name.split('.')[0] for name in sys.modules}\n"  # Debian's Python starts with a sitecustomize
    "import json\n"
    "def told():\n"
    "    ours = sum(name.split('.')[0] == 'holdfast' for name in sys.modules)\n"
    "    loaded = [name for name, module in sys.modules.items() if getattr(module, '__spec__', None)]\n"
    "    tops = {name.split('.')[0] for name in loaded} - before - set(sys.stdlib_module_names)\n"
    "    others = sorted(name for name in tops if not name.startswith(('_', 'holdfast')))\n"
    "    print('BUDGET ' + json.dumps([ours, others]), file=sys.stderr, flush=True)\n"
)
RUN = "from holdfast.cli.main import run\nrun({words!r})\ntold()\n"
FIRST_REQUEST = (
    "import os\n"
    "from holdfast.app import ahead\n"
    "class Asked:\n"
    "    def __init__(self, model, request):\n"
    "        import holdfast.permissions.shell.reach.git_config\n"  # what looks at git, in a trusted repository
    "        needless = [name for name in sys.modules if name.startswith('holdfast.permissions.shell.programs.')]\n"
    "        assert not needless, needless\n"
    "        told()\n"
    "        os._exit(0)\n"
    "ahead.AskedAhead = Asked\n"
    "from holdfast.cli.main import run\n"
    "run(['-p', 'hi', '--model', 'anthropic:claude-x'])\n"
)
EDITOR = (
    "import os\n"
    "read, write = os.pipe()\n"
    'os.write(write, b\'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}\\n\')\n'
    "os.close(write)\n"
    "os.dup2(read, 0)\n"
    "sys.argv = ['holdfast', 'acp']\n"
    "from holdfast.__main__ import _run\n"
    "assert _run() == 0\n"
    "told()\n"
)
FIRST_CALL = (
    "import os\n"
    "read, write = os.pipe()\n"
    'os.write(write, b\'{"type":"tool_use","id":"1","name":"Read","input":{"file_path":"/etc/hostname"}}\\n\')\n'
    "os.close(write)\n"
    "os.dup2(read, 0)\n"
    "sys.argv = ['holdfast', 'exec']\n"
    "from holdfast.__main__ import _run\n"
    "assert _run() == 0\n"
    "needless = {'importlib.metadata', 'email', 'zipfile', 'tempfile', 'shutil', 'difflib', 'importlib.resources'}\n"
    "assert not needless & set(sys.modules), needless & set(sys.modules)\n"
    "told()\n"
)
FIRST_COMMAND = (
    "sys.argv = ['holdfast', 'call', 'Bash', '{\"command\": \"true\"}', '--permission-mode', 'bypassPermissions']\n"
    "from holdfast.__main__ import _run\n"
    "assert _run() == 0\n"
    "needless = {'importlib.metadata', 'importlib.resources', 'tempfile', 'shutil', 'bz2'}\n"
    "assert 'tree_sitter' in sys.modules\n"
    "assert not needless & set(sys.modules), needless & set(sys.modules)\n"
    "told()\n"
)
PROMPT = (
    "import os\n"
    "from holdfast.tui import early\n"
    "def begin(words):\n"  # it draws, and everything else is loaded behind it
    "    told()\n"
    "    os._exit(0)\n"
    "early.begin = begin\n"
    "os.isatty = lambda number: True\n"
    "sys.argv = ['holdfast']\n"
    "from holdfast.__main__ import _run\n"
    "_run()\n"
)
SERVER = (
    "import os\n"
    "hello = {'protocolVersion': '2025-06-18', 'capabilities': {}, 'clientInfo': {'name': 'a', 'version': '1'}}\n"
    "asked = [('initialize', hello), ('tools/list', {})]\n"
    "head = {'jsonrpc': '2.0'}\n"
    "lines = [{**head, 'id': at, 'method': name, 'params': given} for at, (name, given) in enumerate(asked)]\n"
    "read, write = os.pipe()\n"
    "os.write(write, b''.join(json.dumps(line).encode() + b'\\n' for line in lines))\n"
    "os.close(write)\n"
    "os.dup2(read, 0)\n"
    "sys.argv = ['holdfast', 'mcp', 'serve']\n"
    "from holdfast.__main__ import _run\n"
    "assert _run() == 0\n"
    "told()\n"
)
LIGHT = ["msgspec", "typing_extensions"]
TYPED = ["annotated_types", "pydantic", "pydantic_core", "typing_inspection"]
TOOLS = sorted({*LIGHT, *TYPED})
BY_LIBRARY = ["click", *TOOLS]


def budget_of(code: str, place: Path) -> tuple[int, list[str]]:
    environ = {"HOME": str(place), "PATH": "/usr/bin:/bin", "ANTHROPIC_API_KEY": "k"}
    environ["ANTHROPIC_BASE_URL"] = "http://127.0.0.1:9"
    done = subprocess.run(
        [sys.executable, "-c", COUNT + code],
        input="",
        capture_output=True,
        text=True,
        cwd=place,
        env=environ,
        timeout=60,
        check=True,
    )
    lines = [line for line in done.stderr.splitlines() if line.startswith("BUDGET ")]
    ours, others = json.loads(lines[0].removeprefix("BUDGET "))
    return ours, others


@pytest.mark.parametrize(
    ("code", "most", "others"),
    [
        ("sys.argv = ['holdfast', '--version']\nfrom holdfast.__main__ import main\nmain()\ntold()\n", 2, []),
        (RUN.format(words=["--help"]), 10, ["click"]),
        (EDITOR, 30, ["msgspec", "typing_extensions"]),
        (PROMPT, 12, []),
        (SERVER, 292, BY_LIBRARY),
        (FIRST_REQUEST, 144, LIGHT),
        (RUN.format(words=["tools"]), 269, BY_LIBRARY),
        (RUN.format(words=["call", "Read", '{"file_path": "/etc/hostname"}']), 278, BY_LIBRARY),
        (RUN.format(words=["exec"]), 270, TOOLS),
        (FIRST_CALL, 272, TOOLS),
        (FIRST_COMMAND, 361, [*BY_LIBRARY, "tree_sitter"]),
    ],
    ids=[
        "--version",
        "--help",
        "acp to its first answer",
        "interactive to its prompt",
        "mcp serve to its list of tools",
        "-p to its first request",
        "tools",
        "call",
        "exec",
        "exec with a first call",
        "call with a first command",
    ],
)
def test_a_command_loads_what_it_needs_and_no_more(tmp_path: Path, code: str, most: int, others: list[str]) -> None:
    count, loaded = budget_of(code, tmp_path)
    assert set(loaded) <= set(others), f"a library that this command does not need: {set(loaded) - set(others)}"
    assert count <= most, f"{count} modules of ours, the budget is {most}"

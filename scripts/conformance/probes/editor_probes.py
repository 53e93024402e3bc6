"""An editor's side of the Agent Client Protocol, as bare JSON lines, against the adapter that runs the agent.

ADAPTER="node .../claude-agent-acp/dist/index.js" AGENT=/path/to/holdfast python editor_probes.py [WORD ...]
"""

import json
import os
import queue
import shlex
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

_LIMIT_S = 60
_PROBES: list[Callable[["Editor"], None]] = []


class Editor:
    """Speaks to one adapter process."""

    def __init__(self, cwd: str) -> None:
        self.cwd = Path(cwd)
        self.updates: list[dict[str, Any]] = []
        self.asked: list[dict[str, Any]] = []
        self.choose = "allow_once"
        self._count = 0
        env = {**os.environ, "CLAUDE_CODE_EXECUTABLE": os.environ["AGENT"]}
        argv = shlex.split(os.environ["ADAPTER"])
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=pipe, cwd=cwd, env=env, text=True)
        self._lines: queue.Queue[str] = queue.Queue()
        self.errors: list[str] = []
        threading.Thread(target=self._read, daemon=True).start()
        threading.Thread(target=self._hear, daemon=True).start()

    def _read(self) -> None:
        for line in self._process.stdout or ():
            self._lines.put(line)
        self._lines.put("")

    def _hear(self) -> None:
        for line in self._process.stderr or ():
            self.errors.append(line)

    def send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self._process.stdin.flush()

    def request(self, method: str, **params: Any) -> Any:
        """Ask, serve what the adapter asks meanwhile, and return the result."""
        self._count += 1
        number = self._count
        self.send({"id": number, "method": method, "params": params})
        while True:
            line = self._lines.get(timeout=_LIMIT_S)
            assert line, f"the adapter ended: {self.errors[-5:]}"
            message = json.loads(line)
            if message.get("id") == number and "method" not in message:
                assert "error" not in message, message["error"]
                return message["result"]
            self._serve(message)

    def _serve(self, message: dict[str, Any]) -> None:
        method, params = message["method"], message.get("params", {})
        if method == "session/update":
            self.updates.append(params["update"])
        elif method == "session/request_permission":
            self.asked.append(params)
            chosen = next(one["optionId"] for one in params["options"] if one["kind"] == self.choose)
            self.send({"id": message["id"], "result": {"outcome": {"outcome": "selected", "optionId": chosen}}})
        elif method == "fs/read_text_file":
            self.send({"id": message["id"], "result": {"content": Path(params["path"]).read_text()}})
        elif method == "fs/write_text_file":
            Path(params["path"]).write_text(params["content"])
            self.send({"id": message["id"], "result": {}})
        elif "id" in message:
            self.send({"id": message["id"], "error": {"code": -32601, "message": f"no {method} here"}})

    def begin(self) -> str:
        """Greet and open a session."""
        files = {"readTextFile": True, "writeTextFile": True}
        self.request("initialize", protocolVersion=1, clientCapabilities={"fs": files})
        return self.request("session/new", cwd=str(self.cwd), mcpServers=[])["sessionId"]

    def prompt(self, session: str, text: str) -> str:
        """Say something; the reason why the turn ended."""
        return self.request("session/prompt", sessionId=session, prompt=[{"type": "text", "text": text}])["stopReason"]

    def said(self) -> str:
        chunks = [one for one in self.updates if one["sessionUpdate"] == "agent_message_chunk"]
        return "".join(one["content"].get("text", "") for one in chunks)

    def close(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()


def probe(function: Callable[[Editor], None]) -> Callable[[Editor], None]:
    _PROBES.append(function)
    return function


def call(tool: str, **given: Any) -> str:
    return f"CALL {tool} {json.dumps(given)}"


@probe
def a_prompt_is_answered(editor: Editor) -> None:
    session = editor.begin()
    assert editor.prompt(session, "SAY hello there") == "end_turn"
    assert "hello there" in editor.said(), editor.updates


@probe
def a_file_is_written_after_a_yes(editor: Editor) -> None:
    session = editor.begin()
    text = call("Write", file_path=str(editor.cwd / "made.txt"), content="words") + "\nSAY written"
    assert editor.prompt(session, text) == "end_turn"
    assert len(editor.asked) == 1 and (editor.cwd / "made.txt").read_text() == "words", editor.asked
    calls = [one for one in editor.updates if one["sessionUpdate"] == "tool_call"]
    ends = [one.get("status") for one in editor.updates if one["sessionUpdate"] == "tool_call_update"]
    assert calls and ends[-1] == "completed", (calls, ends)
    assert "written" in editor.said()


@probe
def a_no_leaves_the_file_alone(editor: Editor) -> None:
    session = editor.begin()
    editor.choose = "reject_once"
    editor.prompt(session, call("Write", file_path=str(editor.cwd / "made.txt"), content="words"))
    assert editor.asked and not (editor.cwd / "made.txt").exists()
    editor.choose = "allow_once"
    assert editor.prompt(session, "SAY alive") == "end_turn" and "alive" in editor.said()


@probe
def always_is_asked_once(editor: Editor) -> None:
    session = editor.begin()
    editor.choose = "allow_always"
    command = call("Bash", command="touch made")
    editor.prompt(session, f"{command}\n{command}\nSAY done")
    assert len(editor.asked) == 1 and (editor.cwd / "made").exists(), editor.asked


@probe
def an_edit_shows_its_change(editor: Editor) -> None:
    (editor.cwd / "old.txt").write_text("one\ntwo\n")
    session = editor.begin()
    path = str(editor.cwd / "old.txt")
    edit = call("Edit", file_path=path, old_string="two", new_string="three")
    editor.prompt(session, f"{call('Read', file_path=path)}\n{edit}\nSAY done")
    assert (editor.cwd / "old.txt").read_text() == "one\nthree\n"
    told = json.dumps(editor.updates)
    assert '"type": "diff"' in told or '"diff"' in told, told[-2000:]


@probe
def modes_and_models_change(editor: Editor) -> None:
    session = editor.begin()
    editor.request("session/set_mode", sessionId=session, modeId="acceptEdits")
    editor.prompt(session, call("Write", file_path=str(editor.cwd / "made.txt"), content="words"))
    assert not editor.asked and (editor.cwd / "made.txt").exists()


@probe
def a_running_turn_is_cancelled(editor: Editor) -> None:
    session = editor.begin()
    threading.Timer(2.0, lambda: editor.send({"method": "session/cancel", "params": {"sessionId": session}})).start()
    assert editor.prompt(session, "SLOWLY " + "word " * 2000) == "cancelled"
    # The adapter takes the `idle` behind the result of a cancelled turn for the end of its next one.
    editor.prompt(session, "SAY once more")
    assert editor.prompt(session, "SAY alive") == "end_turn" and "alive" in editor.said()


@probe
def a_todo_list_is_a_plan(editor: Editor) -> None:
    session = editor.begin()
    todos = [{"content": "First", "status": "pending", "activeForm": "Doing first"}]
    editor.prompt(session, call("TodoWrite", todos=todos) + "\nSAY done")
    assert "done" in editor.said()


def _run(function: Callable[[Editor], None]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as place:
        editor = Editor(os.path.realpath(place))
        try:
            function(editor)
        except Exception as error:
            detail = "".join(traceback.format_exception(error)[-2:]).strip()
            return {
                "case": function.__name__,
                "ok": False,
                "detail": f"{detail}\nstderr: {''.join(editor.errors[-8:])}",
            }
        finally:
            editor.close()
    return {"case": function.__name__, "ok": True}


if __name__ == "__main__":
    wanted = sys.argv[1:]
    for one in _PROBES:
        if not wanted or any(word in one.__name__ for word in wanted):
            print(json.dumps(_run(one)), flush=True)

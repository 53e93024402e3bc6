"""Which hosts commands in the sandbox reach: settings, rules, and names that lead elsewhere."""

import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from holdfast.app import Options, build_executor
from holdfast.app.network import DomainBorder, unusable_domains
from holdfast.cli.main import run
from holdfast.engine import Executor
from holdfast.host.sandbox.proxy import Refused
from holdfast.permissions import PermissionContext, Rule
from holdfast.settings.sandbox import SandboxSettings


def border(allowed: list[str], denied: list[str] | None = None, rules: list[str] | None = None) -> DomainBorder:
    rights = PermissionContext.started_in("/", "default", [Rule.parse("deny", text) for text in rules or []])
    wanted = SandboxSettings(allowed_domains=tuple(allowed), denied_domains=tuple(denied or ()))
    return DomainBorder(wanted, rights, lambda _: None)


def is_admitted(judge: DomainBorder, host: str) -> bool:
    try:
        judge.admit(host, 443)
    except Refused:
        return False
    return True


@pytest.mark.parametrize(
    "host", ["example.com", "EXAMPLE.com", "example.com.", "api.deep.example.org", "xn--bcher-kva.example"]
)
def test_a_host_that_an_entry_names_is_let_pass(host: str) -> None:
    assert is_admitted(border(["example.com", "*.example.org", "bücher.example"]), host)


@pytest.mark.parametrize(
    "host",
    [
        "example.org", "evil-example.com", "example.com.evil.net", "evil.net", "sub.example.com", "example.com:80",
        "example.com/evil", "user@example.com", "example.com@evil.net", "example.com\0evil.net", "example.com\n",
        " example.com", "example.com%00.evil.net", "exam\u200bple.com", "127.0.0.1", "2130706433", "0x7f.1",
        "0177.0.0.1", "[::1]", "::1", "[::ffff:127.0.0.1]", "localhost", "169.254.169.254", "",
        "metadata.google.internal", ".",
        "*", "*.example.org", "a" * 300 + ".example.org", "example.com#.evil.net", "example.com?.evil.net",
        "\uff45vil.net", "example\u3002org",
    ],
)  # fmt: skip
def test_every_other_host_is_not(host: str) -> None:
    assert not is_admitted(border(["example.com", "*.example.org"]), host)


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1", "[::1]", "[::ffff:10.0.0.1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[::127.0.0.1]",
        "[fe80::1]", "[fd00:ec2::254]", "169.254.169.254", "0.0.0.0", "0", "0x7f000001", "017700000001", "127.1",
        "localhost", "a.localhost", "printer.local", "metadata.google.internal", "router", "100.100.100.200",
        "168.63.129.16", "224.0.0.1", "255.255.255.255", "192.0.0.1", "198.18.0.1", "[2001:db8::1]",
        "host.docker.internal",
        "[fe80::1%25eth0]", "[::]", "[0:0:0:0:0:0:0:1]", "[::ffff:7f00:1]", "localhost.", "LOCALHOST",
    ],
)  # fmt: skip
def test_everything_public_is_not_this_machine_nor_its_network(host: str) -> None:
    """Also where another proxy would look the name up, so that no address is seen here."""
    assert not is_admitted(border(["*"]), host)


def test_denied_domains_and_deny_rules_win() -> None:
    judge = border(["*"], ["*.bad.example", "203.0.113.7"], ["WebFetch(domain:worse.example)"])
    hosts = ["fine.example", "bad.example", "a.bad.example", "WORSE.example.", "3405803783"]
    assert [is_admitted(judge, host) for host in hosts] == [True, True, False, False, False]


@pytest.mark.parametrize(
    ("allowed", "host", "address", "passes"),
    [
        ("example.com", "example.com", "93.184.216.34", True),
        ("example.com", "example.com", "127.0.0.1", False),
        ("example.com", "example.com", "169.254.169.254", False),
        ("example.com", "example.com", "0.0.0.0", False),
        ("example.com", "example.com", "::1", False),
        ("example.com", "example.com", "::ffff:127.0.0.1", False),
        ("example.com", "example.com", "fd00:ec2::254", False),
        ("example.com", "example.com", "100.100.100.200", False),
        ("git.corp.example", "git.corp.example", "10.1.2.3", True),
        ("*.corp.example", "git.corp.example", "10.1.2.3", False),
        ("*", "git.corp.example", "192.168.0.1", False),
        ("localhost", "localhost", "127.0.0.1", True),
        ("localhost", "localhost", "::1", True),
        ("127.0.0.1", "127.0.0.1", "127.0.0.1", True),
        ("*", "127.0.0.1", "127.0.0.1", False),
    ],
)
def test_a_name_leads_into_this_machine_or_network_only_where_the_user_names_it(
    allowed: str, host: str, address: str, passes: bool
) -> None:
    judge = border([allowed])
    if passes:
        judge.check(host, address)
    else:
        with pytest.raises(Refused, match="not a public address"):
            judge.check(host, address)


def test_entries_that_are_no_domains_are_told_and_count_for_nothing() -> None:
    wanted = SandboxSettings(allowed_domains=("https://x.example/", "fine.example"), denied_domains=("a b",))
    assert len(unusable_domains(wanted)) == 2
    assert not is_admitted(border(["https://x.example/"]), "x.example")


class Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = b"the page"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the base class has it
        del format, args


@pytest.fixture
def port() -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join(60)


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    if shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed")
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "HOME", "CLAUDE_CONFIG_DIR"):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(name, str(tmp_path / name))
    for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
        monkeypatch.delenv(name)
    project = Path(os.path.realpath(tmp_path)) / "project"
    project.mkdir()
    subprocess.run(["git", "init", "-q", str(project)], check=True, timeout=60)
    return project


def session(place: Path, **network: Any) -> Executor:
    settings = {"sandbox": {"enabled": True, "network": network}}
    return build_executor(Options(cwd=str(place), settings=(json.dumps(settings),)))


def fetch(url: str) -> dict[str, str]:
    script = (
        'import urllib.request as u; way = u.ProxyHandler({"http": "http://127.0.0.1:31128"}); '
        f'print(u.build_opener(way).open("{url}").read())'
    )
    return {"command": f"no_proxy= NO_PROXY= python3 -c '{script}'"}


def test_a_session_reaches_the_domains_of_its_settings_and_tells_who_was_turned_away(place: Path, port: int) -> None:
    executor = session(place, allowedDomains=["localhost"])
    assert "the page" in executor.call("Bash", fetch(f"http://localhost:{port}/")).content
    refused = executor.call("Bash", fetch(f"http://127.0.0.1:{port}/")).content
    assert "HTTP Error 403" in refused
    assert "The sandbox keeps commands from reaching this host" in refused
    assert "127.0.0.1 (sandbox.network.allowedDomains does not name it)" in refused
    assert "who can allow it by sandbox.network.allowedDomains" in refused


def test_git_npm_and_pip_are_led_to_the_proxy_whatever_their_own_settings_say(place: Path, port: int) -> None:
    (Path(os.environ["HOME"]) / ".gitconfig").write_text("[http]\n\tproxy = http://10.0.0.1:1\n", encoding="utf-8")
    executor = session(place, allowedDomains=["localhost"])
    asked = executor.call("Bash", {"command": f"git ls-remote http://localhost.evil:{port}/x"}).content
    assert "localhost.evil" in asked
    assert "403" in asked
    shown = executor.call("Bash", {"command": "env | grep -i -c '=http://127.0.0.1:31128'"}).content
    assert int(str(shown)) >= 20


def test_the_users_own_proxy_serves_where_the_settings_name_its_port(place: Path, port: int) -> None:
    executor = session(place, httpProxyPort=port)
    assert "the page" in executor.call("Bash", fetch("http://anything.example/")).content
    assert "0\n" not in executor.call("Bash", {"command": f"(echo > /dev/tcp/127.0.0.1/{port}); echo $?"}).content


def test_the_command_line_runs_with_the_same_network(
    place: Path, port: int, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place)
    settings = json.dumps({"sandbox": {"network": {"allowedDomains": ["localhost"]}}})
    script = fetch(f"http://localhost:{port}/")["command"]
    assert run(["sandbox", "run", "--settings", settings, "--", "bash", "-c", script]) == 0
    assert "the page" in capfd.readouterr().out

"""Links that a command makes and goes through in the same text."""

from pathlib import Path
from typing import Any

import pytest

from holdfast.permissions.policy.cases import judge
from holdfast.permissions.shell.reach.written_forms import MadeLink, through_links


@pytest.fixture
def project(tmp_path: Path) -> str:
    for name in ("out", "sub", "secrets"):
        (tmp_path / name).mkdir()
    for name in ("a.txt", "out/a", "secrets/a"):
        (tmp_path / name).write_text("x")
    return str(tmp_path)


def verdict(command: str, cwd: str, *, mode: str = "bypassPermissions", **rules: Any) -> str:
    return judge("Bash", {"command": command}, mode=mode, cwd=cwd, home="/home/u", **rules).behavior


@pytest.mark.parametrize(
    "command",
    [
        "ln -s out q && touch q/n", "ln -s out q; echo x > q/n", "ln -s $PWD/out q && touch q/n",
        "ln -s ../out sub/q && touch sub/q/n", "ln -sfn out q && rm -rf q/x", "ln -s out q && cd q && touch n",
        "ln -s out q && ln -s q r && touch r/n", "ln -st sub ../out && touch sub/out/n",
        "ln -s ../out sub && touch sub/out/n",
        "ln -s ../out sub/ && touch sub/out/n", "cd sub && ln -s ../out && touch out/n",
        "ln -sr out sub/q && touch sub/q/n",
        "cp -s out/a q && echo x > q", "ln out/a q && echo x > q", "(ln -s out q) && touch q/n",
        "sh -c 'ln -s out q; touch q/n'", "ln -s out q && cp a.txt q", "ln -s out q && rm -rf q/",
        "ln -s out q && tee q/{a,b}",
        "ln -s out q && ln -s x q/n",
    ],
)  # fmt: skip
def test_what_is_written_through_a_new_link_is_written_where_it_leads(command: str, project: str) -> None:
    assert verdict(command, project, deny=["Edit(out/**)"]) == "deny"
    assert verdict(command, project, ask=["Edit(out/**)"]) == "ask"


@pytest.mark.parametrize(
    "command",
    [
        "ln -s secrets q && cat q/a", "ln -s secrets q; grep -r x q", "ln -s secrets q && cd q && cat a",
        "ln -s . q && cat q/secrets/a", "ln -sf secrets q && head q/a",
    ],
)  # fmt: skip
def test_what_is_read_through_a_new_link_is_read_where_it_leads(command: str, project: str) -> None:
    assert verdict(command, project, deny=["Read(secrets/**)"]) in ("deny", "ask")


@pytest.mark.parametrize(
    "command",
    [
        "ln -s out q",
        "ln -s out/a q",
        "ln -s sub q && touch q/n",
        "ln -s a.txt q && cat q",
        "ln -s ../a.txt sub/ && touch sub/n",
    ],
)
def test_a_link_by_itself_changes_nothing_behind_it(command: str, project: str) -> None:
    assert verdict(command, project, deny=["Edit(out/**)"]) == "allow"


@pytest.mark.parametrize(
    "command",
    [
        "ln -s out q && touch q*/n", "ln -s out q && touch [q]/n", "ln -s ../out sub/q && rm sub/*/a",
        'ln -s "$X" q && touch q/n', 'ln -s "$X" q && echo x > q/n', "ln -s $(get) q; cd sub && touch ../q/n",
    ],
)  # fmt: skip
def test_a_way_through_a_new_link_that_the_text_does_not_tell_is_asked_about(command: str, project: str) -> None:
    assert verdict(command, project, deny=["Edit(out/**)"]) in ("ask", "deny")
    assert verdict(command, project, ask=["Edit(out/**)"]) == "ask"


@pytest.mark.parametrize(
    "command", ['ln -s "$X" q', 'ln -s "$X" q && npm test', "ln -s out q && touch sub/n", "ln -s out q; rm *.o"]
)
def test_a_new_link_that_nothing_goes_through_is_no_question(command: str, project: str) -> None:
    assert verdict(command, project, deny=["Edit(out/**)"]) == "allow"


def test_a_link_out_of_the_working_directories_grants_nothing(project: str) -> None:
    rules = {"allow": ["Bash", "Edit(./**)"]}
    assert verdict("ln -s sub q && echo x > q/n", project, mode="default", **rules) == "allow"
    assert verdict("ln -s /etc q && echo x > q/n", project, mode="default", **rules) == "ask"
    assert verdict("ln -s /etc q && cd q && npm test", project, mode="default", **rules) == "ask"


def test_links_that_lead_to_each_other_come_to_an_end() -> None:
    links = (MadeLink("/p/a", "/p/b", named=True), MadeLink("/p/b", "/p/a", named=True))
    assert list(through_links(["a/x"], links, "/p")) == ["a/x", "/p/b/x", "/p/a/x"]

from typing import Any

import pytest

from holdfast.permissions.context import PermissionContext
from holdfast.permissions.paths import NoDisk
from holdfast.permissions.policy.cases import judge
from holdfast.permissions.rules.grammar import Rule
from holdfast.permissions.shell.judge.rule_words import is_too_wide_command
from holdfast.permissions.shell.judge.verdict import judge_shell
from holdfast.permissions.shell.words.expansion import Told, told_by
from holdfast.permissions.tool_facts import facts_from_input

A, K, D = "allow", "ask", "deny"
CASES: list[tuple[str, str, str, dict[str, Any]]] = [
    # modes
    ("ls", A, "default", {}),
    ("ls", A, "plan", {}),
    ("npm test", K, "default", {}),
    ("npm test", D, "plan", {}),
    ("npm test", D, "dontAsk", {}),
    ("npm test", A, "bypassPermissions", {}),
    ("npm run build", A, "auto", {}),
    ("sudo rm x", K, "auto", {}),
    ("cp a /etc/x", K, "auto", {}),
    ("curl x | sh", K, "auto", {"allow": ["Bash(*)"]}),
    ("sudo make", K, "auto", {"allow": ["Bash"]}),
    ("git push", A, "auto", {"allow": ["Bash(git push)"]}),
    # allow: every part
    ("npm test", A, "default", {"allow": ["Bash(npm test)"]}),
    ("npm test && ls", A, "default", {"allow": ["Bash(npm test)"]}),
    ("npm test && rm x", K, "default", {"allow": ["Bash(npm test)"]}),
    ("npm test", A, "default", {"allow": ["Bash"]}),
    ("npm test", A, "default", {"allow": ["Bash(*)"]}),
    ("cd sub && npm test", A, "default", {"allow": ["Bash(npm test)"]}),
    ("cd /tmp && npm test", K, "default", {"allow": ["Bash(npm test)"]}),
    # deny and ask: any part, any nesting, any mode
    ("npm test", D, "bypassPermissions", {"deny": ["Bash"]}),
    ("sudo rm x", D, "default", {"deny": ["Bash(rm *)"]}),
    ("CI=1 git push", D, "default", {"deny": ["Bash(git push *)"]}),
    ("bash -c 'git push'", D, "bypassPermissions", {"deny": ["Bash(git push:*)"]}),
    ("git push", K, "bypassPermissions", {"ask": ["Bash(git push *)"]}),
    ("git push", K, "default", {"ask": ["Bash(git push *)"], "allow": ["Bash"]}),
    # what cannot be seen may be what a rule is about
    ("$cmd push", K, "bypassPermissions", {"deny": ["Bash(git push:*)"]}),
    ("$cmd push", A, "bypassPermissions", {}),
    ("cat x 'y", K, "bypassPermissions", {"deny": ["Read(.env)"]}),
    ("git $x", K, "default", {"deny": ["Bash(git push:*)"], "allow": ["Bash(git *)"]}),
    ("git commit $x", A, "default", {"deny": ["Bash(git push:*)"], "allow": ["Bash(git commit *)"]}),
    # critical removals, in every mode and under every rule
    ("rm -rf /", K, "bypassPermissions", {}),
    ("rm -rf /", K, "default", {"allow": ["Bash"]}),
    ("rm -rf ~", D, "dontAsk", {"allow": ["Bash"]}),
    ("rm -rf build", A, "bypassPermissions", {}),
    # what is read outside is a question, also where a rule lets the output be written
    ("cat /etc/passwd > src/x", K, "default", {"allow": ["Edit(src/**)"]}),
    ("ls && cat /etc/passwd > src/x", K, "default", {"allow": ["Edit(src/**)"]}),
    ("cat a.txt > src/x", A, "default", {"allow": ["Edit(src/**)"]}),
    ("cat ~/.ssh/id_rsa > src/x", K, "auto", {"allow": ["Edit(src/**)"]}),
    # files a command reads go through the Read rules
    ("cat .env", D, "default", {"deny": ["Read(.env)"]}),
    ("cat .env", D, "bypassPermissions", {"deny": ["Read(.env)"]}),
    ("cat < .env", D, "default", {"deny": ["Read(.env)"]}),
    ("{ cat .env; }", D, "default", {"deny": ["Read(.env)"]}),
    ("cat <(ls) .env", D, "default", {"deny": ["Read(.env)"]}),
    ("cat sub/../.env", D, "default", {"deny": ["Read(.env)"]}),
    ("cd sub && cat .env", D, "default", {"deny": ["Read(.env)"]}),
    ("cat *.pem", D, "default", {"deny": ["Read(*.pem)"]}),
    ("cat secrets/*", D, "default", {"deny": ["Read(secrets/**)"]}),
    ("cat a.{py,pem}", D, "default", {"deny": ["Read(*.pem)"]}),
    ("cat .env", K, "bypassPermissions", {"ask": ["Read(.env)"]}),
    ("cat $f", K, "default", {"deny": ["Read(.env)"]}),
    ("cd $x && cat f", K, "default", {"deny": ["Read(.env)"]}),
    ("ls | xargs cat", K, "default", {"deny": ["Read(.env)"]}),
    ("cat $f", A, "default", {}),
    ("cat *.py", A, "default", {"deny": ["Read(.env)"]}),
    ("grep -rn x .", K, "default", {"deny": ["Read(.env)"]}),
    ("grep -rn x .", K, "bypassPermissions", {"ask": ["Read(.env)"]}),
    ("grep -rn x .", A, "default", {}),
    ("grep -rn x src", A, "default", {"deny": ["Read(./conf/**)"]}),
    ("grep -rn x conf", K, "default", {"deny": ["Read(./conf/deep/*.key)"]}),
    ("grep -rn --include='*.py' x .", A, "default", {"deny": ["Read(.env)"]}),
    ("grep -rn --include='.e*' x .", K, "default", {"deny": ["Read(.env)"]}),
    ("grep -n x a.txt", A, "default", {"deny": ["Read(.env)"]}),
    ("rg x", A, "default", {"deny": ["Read(.env)"]}),
    ("rg --hidden x", K, "default", {"deny": ["Read(.env)"]}),
    ("rg x", K, "default", {"deny": ["Read(*.pem)"]}),
    ("rg -g '*.py' x", A, "default", {"deny": ["Read(*.pem)"]}),
    ("ls | rg x", A, "default", {"deny": ["Read(*.pem)"]}),
    ("git grep x", K, "default", {"deny": ["Read(.env)"]}),
    ("find . -type f -exec cat {} +", K, "bypassPermissions", {"deny": ["Read(.env)"]}),
    ("find . -name '*.py' -exec cat {} +", A, "bypassPermissions", {"deny": ["Read(.env)"]}),
    ("find . -name '*.py'", A, "default", {"deny": ["Read(.env)"]}),
    ("tar c . | cat", K, "bypassPermissions", {"deny": ["Read(.env)"]}),
    ("cp -r . ../x", K, "bypassPermissions", {"deny": ["Read(.env)"]}),
    ("cp a b", A, "bypassPermissions", {"deny": ["Read(.env)"]}),
    ("diff -r a b", K, "default", {"deny": ["Read(*.pem)"]}),
    ("cd sub && grep -r x .", K, "default", {"deny": ["Read(.env)"]}),
    ("ls -R .", A, "default", {"deny": ["Read(.env)"]}),
    # and reads outside are the path layer's question
    ("cat /etc/passwd", K, "default", {}),
    ("cat ../x", K, "default", {}),
    ('cat "$HOME/.ssh/id_rsa"', K, "default", {}),
    ("cat ~/.ssh/id_rsa", K, "auto", {}),
    ("cat /etc/*", K, "default", {}),
    ("cat /etc/$x", K, "default", {}),
    ("cat /etc/hostname", A, "auto", {}),
    ("cat /etc/passwd", D, "dontAsk", {}),
    ("cat /etc/passwd", A, "default", {"allow": ["Bash(cat *)"]}),
    ("cat /etc/passwd", A, "default", {"allow": ["Read(//etc/**)"]}),
    ("cat /etc/passwd && npm test", K, "default", {"allow": ["Bash(npm test)"]}),
    ("cat /dev/null", A, "default", {}),
    ("wc -l $(git ls-files)", A, "default", {}),
    # files a command writes go through the Edit rules
    ("echo x > out", K, "default", {}),
    ("echo x > out", K, "default", {"allow": ["Bash(echo *)"]}),
    ("echo x > out", A, "default", {"allow": ["Bash(echo *)", "Edit(/out)"]}),
    ("echo x > $out", K, "default", {"allow": ["Bash(echo *)", "Edit"]}),
    ("echo x > .git/config", K, "default", {"allow": ["Bash", "Edit"]}),
    ("echo x > .git/config", A, "bypassPermissions", {}),
    ("echo x > out", D, "bypassPermissions", {"deny": ["Edit(out)"]}),
    ("tee out", D, "bypassPermissions", {"deny": ["Edit(out)"]}),
    # file commands in acceptEdits
    ("mkdir -p a/b", A, "acceptEdits", {}),
    ("cp a b && mv b c && ls", A, "acceptEdits", {}),
    ("touch /etc/x", K, "acceptEdits", {}),
    ("cp a .git/hooks/x", K, "acceptEdits", {}),
    ("mkdir x && rm y", K, "acceptEdits", {}),
    ("cp /etc/passwd x", K, "acceptEdits", {}),
    ("mkdir $x", K, "acceptEdits", {}),
    ("X=1 mkdir x", K, "acceptEdits", {}),
    ("X=1; mkdir x", K, "acceptEdits", {}),
    ("mkdir x > log", K, "acceptEdits", {}),
    ("sudo mkdir x", K, "acceptEdits", {}),
    ("./mkdir x", K, "acceptEdits", {}),
    ("rm x", K, "acceptEdits", {}),
]


@pytest.mark.parametrize(("command", "expected", "mode", "rules"), CASES)
def test_a_command_gets_its_verdict(command: str, expected: str, mode: str, rules: dict[str, Any]) -> None:
    decision = judge("Bash", {"command": command}, mode=mode, cwd="/proj", home="/home/u", **rules)
    assert decision.behavior == expected, decision.reason


def test_monitor_follows_the_bash_rules() -> None:
    def verdict(**rules: Any) -> str:
        return judge("Monitor", {"command": "npm test"}, **rules).behavior

    assert verdict() == "ask"
    assert verdict(allow=["Bash(npm test)"]) == "allow"
    assert verdict(deny=["Bash"]) == "deny"
    assert verdict(deny=["Bash(npm *)"], mode="bypassPermissions") == "deny"
    assert verdict(deny=["Monitor"], allow=["Bash"]) == "deny"


POWERSHELL: list[tuple[str, str, str, dict[str, Any]]] = [
    ("Get-ChildItem", K, "default", {}),
    ("Get-ChildItem", D, "plan", {}),
    ("Get-ChildItem", A, "bypassPermissions", {}),
    ("Get-ChildItem", A, "default", {"allow": ["PowerShell(get-childitem)"]}),
    ("ls -Force", A, "default", {"allow": ["PowerShell(Get-ChildItem:*)"]}),
    ("ls; rm x", K, "default", {"allow": ["PowerShell(Get-ChildItem *)"]}),
    ("anything", A, "default", {"allow": ["PowerShell"]}),
    ("rm x", D, "default", {"deny": ["PowerShell(Remove-Item *)"]}),
    ("ls; RM x", D, "bypassPermissions", {"deny": ["PowerShell(Remove-Item:*)"]}),
    ("ls $x", K, "bypassPermissions", {"deny": ["PowerShell(Remove-Item:*)"]}),
    ("git push", K, "bypassPermissions", {"ask": ["PowerShell(git push)"]}),
    ("rm -r ~", K, "bypassPermissions", {}),
    ("Get-Date", K, "auto", {}),
    (";", K, "default", {}),
]


@pytest.mark.parametrize(("command", "expected", "mode", "rules"), POWERSHELL)
def test_powershell_runs_by_rule_or_by_question(command: str, expected: str, mode: str, rules: dict[str, Any]) -> None:
    assert judge("PowerShell", {"command": command}, mode=mode, **rules).behavior == expected


def test_the_verdict_names_its_parts_and_what_the_rules_leave_open() -> None:
    facts = facts_from_input("Bash", {"command": "git log | head && rm x"}, "/proj")
    where = PermissionContext(rules=[Rule.parse("allow", "Bash(git *)")], disk=NoDisk())
    verdict = judge_shell(facts, where)
    assert [(part.text, part.read_only) for part in verdict.parts] == [
        ("git log", True),
        ("head", True),
        ("rm x", False),
    ]
    assert verdict.left_open == ("no rule allows rm x",)


@pytest.mark.parametrize(
    ("form", "told"),
    [
        ("$x", Told(unknown=True)),
        ("/etc/$x", Told(("/etc",), unknown=True)),
        ('"$HOME/.ssh"/*', Told(("~/.ssh",), ("~/.ssh/x",))),
        ("$HOME", Told(("~",), ("~",))),
        ("src/$x", Told(unknown=True)),
        ("-$x", Told(unknown=True)),
        ("-[a]", Told()),
        ("../*", Told(("..",), ("../x",))),
    ],
)
def test_a_dynamic_word_still_tells_where_it_starts(form: str, told: Told) -> None:
    assert told_by(form) == told


@pytest.mark.parametrize(
    ("content", "wide"),
    [
        ("*", True),
        (":*", True),
        ("* --help", True),
        ("python *", True),
        ("python3.12:*", True),
        ("/usr/bin/node *", True),
        ("bash -c *", True),
        ("npx *", True),
        ("npm exec *", True),
        ("uv run pytest *", False),
        ("python script.py *", False),
        ("python script.py", False),
        ("git *", False),
        ("sudo *", True),
    ],
)
def test_patterns_that_leave_open_what_is_run_are_known(content: str, wide: bool) -> None:
    assert is_too_wide_command(content) is wide


@pytest.mark.parametrize(
    "command",
    [
        "echo x > a.txt", "echo x >> a.txt 2>&1", "ls | grep x > a.txt", "cat <<EOF > a.txt\nhi\nEOF", "> a.txt",
        "{ ls; pwd; } > a.txt", "cd src && echo x > ../a.txt", "timeout 5 ls > a.txt", "ls > a.txt && cat a.txt",
    ],
)  # fmt: skip
def test_an_edit_rule_covers_the_redirect_of_a_command_that_only_reads(command: str) -> None:
    def verdict(**rules: Any) -> str:
        return judge("Bash", {"command": command}, cwd="/proj", **rules).behavior

    assert verdict(allow=["Edit(a.txt)"]) == "allow"
    assert verdict(allow=["Edit"], mode="dontAsk") == "allow"
    assert verdict(allow=["Edit(b.txt)"]) == "ask"
    assert verdict(allow=["Edit(a.txt)"], mode="plan") == "deny"
    assert verdict(allow=["Edit(a.txt)"], ask=["Edit(*.txt)"]) == "ask"
    assert verdict() == "ask"


@pytest.mark.parametrize(
    "command",
    [
        "npm test > a.txt", "A=1 ls > a.txt", "echo $(npm test) > a.txt", "ls > a.txt > b.txt", "ls > a.txt; npm test",
        "cd src && git status > ../a.txt", "./ls > a.txt", "find . -fprint b > a.txt", "ls() { x; }; ls > a.txt",
        "ls > $A", "ls > ~/a.txt", "cd /tmp && ls > a.txt", "ls > a.txt | tee b.txt",
    ],
)  # fmt: skip
def test_an_edit_rule_covers_nothing_but_the_redirect(command: str) -> None:
    assert judge("Bash", {"command": command}, cwd="/proj", allow=["Edit(a.txt)"]).behavior == "ask"


@pytest.mark.parametrize("command", ["~/rm -rf x", "~/bin/rm -rf x", "/opt/bin/rm -rf x", "./rm -rf x"])
@pytest.mark.parametrize("rule", ["Bash(rm -rf x)", "Bash(rm * x)", "Bash(rm -rf:*)"])
def test_a_deny_sees_the_words_behind_a_command_that_is_named_by_its_path(command: str, rule: str) -> None:
    assert judge("Bash", {"command": command}, cwd="/proj", allow=["Bash"], deny=[rule]).behavior == "deny"

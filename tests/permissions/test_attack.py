"""SearchScope around the rules that an independent attack on the contract found, each with its whole class."""

import json
from pathlib import Path
from typing import Any

import pytest

from holdfast.permissions.context import PermissionContext
from holdfast.permissions.policy.cases import run_case
from holdfast.permissions.shell.text.analysis import analyse

BASE = PermissionContext("default", [], project_root="/none")


def verdict(command: str, *, cwd: str = "/none/proj", mode: str = "default", **rules: list[str]) -> str:
    case: dict[str, Any] = {"command": command, "rules": rules, "cwd": cwd, "mode": mode}
    return run_case(case, BASE).decision.behavior


RUNNERS = [
    "fd -x rm",
    "fd . --exec rm {}",
    "fd -X rm",
    "fd -Hx rm",
    "fd --exec=rm",
    "fd -xrm",
    "fd --exec-b rm",
    "fdfind . -x rm {} \\;",
    "fd -x sh -c 'rm x'",
    "mapfile -C 'rm x' a",
    "readarray -c1 -C 'rm x' a",
    "mapfile -tC 'rm x' a",
    "compgen -C 'rm x'",
    "complete -C 'rm x' ls",
    "ssh-agent rm x",
]


@pytest.mark.parametrize("command", RUNNERS)
def test_what_a_command_starts_is_seen_by_deny_and_ask_rules(command: str) -> None:
    assert verdict(command, allow=["Bash"], deny=["Bash(rm:*)"]) == "deny"
    assert verdict(command, allow=["Bash"], ask=["Bash(rm:*)"]) == "ask"


@pytest.mark.parametrize("command", [*RUNNERS[:9], "fd . -x cp {} /etc"])
def test_an_allow_rule_for_a_finder_does_not_cover_what_it_runs(command: str) -> None:
    assert verdict(command, allow=["Bash(fd:*)", "Bash(fdfind:*)"]) == "ask"


@pytest.mark.parametrize("command", ["fd foo", "fd -tx foo", "fd -exml", "fd -E x foo", "fd --extension xml"])
def test_a_finder_that_runs_nothing_stays_free(command: str) -> None:
    assert verdict(command, deny=["Bash(rm:*)"]) == "allow"


def test_a_rule_that_spells_the_whole_text_covers_a_deletion() -> None:
    command = "find . -name '*.tmp' -delete"
    assert verdict(command, allow=[f"Bash({command})"]) == "allow"
    assert verdict("find . -name 'a.tmp' -delete", allow=[f"Bash({command})"]) == "ask"
    assert verdict("find . -name *.tmp -delete", allow=[f"Bash({command})"]) == "ask"
    assert verdict("find . -name x -delete", allow=["Bash(find *)"]) == "ask"


@pytest.mark.parametrize("command", ["cat .e*", "cat .*", "cat ./.e*", "head -n1 .e??", "cat .[a-e]nv", "cat */.e*"])
def test_a_pattern_that_would_match_a_denied_name_is_denied(command: str) -> None:
    assert verdict(command, deny=["Read(.env)"]) == "deny"
    assert verdict(command, ask=["Read(.env)"]) == "ask"


def test_a_pattern_through_a_denied_directory_is_denied() -> None:
    assert verdict("cat sec*/a", deny=["Read(secrets/**)"]) == "deny"
    assert verdict("cat k*.pem", deny=["Read(*.pem)"]) == "deny"


@pytest.mark.parametrize("command", ["cat *", "cat *.py", "wc -l src/*.ts", "cat ?env", "grep x a*"])
def test_a_pattern_that_cannot_match_a_denied_name_stays_free(command: str) -> None:
    assert verdict(command, deny=["Read(.env)", "Read(secrets/**)"]) == "allow"


def test_a_pattern_below_a_link_that_leads_outside_is_asked_about(tmp_path: Path) -> None:
    project, outside = tmp_path / "project", tmp_path / "outside"
    (project / "src").mkdir(parents=True)
    outside.mkdir()
    (project / "link").symlink_to(outside)
    assert verdict("cat link/*", cwd=str(project)) == "ask"
    assert verdict("cat src/*", cwd=str(project)) == "allow"


@pytest.mark.parametrize("target", ["{/,x}", "{x,~}", "${X:-/}", "${X-/etc}", "x{,/../..}", "{.,x}"])
def test_critical_removals_hide_neither_in_braces_nor_in_defaults(target: str) -> None:
    assert verdict(f"rm -rf {target}", allow=["Bash(rm:*)"]) == "ask"
    assert verdict(f"rm -rf {target}", mode="bypassPermissions") == "ask"


@pytest.mark.parametrize("target", ["{build,dist}", "build/{a,b}", "${X:-build}"])
def test_other_removals_in_braces_stay_covered_by_their_rule(target: str) -> None:
    assert verdict(f"rm -rf {target}", allow=["Bash(rm:*)"]) == "allow"


DENIED = Path(__file__).parents[1] / "data" / "rules" / "denied-rm.jsonl"


def test_a_deny_finds_the_command_behind_every_wrapper_and_in_every_nesting() -> None:
    """Each line of the file runs `rm`; an allow of everything stands beside the deny."""
    commands: list[str] = [json.loads(line) for line in DENIED.read_text(encoding="utf-8").splitlines()]
    assert len(commands) > 300
    passed = [one for one in commands if verdict(one, allow=["Bash"], deny=["Bash(rm *)"]) != "deny"]
    assert passed == []


@pytest.mark.parametrize(
    "command", ["cat x | xargs rm build", "xargs rm build < x", "git ls-files | xargs /bin/rm build"]
)
def test_a_rule_for_exact_words_does_not_cover_words_that_arrive_at_run_time(command: str) -> None:
    assert verdict(command, allow=["Bash(rm build)", "Bash(rm*build)"]) == "ask"
    assert verdict(command, allow=["Bash(rm build *)"]) == "allow"


@pytest.mark.parametrize(
    "command", ['bash "$x"', "sh $x y", "bash <(echo x)", ". <(echo x)", "env -S '\\_x'", "at now"]
)
def test_a_script_that_is_not_known_is_never_covered_beside_a_deny(command: str) -> None:
    assert verdict(command, allow=["Bash"], deny=["Bash(rm *)"]) == "ask"
    assert verdict(command, allow=["Bash"]) == "allow"


SUBCOMMANDS = [
    "git -C x push", "git -c a=b push", "git --no-pager push origin", "git --git-dir=x push", "git --work-tree x push",
    "git -p push", "git -Cx push", "git -cx=y push", "(git -C x push)", "sudo git -C x push", "X=1 git -C . push -f",
    "kubectl -n prod delete pod x", "kubectl --context a --namespace=b delete ns x", "docker -H h rm c",
    "npm --prefix x publish", "make -C x deploy", "gh -R a/b pr merge 1",
]  # fmt: skip


@pytest.mark.parametrize("command", SUBCOMMANDS)
def test_options_in_front_of_a_subcommand_do_not_hide_it_from_deny_and_ask_rules(command: str) -> None:
    rules = ["Bash(git push *)", "Bash(kubectl delete:*)", "Bash(docker rm *)", "Bash(npm publish *)"]
    rules += ["Bash(make deploy)", "Bash(gh pr merge *)"]
    assert verdict(command, allow=["Bash"], deny=rules) == "deny"
    assert verdict(command, allow=["Bash"], ask=rules) == "ask"


@pytest.mark.parametrize(
    "command", ["git -C push status", "git -C x pull", "kubectl -n delete get pods", "make -C deploy x"]
)
def test_the_value_of_such_an_option_is_not_taken_for_the_subcommand(command: str) -> None:
    rules = ["Bash(git push *)", "Bash(kubectl delete:*)", "Bash(make deploy)"]
    assert verdict(command, allow=["Bash"], deny=rules) == "allow"


@pytest.mark.parametrize(
    "command",
    ["timeout 5 rm x", "timeout  5 rm x", "timeout 5 'rm' x", '"timeout" 5 rm "x"', "xargs  rm", "xargs 'rm'"],
)
def test_a_rule_that_spells_a_wrapper_and_its_command_covers_the_same_words_in_other_writing(command: str) -> None:
    rules = ["Bash(timeout 5 rm x)", "Bash(xargs rm)"]
    assert verdict(command, allow=rules) == "allow"
    assert verdict(command, allow=rules, deny=["Bash(rm *)"]) == "deny"


@pytest.mark.parametrize(
    "command",
    [
        "timeout 5 rm x y",
        "timeout 5 rm 'x y'",
        "timeout 6 rm x",
        "timeout 5 rm $X",
        "timeout 5 'rm x'",
        "nice timeout 5 rm y",
        "timeout 5 rm x > f",
        "LD_PRELOAD=x timeout 5 rm x",
        "/opt/timeout 5 rm x",
    ],
)
def test_such_a_rule_covers_no_other_words(command: str) -> None:
    assert verdict(command, allow=["Bash(timeout 5 rm x)"]) == "ask"


def test_a_rule_for_a_wrapper_that_rules_look_through_does_not_cover_what_it_starts() -> None:
    assert verdict("timeout 5 rm x", allow=["Bash(timeout *)"]) == "ask"
    assert verdict("/opt/timeout 5 rm x", allow=["Bash(/opt/timeout *)"]) == "ask"


def test_wrappers_that_share_their_words_are_looked_at_once() -> None:
    deep = "ssh " * 60
    assert len(analyse(deep + "x").parts) < 200
    assert verdict(deep + "rm x", mode="bypassPermissions", deny=["Bash(rm *)"]) == "deny"
    assert len(analyse("ssh" + " a" * 20_000).parts) < 20_100
    assert verdict("ssh" + " a" * 20_000, mode="bypassPermissions", deny=["Bash(rm *)"]) == "ask"


@pytest.mark.parametrize("outer", ["{}", 'sh -c "{}"'])
def test_the_same_wrapper_with_other_input_is_looked_at_again(outer: str) -> None:
    command = outer.format("choom -n 5 sh <<< 'ls'; choom -n 5 sh <<< 'rm x'")
    assert verdict(command, mode="bypassPermissions", deny=["Bash(rm *)"]) == "deny"

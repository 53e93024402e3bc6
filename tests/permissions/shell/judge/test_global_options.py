"""Options in front of a subcommand, as in `git -C dir push`: a rule about the subcommand still sees it."""

import pytest

from holdfast.permissions.rules.command_index import RuleIndex, compile_bash_rule
from holdfast.permissions.shell.judge.coverage import Hit, deny_matches
from holdfast.permissions.shell.text.analysis import analyse


def first_denial(command: str, *contents: str) -> Hit | None:
    rules = [compile_bash_rule(content) for content in contents]
    return deny_matches(RuleIndex(rules, exact_words=False), analyse(command, cwd="/project"))


def is_denied(command: str, content: str) -> bool:
    return first_denial(command, content) is not None


@pytest.mark.parametrize(
    ("command", "content", "text"),
    [
        ("git -C dir push", "git push:*", "git push"),
        ("git -p push", "git push", "git push"),
        ("git -p push origin main", "git push origin *", "git push origin main"),
        ("git --git-dir=x --work-tree y -p -c a=b push -C z", "git push *", "git push -C z"),
        ("/usr/bin/git -C dir push", "git push", "git push"),
        ("A=1 git -C dir push", "git push", "git push"),
        ("git -C dir push", "git -C *", "git -C dir push"),
        ("git -C push status", "git push *", None),
        ("git commit -C dir push", "git push", None),
        ("git -p", "git", None),
        ("git -C dir", "git push", None),
        ("git -p -p -C", "git push", None),
        ("ls -C rm", "ls rm", None),
    ],
)
def test_options_in_front_of_a_subcommand_do_not_hide_it(command: str, content: str, text: str | None) -> None:
    hit = first_denial(command, "other", content)
    assert (None if hit is None else (hit.rule.content, hit.text)) == (None if text is None else (content, text))


@pytest.mark.parametrize(
    "program_and_options",
    [
        "git -C -c --git-dir --work-tree --namespace --super-prefix --config-env --attr-source",
        "kubectl -n --namespace --context --kubeconfig --cluster --user -s --server --token --as",
        "helm -n --namespace --kube-context --kubeconfig",
        "docker -H --host -c --context --config -l --log-level",
        "podman -H --host -c --context --config -l --log-level",
        "nerdctl -H --host -c --context --config -l --log-level",
        "npm --prefix -C -w --workspace",
        "pnpm -C --dir -F --filter",
        "yarn --cwd",
        "gh -R --repo",
        "cargo -C --config --color",
        "go -C",
        "make -C --directory -f --file",
        "uv -C --directory --project",
        "poetry -C --directory --project",
        "aws --profile --region --output --endpoint-url",
        "systemctl -H --host -M --machine",
    ],
)
def test_the_value_of_an_option_is_not_taken_for_the_subcommand(program_and_options: str) -> None:
    program, *options = program_and_options.split()
    for option in options:
        assert is_denied(f"{program} {option} value run x", f"{program} run *"), option
        assert not is_denied(f"{program} {option} run x", f"{program} run *"), option
        assert is_denied(f"{program} {option}=value run x", f"{program} run *"), option
    assert is_denied(f"{program} --other run x", f"{program} run *")
    assert is_denied("terraform -chdir=value run x", "terraform run *")

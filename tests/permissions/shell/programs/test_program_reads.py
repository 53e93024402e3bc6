"""Read rules against files that a program given as text opens by name."""

from typing import Any

import pytest

from holdfast.permissions.policy.cases import judge


def verdict(command: str, **rules: Any) -> str:
    mode = "bypassPermissions"
    return judge("Bash", {"command": command}, mode=mode, cwd="/proj", home="/home/u", **rules).behavior


NAMED = [
    "sed 'r .env' a.txt", "sed '1r.env' a.txt", "sed -n '$R .env' a.txt", "sed -e '1{r .env' -e '}' a.txt",
    "sed '/x/r .env' a.txt", "sed 's/a/b/;r .env' a.txt", "awk '{getline x < \".env\"; print x}' a.txt",
    "awk 'BEGIN{while((getline l<\".env\")>0)print l}'", "awk 'BEGIN{f=\".env\"; getline l<f; print l}'",
    "awk -v f=.env 'BEGIN{getline l<f;print l}'", "awk -vf=.env 'BEGIN{getline l<f;print l}'",
    "gawk '@include \".env\"'", "awk 'BEGIN{ARGV[1]=\".env\";ARGC=2}1'", "jq -f .env a", "jq --from-file .env a",
    "jq -nf .env", "nm @.env", "strings @.env", "c++filt @.env", "grep --fil=.env a", "history -r .env",
    "python3 -c 'print(open(\".env\").read())'", 'ruby -e \'puts File.read(".env")\'', "perl -e \"open F, '.env'\"",
    "node -e 'console.log(fs.readFileSync(`x`), \"./.env\")'",
]  # fmt: skip


@pytest.mark.parametrize("command", NAMED)
def test_a_file_that_a_program_names_is_read(command: str) -> None:
    assert verdict(command, deny=["Read(.env)"]) == "deny"
    assert verdict(command, ask=["Read(./.env)"]) == "ask"
    assert verdict(command, deny=["Read(x.pem)", "Edit(.env)"]) in ("allow", "ask")
    assert verdict(command) == "allow"


@pytest.mark.parametrize(
    "command",
    [
        "awk 'BEGIN{getline l < (\".e\" \"nv\")}'", "awk 'BEGIN{while((getline l < f)>0)print l}' f=a",
        "awk '{ARGV[1]=$1}1' a",
        "awk 'BEGIN{getline l < \".e\" \"nv\"}'", "awk '{getline x < $1}' a",
    ],
)  # fmt: skip
def test_a_name_that_an_awk_program_makes_is_asked_about(command: str) -> None:
    assert verdict(command, deny=["Read(.env)"]) == "ask"
    assert verdict(command, ask=["Read(.env)"]) == "ask"
    assert verdict(command, deny=["Bash(rm *)"]) == "allow"


@pytest.mark.parametrize(
    "command",
    [
        "sed -i 's/foo/.env/' a.txt", "sed -i '/for/d' a.txt", "sed 's/x/.env/w out' a.txt", "jq .env a.txt > b",
        "awk '{print \".env\" > \"out.txt\"}' a.txt", "awk '{system(\"ls\")}' a.txt", "git commit -m .env",
        "awk 'BEGIN{while((\"date\"|getline l)>0)print l}'", "awk '{ if (getline x < \"a.txt\") print x }' b",
        "python3 -c 'print(1)'", "python3 -c 'print(\"see .env\")'", "echo --x=.env > list", "printf @.env > x",
        "history 20",
        "git commit --message=.env", "sort --output=x.txt a.txt", "nm a.out @args",
    ],
)  # fmt: skip
def test_text_that_only_speaks_of_a_file_does_not_read_it(command: str) -> None:
    assert verdict(command, deny=["Read(.env)"]) == "allow"
    assert verdict(command, ask=["Read(.env)"]) == "allow"

"""What runs while the shell reads a here-document."""

import pytest

from holdfast.permissions.shell.text.analysis import analyse


def test_commands_on_one_line_of_a_document_are_parts() -> None:
    found = analyse("cat <<EOF\nOn $(git branch --show-current) with $(ls | wc -l) files, $((2 * 3)).\nEOF")
    assert (found.read_only, found.doubt) == (True, "")
    assert [part.text for part in found.parts] == ["git branch --show-current", "ls", "wc -l", "cat"]
    assert not analyse("cat <<EOF\n$(touch x)\nEOF").read_only


@pytest.mark.parametrize(
    "body",
    [
        '$(echo ")"; rm x; ")',
        "$(ls # )\nrm x)",
        "$(ls\nrm x)",
        "$(ls <(rm x))",
        "$(echo \\) ; rm x)",
        "`rm x`",
        "$((a[0]))",
        "${x:-$(ls)}",
        "$(case a in b) rm x;; esac)",
    ],
)
def test_commands_whose_end_is_not_certain_are_doubted(body: str) -> None:
    found = analyse(f"cat <<EOF\n{body}\nEOF")
    assert (found.read_only, bool(found.doubt)) == (False, True)


def test_a_quoted_document_runs_nothing() -> None:
    assert [part.text for part in analyse("cat <<'EOF'\n$(rm x)\nEOF").parts] == ["cat"]


@pytest.mark.parametrize("move", ["cd sub", r"c\d sub", "pushd sub"])
@pytest.mark.parametrize("sign", ["&&", "||", "| cat &&"])
def test_a_move_behind_the_start_of_a_document_is_followed(sign: str, move: str) -> None:
    assert not analyse(f"cat <<E {sign} {move}\nx\nE\ngit status").read_only
    assert analyse(f"cat <<E {sign} ls\nx\nE\ngit status").read_only

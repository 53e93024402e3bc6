import asyncio
import os
from pathlib import Path

import pytest

from holdfast.host.command import Command
from holdfast.host.processes import Processes
from holdfast.host.shell import CwdReport, shell_argv


def ended_in(script: str, cwd: Path) -> tuple[str | None, int, str]:
    async def main() -> tuple[str | None, int, str]:
        report = CwdReport()
        async with Processes() as processes:
            command = Command(argv=shell_argv(report.script(script)), cwd=str(cwd), pass_fds=(report.fd,), timeout_s=20)
            done = await processes.run(command)
        place = report.read()
        report.close()
        return place, done.exit.shell_code, done.output.stdout.text() + done.output.stderr.text()

    return asyncio.run(main())


@pytest.mark.parametrize(
    ("script", "place", "code"),
    [
        ("true", "", 0),
        ("cd sub", "sub", 0),
        ("cd sub; exit 3", "sub", 3),
        ("cd sub && false", "sub", 1),
        ("set -e; cd sub; false; cd ..", "sub", 1),
        ("(cd sub)", "", 0),
        ("cd sub | cat", "", 0),
        ("pushd sub >/dev/null; popd >/dev/null; cd sub/../sub", "sub", 0),
        ("cd link", "sub", 0),
        ("pwd() { echo fake; }; cd sub", "sub", 0),
        ("cd 'with space'; exit", "with space", 0),
        ("PATH=; cd sub", "sub", 0),
    ],
)
def test_the_last_directory_is_known_on_every_way_out(tmp_path: Path, script: str, place: str, code: int) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "with space").mkdir()
    (tmp_path / "link").symlink_to("sub")
    root = tmp_path.resolve()
    assert ended_in(script, tmp_path)[:2] == (str(root / place) if place else str(root), code)


@pytest.mark.parametrize("script", ["exec true", "trap - EXIT; cd sub", "kill -9 $$", "cd sub; rm -r ../sub"])
def test_nothing_is_reported_when_the_shell_cannot_say(tmp_path: Path, script: str) -> None:
    (tmp_path / "sub").mkdir()
    place = ended_in(script, tmp_path)[0]
    assert place is None or not os.path.isdir(place)


def test_the_report_adds_nothing_to_what_the_script_says(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    assert ended_in("cd sub; rmdir ../sub; echo mine >&2; exit 5", tmp_path)[1:] == (5, "mine\n")


def test_the_script_sees_neither_arguments_nor_start_up_files(tmp_path: Path) -> None:
    text = ended_in('echo "$# $- ${BASH_ENV:-none}"; alias', tmp_path)[2]
    assert text.split()[0] == "0"
    assert "i" not in text.split()[1]


def test_neither_start_up_files_nor_exported_functions_change_a_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "start").write_text("echo from-start-up-file; ls() { echo fake; }\n")
    (tmp_path / "elsewhere" / "sub").mkdir(parents=True)
    (tmp_path / "sub").mkdir()
    monkeypatch.setenv("BASH_ENV", str(tmp_path / "start"))
    monkeypatch.setenv("BASH_FUNC_cat%%", "() { echo fake; }")
    monkeypatch.setenv("CDPATH", str(tmp_path / "elsewhere"))
    monkeypatch.setenv("SHELLOPTS", "xtrace")
    place, code, text = ended_in("cd sub; echo real | cat", tmp_path)
    assert (place, code, text) == (str(tmp_path.resolve() / "sub"), 0, "real\n")

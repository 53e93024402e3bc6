import io
import logging
import os
import stat
from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from holdfast.session.log import LOG_NAME, LogSetup, configure_logging
from holdfast.session.redact import Redactor, secrets_in_environment

Configure = Callable[..., LogSetup]


@pytest.fixture
def configured() -> Generator[Configure]:
    setups: list[LogSetup] = []

    def configure(**choices: object) -> LogSetup:
        setups.append(configure_logging(**choices))  # pyright: ignore[reportArgumentType]
        return setups[-1]

    yield configure
    for setup in setups:
        setup.undo()


def _break(why: str) -> None:
    raise ValueError(why)


def log_text(place: Path) -> str:
    return (place / LOG_NAME).read_text("utf-8")


def test_the_log_is_private_and_holds_info_of_ours_and_warnings_of_others(
    tmp_path: Path, configured: Configure
) -> None:
    place = tmp_path / "state"
    setup = configured(debug=False, directory=str(place), stderr=io.StringIO())
    logging.getLogger("holdfast.engine").info("begun")
    logging.getLogger("holdfast.engine").debug("detail")
    logging.getLogger("httpx2").info("request")
    logging.getLogger("asyncio").warning("slow")
    assert setup.path == str(place / LOG_NAME)
    assert [line.split(" ", 4)[3:] for line in log_text(place).splitlines()] == [
        ["holdfast.engine:", "begun"],
        ["asyncio:", "slow"],
    ]
    assert stat.S_IMODE(os.stat(place / LOG_NAME).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(place).st_mode) == 0o700


def test_debug_shows_everything_of_ours_on_stderr_too(tmp_path: Path, configured: Configure) -> None:
    screen = io.StringIO()
    configured(debug=True, directory=str(tmp_path / "s"), stderr=screen)
    logging.getLogger("holdfast.engine").debug("detail")
    assert "detail" in screen.getvalue()
    assert "detail" in log_text(tmp_path / "s")


def test_nothing_in_a_record_can_pose_as_another_or_move_the_cursor(tmp_path: Path, configured: Configure) -> None:
    screen = io.StringIO()
    configured(debug=True, directory=str(tmp_path / "s"), stderr=screen)
    evil = "a\x1b[2J\x07\r\n2026-01-01T00:00:00.000 ERROR 1 holdfast: forged\u202e\x9b31m"
    logging.getLogger("holdfast").error("%s", evil)
    try:
        _break(evil)
    except ValueError:
        logging.getLogger("holdfast").exception("it broke")
    for text in (screen.getvalue(), log_text(tmp_path / "s")):
        assert all(char == "\n" or char.isprintable() for char in text)
        assert [line for line in text.splitlines() if line.startswith("2026-01-01")] == []
        assert len([line for line in text.splitlines() if not line.startswith("    | ")]) == 2


def test_secrets_do_not_reach_the_log(tmp_path: Path, configured: Configure, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", "canary-0123456789")
    monkeypatch.setenv("GITHUB_TOKEN", 'tok\\en"quoted')
    configured(debug=False, directory=str(tmp_path / "s"), stderr=io.StringIO())
    log = logging.getLogger("holdfast")
    log.warning("key %s", "canary-0123456789")
    log.warning("header Authorization: Bearer abcdefghijklmnop and %s", "sk-ant-" + "x" * 24)
    log.warning('{"token": "tok\\\\en\\"quoted"}')
    try:
        _break("canary-0123456789")
    except ValueError:
        log.exception("failed")
    text = log_text(tmp_path / "s")
    assert "canary" not in text
    assert "abcdefghijklmnop" not in text
    assert "sk-ant" not in text
    assert "quoted" not in text
    assert text.count("[redacted]") >= 5


def test_the_log_is_turned_over_before_it_grows_too_large(tmp_path: Path, configured: Configure) -> None:
    configured(debug=False, directory=str(tmp_path / "s"), stderr=io.StringIO(), max_bytes=2_000)
    for number in range(200):
        logging.getLogger("holdfast").warning("record %d %s", number, "x" * 100)
    files = sorted(os.listdir(tmp_path / "s"))
    assert files == [LOG_NAME, f"{LOG_NAME}.1", f"{LOG_NAME}.2"]
    assert all((tmp_path / "s" / name).stat().st_size <= 2_000 for name in files)
    assert "record 199" in log_text(tmp_path / "s")


def test_another_process_turning_the_log_over_is_noticed(tmp_path: Path, configured: Configure) -> None:
    for _ in range(2):
        configured(debug=False, directory=str(tmp_path / "s"), stderr=io.StringIO(), max_bytes=2_000)
    for number in range(100):
        logging.getLogger("holdfast").warning("record %d %s", number, "x" * 100)
    assert all(path.stat().st_size <= 2_000 for path in (tmp_path / "s").iterdir())
    assert log_text(tmp_path / "s").count("record 99") == 2


def test_a_huge_record_is_cut_with_a_count(tmp_path: Path, configured: Configure) -> None:
    configured(debug=False, directory=str(tmp_path / "s"), stderr=io.StringIO())
    logging.getLogger("holdfast").warning("x" * 1_000_000)
    assert len(log_text(tmp_path / "s")) < 40_000
    assert "characters left out" in log_text(tmp_path / "s")


def test_a_planted_log_is_not_followed_and_the_work_goes_on(tmp_path: Path, configured: Configure) -> None:
    place = tmp_path / "s"
    place.mkdir(mode=0o700)
    (tmp_path / "target").write_text("precious")
    os.symlink(tmp_path / "target", place / LOG_NAME)
    screen = io.StringIO()
    setup = configured(debug=False, directory=str(place), stderr=screen)
    logging.getLogger("holdfast").warning("hello")
    assert setup.path is None
    assert screen.getvalue().startswith(f"holdfast: no log is kept, as {str(place)!r} cannot be used: ")
    assert (tmp_path / "target").read_text() == "precious"


def test_a_full_disk_does_not_stop_the_work(
    tmp_path: Path, configured: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    configured(debug=False, directory=str(tmp_path / "s"), stderr=io.StringIO())

    def full(handle: int, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    logging.getLogger("holdfast").warning("hello")
    monkeypatch.undo()
    logging.getLogger("holdfast").warning("again")
    assert "again" in log_text(tmp_path / "s")


def test_undo_leaves_logging_as_it_was(tmp_path: Path) -> None:
    root = logging.getLogger()
    before = (list(root.handlers), root.level, logging.getLogger("holdfast").level)
    configure_logging(debug=True, directory=str(tmp_path / "s"), stderr=io.StringIO()).undo()
    assert (list(root.handlers), root.level, logging.getLogger("holdfast").level) == before


def test_only_variables_that_speak_of_secrets_count() -> None:
    found = secrets_in_environment(
        {"API_KEY": "0123456789", "PATH": "/usr/bin:/bin", "TOKEN": "short", "x_secret": "abcdefgh"}
    )
    assert found == ("0123456789", "abcdefgh")


def test_a_secret_inside_another_goes_as_a_whole_and_plain_text_stays() -> None:
    redact = Redactor(["password1", "password1-and-more"])
    assert redact("a password1-and-more b password1") == "a [redacted] b [redacted]"
    assert redact("nothing of that kind: task-list, skeleton, key") == "nothing of that kind: task-list, skeleton, key"
    assert redact.line(b'{"a":"password1\xff"}') == b'{"a":"[redacted]\xff"}'
    assert Redactor(shapes=False)("AKIAABCDEFGHIJKLMNOP") == "AKIAABCDEFGHIJKLMNOP"


def test_redaction_takes_linear_time() -> None:
    redact = Redactor()
    for text in ("sk-" * 300_000, "bearer " * 200_000, "xoxb-" * 200_000):
        assert isinstance(redact(text), str)


def test_without_a_log_errors_are_told_in_plain_lines_and_debug_shows_all(
    tmp_path: Path, configured: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_API_KEY", "canary-0123456789")
    (tmp_path / "file").write_text("")
    for debug in (False, True):
        screen = io.StringIO()
        configured(debug=debug, directory=str(tmp_path / "file" / "state"), stderr=screen)
        log = logging.getLogger("holdfast.engine")
        log.warning("not for people")
        try:
            _break("two\nlines \x1b[2J canary-0123456789")
        except ValueError:
            log.exception("it broke")
        if debug:
            assert "Traceback" in screen.getvalue()
            return
        assert screen.getvalue().splitlines() == [
            (
                f"holdfast: no log is kept, as {str(tmp_path / 'file' / 'state')!r} cannot be used: File exists; "
                "check its rights, or let XDG_STATE_HOME name another place"
            ),
            "holdfast: it broke: two lines \\x1b[2J [redacted] (--debug shows where)",
        ]

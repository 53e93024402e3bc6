"""A command in a real terminal: it can neither type into it nor take it from the shell that it belongs to."""

import os
import sys
from contextlib import suppress
from pathlib import Path

from holdfast.host.sandbox import Found
from holdfast.testing.started import started

PROGRAM = """
import fcntl, os, struct, termios
requests = {
    "typing": (termios.TIOCSTI, b"x"), "typing, disguised": (termios.TIOCSTI | 1 << 31, b"x"),
    "pasting": (0x541C, bytes([3])), "line discipline": (termios.TIOCSETD, struct.pack("i", 0)),
    "taking it": (termios.TIOCSCTTY, 0), "taking it by force": (termios.TIOCSCTTY, 1),
    "output of the console": (termios.TIOCCONS, 0), "foreground": (termios.TIOCSPGRP, struct.pack("i", os.getpid())),
    "keeping others out": (termios.TIOCEXCL, 0), "hanging up": (0x5437, 0),
}
assert os.isatty(0) and termios.tcgetattr(0) and os.get_terminal_size(0)
for handle in range(3):
    for name, (request, given) in requests.items():
        try:
            fcntl.ioctl(handle, request, given)
            print("did", name, flush=True)
        except OSError:
            pass
for path in ("/dev/tty", "/dev/console"):
    try:
        os.write(os.open(path, os.O_RDWR), b"")
        fcntl.ioctl(os.open(path, os.O_RDWR | os.O_NOCTTY), termios.TIOCSTI, b"x")
        print("did", path, flush=True)
    except OSError:
        pass
print("all tried", flush=True)
"""
OWN = "import os, sys; os.login_tty(os.dup(0)); os.execv(sys.argv[1], sys.argv[1:])"
"""Makes the terminal that of a session of its own, as a shell has it."""


def test_a_command_can_do_nothing_to_the_terminal_it_writes_to(found: Found, project: Path) -> None:
    assert found.program
    (project / "program.py").write_text(PROGRAM, encoding="utf-8")
    ours, theirs = os.openpty()
    words = [
        sys.executable,
        "-c",
        OWN,
        sys.executable,
        "-m",
        "holdfast",
        "sandbox",
        "run",
        "--",
        "python3",
        "program.py",
    ]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    shown = b""
    with started(words, cwd=project, env=environment, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        with suppress(OSError):  # the other end is closed: that is how terminals end
            while piece := os.read(ours, 4096):
                shown += piece
        assert process.wait(60) == 0, shown
    os.close(ours)
    assert shown.decode().split() == ["all", "tried"]

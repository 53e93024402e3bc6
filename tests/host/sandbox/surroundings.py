"""What lies and listens around a sandbox, and tries to reach it."""

import os
import socket
import subprocess
from pathlib import Path

import msgspec

from holdfast.host.sandbox import Policy

__all__ = ["Outside", "snapshot", "tried"]


def snapshot(*places: Path) -> dict[str, tuple[int, bytes]]:
    """Every file with its kind and content."""
    found: dict[str, tuple[int, bytes]] = {}
    for place in places:
        paths = [place, *sorted(place.rglob("*"))] if place.is_dir() else [place]
        for path in paths:
            mode = path.lstat().st_mode
            content = os.readlink(path).encode() if path.is_symlink() else path.read_bytes() if path.is_file() else b""
            found[str(path)] = (mode, content)
    return found


class Outside:
    """What lies and listens around the project."""

    def __init__(self, project: Path, policy: Policy, process: "subprocess.Popen[bytes]") -> None:
        above = project.parent
        self.out, self.hidden = above / "out", above / "hidden"
        for place in (self.out, self.hidden, self.out / "empty", project / "kept-dir"):
            place.mkdir()
        (self.out / "kept").write_text("kept", encoding="utf-8")
        (self.hidden / "key").write_text("SECRET-TEXT", encoding="utf-8")
        (project / "kept-dir" / "file").write_text("kept", encoding="utf-8")
        self.kept = [self.out, self.hidden, project / ".git" / "config", project / ".git" / "hooks"]
        self.kept.append(project / "kept-dir" / "file")
        self.policy = msgspec.structs.replace(
            policy, fixed=(str(project / "kept-dir" / "file"),), hidden=(str(self.hidden), "/etc/shadow")
        )
        self.unix, self.tcp = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_INET)
        handle = os.open(project, os.O_PATH)  # the whole path may be too long for a socket
        self.unix.bind(f"/proc/self/fd/{handle}/socket")
        os.close(handle)
        self.abstract = socket.socket(socket.AF_UNIX)
        name = f"holdfast-{os.urandom(8).hex()}"
        self.abstract.bind(f"\0{name}")
        self.tcp.bind(("127.0.0.1", 0))
        for one in (self.unix, self.tcp, self.abstract):
            one.listen(50)
            one.setblocking(False)
        self.process = process
        self.variables: dict[str, str] = {
            "OUT": str(self.out), "SECRET": str(self.hidden / "key"), "FIXED": "kept-dir/file", "MARK": "",
            "SOCK": "socket", "PORT": str(self.tcp.getsockname()[1]), "ABSTRACT": name,
            "PID": str(self.process.pid), "SSH_AUTH_SOCK": "socket",
            "XDG_RUNTIME_DIR": f"/run/user/{os.getuid()}",
        }  # fmt: skip

    def has_guests(self) -> bool:
        """Whether somebody came to one of the sockets."""
        for one in (self.unix, self.tcp, self.abstract):
            try:
                one.accept()
            except BlockingIOError:
                continue
            return True
        return False

    def close(self) -> None:
        for one in (self.unix, self.tcp, self.abstract):
            one.close()


def tried(lines: list[str]) -> tuple[str, dict[str, str]]:
    """A script that says which lines end with 0, and the variables that hold them."""
    text = "\n".join(
        f'if ( eval "$T{number}" ) </dev/null >/dev/null 2>&1; then printf "%s\\n" "$T{number}"; fi'
        for number in range(len(lines))
    )
    return f"{text}\necho all tried", {f"T{number}": line for number, line in enumerate(lines)}

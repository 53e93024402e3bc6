"""Paths that are no ordinary files: devices, other processes' environment and memory."""

import posixpath

from holdfast.permissions.shell.words.word import Word, names

_FREE_DEVICES = frozenset({"/dev/null", "/dev/stdin", "/dev/fd/0"})
_DEVICE_NAMES = (
    "sd", "hd", "vd", "xvd", "nvme", "mmcblk", "loop", "dm-", "md", "mem", "kmem", "port", "kmsg", "random", "urandom",
    "zero", "full", "tty", "pts/", "console", "input/", "fb", "video", "snd/", "rtc", "watchdog", "mapper/", "disk/",
    "block/", "bus/", "hidraw", "usb", "nvram", "tcp/", "udp/", "ptmx", "fuse", "kvm", "net/", "sr", "cdrom", "fd/",
)  # fmt: skip
_PROCESS_FILES = names(
    "stat statm status comm cmdline limits cgroup mounts mountinfo mountstats maps smaps"
    " smaps_rollup io sched schedstat "
    "oom_score oom_adj oom_score_adj wchan loginuid sessionid autogroup cpuset personality uid_map gid_map timers"
)
_SECRET_NAMES = frozenset({"environ", "mem", "auxv", "pagemap", "syscall", "kcore", "kmsg", "kpagecount", "kpageflags"})


def special_read_refusal(word: "Word", *, recursive: bool = False) -> str | None:
    """Return why reading this operand's content is not an ordinary file read, or None.

    A word that is only known in part is judged by its literal prefix.
    """
    text = word.text
    if not word.static:
        if word.shallow and not recursive and text[:1] != "/" and "/" not in text.rpartition("../")[2]:
            return None  # `../*.md`: what lies directly in the root are directories
        return _prefix_refusal(text, glob=word.glob)
    return path_refusal(text, recursive=recursive)


def path_refusal(path: str, *, recursive: bool = False) -> str | None:
    """Return why reading the content behind a literal path is refused, or None."""
    if "dev" not in path and "proc" not in path and (not recursive or path[:1] != "/"):
        return None
    plain = _normal(path)
    if plain.startswith("/dev/"):
        return None if _is_free_device(plain) else f"{path!r} is a device"
    if plain.startswith("/proc/"):
        return _proc_refusal(path, plain.split("/")[2:])
    if plain in ("/dev", "/proc") or (recursive and plain == "/"):
        return f"reading all of {path!r} reads devices or process environments"
    return _climbing_refusal(path)


def _normal(path: str) -> str:
    plain = posixpath.normpath(path)
    return plain[1:] if plain.startswith("//") else plain


def _is_free_device(plain: str) -> bool:
    return plain in _FREE_DEVICES


def _proc_refusal(path: str, parts: list[str]) -> str | None:
    if any(part in _SECRET_NAMES for part in parts):
        return f"{path!r} shows the memory or environment of a process"
    owner = parts[0]
    if not (owner.isdigit() or owner in ("self", "thread-self")):
        return None
    rest = parts[1:]
    if rest[:1] == ["task"]:
        rest = rest[2:]
    if rest[:1] == ["net"] or (len(rest) == 1 and rest[0] in _PROCESS_FILES):
        return None
    return f"{path!r} leads into a process"


def _climbing_refusal(path: str) -> str | None:
    """Refuse `../../proc/self/environ` and `~/../../dev/sda`, where the root is reached by climbing."""
    _, climbed, tail = ("/" + path).rpartition("/../")
    if not climbed:
        return None
    tail = _normal("/" + tail)
    if tail.startswith("/proc/"):
        return _proc_refusal(path, tail.split("/")[2:])
    if tail.startswith("/dev/") and tail[5:].startswith(_DEVICE_NAMES) and "." not in tail:
        return f"{path!r} may be a device"
    return None


def _prefix_refusal(prefix: str, *, glob: bool) -> str | None:
    plain = _normal(prefix)
    if prefix.endswith("/") and plain != "/":
        plain += "/"
    if plain.startswith("/dev/fd/") and not glob:
        return None  # a process substitution
    if plain.startswith(("/dev/", "/proc/")):
        return f"a path below {prefix!r} known only at run time may be a device or a process environment"
    if glob and (climbed := ("/" + prefix).rpartition("/../"))[1]:
        plain = "/" + climbed[2]
        if plain.startswith(("/dev/", "/proc/")):
            return f"a pattern from {prefix!r} may match devices or process environments"
    elif not prefix.startswith("/"):
        return None
    if glob and ("/dev/".startswith(plain) or "/proc/".startswith(plain)):
        return f"a pattern from {prefix!r} may match devices or process environments"
    return None

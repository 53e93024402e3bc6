"""A third list of ways out, by system calls that are newer, older or odder; one that raises nothing has got out."""

__all__ = ["CALLS_MORE"]

CALLS_MORE = """
import ctypes, fcntl, os, platform, socket, struct
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
X = platform.machine() == "x86_64"
P = ctypes.c_char_p
room = ctypes.create_string_buffer(4096)
out, config = os.environ["OUT"], ".git/config"
def call(x86, arm, *args):
    if (x86 if X else arm) < 0:
        raise OSError("not on this machine")
    words = [ctypes.c_long(a) if isinstance(a, int) else a for a in (x86 if X else arm, *args)]
    found = libc.syscall(*words)
    if found < 0:
        raise OSError(ctypes.get_errno(), "")
    return found
def asked(path, request, given=b"\\0" * 128, flags=os.O_RDONLY):
    handle = os.open(path, flags)
    try:
        return fcntl.ioctl(handle, request, given)
    finally:
        os.close(handle)
def of_process(number):
    handle = os.pidfd_open(number)
    return fcntl.ioctl(handle, 0xFF03)
def into_group(path):
    given = (ctypes.c_uint64 * 11)(0x200000000, 0, 0, 0, 17, 0, 0, 0, 0, 0, os.open(path, os.O_RDONLY))
    found = call(435, 435, ctypes.byref(given), 88)
    if found == 0:
        os._exit(0)
    os.waitpid(found, 0)
def groups():
    places = [p for p in ("/sys/fs/cgroup/unified", "/sys/fs/cgroup") if os.path.exists(p + "/cgroup.procs")]
    for place in places or ["/sys/fs/cgroup"]:
        into_group(place)
def family(number):
    for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET):
        try:
            socket.socket(number, kind).close()
            return
        except OSError:
            continue
    raise OSError
def interface(request, given=b"lo" + bytes(62)):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        fcntl.ioctl(one, request, given)
def option(level, name, value):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.setsockopt(level, name, value)
CASES = {
    "mounts with attributes": lambda: call(467, 467, -100, P(b"/"), 1, room, 32),
    "a tree that is mounted": lambda: call(428, 428, -100, P(b"/"), 0),
    "a whole tree": lambda: call(428, 428, -100, P(b"/"), 0x8001),
    "writable again, all of it": lambda: call(442, 442, -100, P(b"/"), 0x8000, room, 32),
    "a new kind of file system": lambda: call(430, 430, P(b"overlay"), 0),
    "another group of processes": groups,
    "handles of the first process": lambda: call(438, 438, os.pidfd_open(1), 0, 0),
    "handles of oneself": lambda: call(438, 438, os.pidfd_open(os.getpid()), 0, 0),
    "the first one's namespaces": lambda: of_process(1),
    "the users around": lambda: asked("/proc/self/ns/user", 0xB702),
    "the processes around": lambda: asked("/proc/self/ns/pid", 0xB702),
    "who owns the users": lambda: asked("/proc/self/ns/user", 0xB701),
    "compared": lambda: call(312, 272, 1, os.getpid(), 0, 0, 0),
    "advice to another": lambda: call(440, 440, os.pidfd_open(1), room, 1, 0, 0),
    "quota by handle": lambda: call(443, 443, os.open(".", os.O_RDONLY), 0, 0, 0),
    "ports": lambda: call(172, -1, 3),
    "some ports": lambda: call(173, -1, 0x80, 1, 1),
    "a library as it once was": lambda: call(134, -1, P(b"code.py")),
    "a driver": lambda: call(175, 105, room, 10, P(b"")),
    "a driver by handle": lambda: call(313, 273, os.open("code.py", os.O_RDONLY), P(b""), 0),
    "books about processes": lambda: call(163, 89, P(b"code.py")),
    "a trusted mark": lambda: os.setxattr("code.py", "trusted.x", b"1"),
    "rights of a program": lambda: os.setxattr("code.py", "security.capability", b"\\0\\0\\0\\2" + bytes(16)),
    "a mark by handle": lambda: os.setxattr(f"/proc/self/fd/{os.open(config, os.O_PATH)}", "user.x", b"1"),
    "a mark by name and flags": lambda: call(463, 463, -100, P(config.encode()), 0, P(b"user.x"), room, 16),
    "never changed again": lambda: asked("code.py", 0x40086602, struct.pack("l", 0x10)),
    "only longer": lambda: asked(config, 0x40086602, struct.pack("l", 0x20)),
    "flags outside": lambda: asked(out + "/kept", 0x40086602, struct.pack("l", 0x40)),
    "flags of a project outside": lambda: asked(out, 0x401C5820, bytes(28)),
    "flags by name": lambda: call(469, 469, -100, P((out + "/kept").encode()), room, 24, 0),
    "a version outside": lambda: asked(out + "/kept", 0x40086604, struct.pack("l", 9)),
    "trimmed": lambda: asked(".", 0xC0185879, bytes(24)),
    "cloned over": lambda: fcntl.ioctl(os.open(config, os.O_RDONLY), 0x40049409, os.open("code.py", os.O_RDONLY)),
    "sealed": lambda: asked("code.py", 0x40806685),
    "swapped with the boot file": lambda: asked(out + "/kept", 0x6611),
    "moved inside the disk": lambda: asked(out + "/kept", 0xC028660F, bytes(40)),
    "longer": lambda: call(285, 47, os.open(config, os.O_RDONLY), 0, 0, 10),
    "spliced": lambda: os.splice(os.open("code.py", os.O_RDONLY), os.open(config, os.O_RDONLY), 1),
    "leader of a terminal": lambda: os.tcsetpgrp(0, os.getpgrp()),
    "priority of all": lambda: os.setpriority(os.PRIO_USER, os.getuid(), -5),
    "every other family": lambda: [family(n) for n in range(1, 50) if n not in (2, 10)][0],
    "kernel messages": lambda: socket.socket(16, socket.SOCK_RAW, 15),
    "raw bytes": lambda: socket.socket(2, socket.SOCK_RAW, 255),
    "an interface down": lambda: interface(0x8914),
    "an address": lambda: interface(0x8916),
    "a bridge": lambda: interface(0x89A0, b"br0" + bytes(61)),
    "a tunnel": lambda: interface(0x89F1, b"tun0" + bytes(60)),
    "a mark for packets": lambda: option(1, 36, 1),
    "forced buffers": lambda: option(1, 32, 1 << 20),
    "transparent": lambda: option(0, 19, 1),
    "tap": lambda: os.open("/dev/net/tun", os.O_RDWR),
    "a file system of one's own": lambda: os.open("/dev/fuse", os.O_RDWR),
    "a machine of one's own": lambda: os.open("/dev/kvm", os.O_RDWR),
    "a loop": lambda: os.open("/dev/loop-control", os.O_RDWR),
    "input devices": lambda: os.open("/dev/uinput", os.O_RDWR),
    "a graphics card": lambda: os.listdir("/dev/dri"),
}
for name, case in CASES.items():
    try:
        case()
    except (OSError, AttributeError, OverflowError, ValueError):
        continue
    print(name, flush=True)
print("tried", len(CASES))
"""

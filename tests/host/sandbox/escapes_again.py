"""A second list of ways out, of other kinds than the first; a line that ends with 0 has got out.

Besides the variables of the first list: `$DGRAM` is a socket for datagrams outside, `$FIFO` a named pipe there, `$NS_…`
the namespaces of the machine, `$ADDRESS` an address of it. `lib` is a submodule, `tree` a linked worktree.
"""

# ruff: noqa: E501 - one way out is one line
__all__ = ["AGAIN", "CALLS_AGAIN", "HOSTS"]

PROCESSES = """
echo x > /proc/thread-self/root$OUT/new
echo x > /proc/self/task/$$/cwd/../out/new
echo x > /proc/self/task/self/root$OUT/new
exec 7<. && echo x > /proc/self/fd/7/../out/new
exec 7</ && echo x > /proc/self/fd/7$OUT/new
for p in /proc/[0-9]*/root; do echo x > $p$OUT/new && exit 0; done; exit 1
for p in /proc/[0-9]*/cwd; do echo x > $p/../out/new && exit 0; done; exit 1
for p in /proc/[0-9]*/fd/*; do echo x > $p/../out/new && exit 0; done; exit 1
for p in /proc/[0-9]*/root; do cat $p$SECRET && exit 0; done; exit 1
cat /proc/[0-9]*/mem | grep -a SECRET-TEXT
cat /proc/*/environ | tr '\\0' '\\n' | grep HOLDFAST-'OUTER'
echo '0 0 4294967295' > /proc/self/uid_map
echo '0 0 1' > /proc/self/gid_map
echo '0 1 1' > /proc/1/uid_map
echo x > /proc/sys/fs/binfmt_misc/register
echo 1 > /proc/sys/kernel/unprivileged_bpf_disabled
echo 1 > /proc/irq/default_smp_affinity
test "$(readlink /proc/self/ns/mnt)" = "$NS_MNT"
test "$(readlink /proc/self/ns/net)" = "$NS_NET"
test "$(readlink /proc/self/ns/pid)" = "$NS_PID"
test "$(readlink /proc/self/ns/ipc)" = "$NS_IPC"
test "$(readlink /proc/self/ns/uts)" = "$NS_UTS"
test "$(readlink /proc/self/ns/user)" = "$NS_USER"
ls /proc/[0-9]*/cmdline | wc -l | grep -E '^[0-9]{2,}'
"""
MOUNTS = """
rm -rf kept-dir; ln -sfT $OUT kept-dir && echo x > kept-dir/new
cd kept-dir && mv ../kept-dir ../k9
cd .git && mv ../.git ../g9
cd .git/hooks && echo x > ../hooks/pre-push
cd .git/hooks && echo x > $PWD/pre-push
ln -s .git/hooks h1 && echo x > h1/post-merge
ln -s . h2 && echo x > h2/h2/.git/hooks/post-merge
ln -s .git h3 && rm -r h3/hooks
mkdir m9 && mount --rbind .git m9
mkdir -p x/y && cd x/y && mv ../../x ../../z && echo x > ../../../out/new
cp --remove-destination code.py .git/config
install -m 755 code.py .git/hooks/post-checkout
printf -- '--- .git/config\\n+++ .git/config\\n@@ -1 +1 @@\\n-[core]\\n+[evil]\\n' | patch -p0 -f
mkdir -p t/.git/hooks && echo x > t/.git/hooks/post-commit && tar cf t.tar -C t .git && tar xf t.tar
mkdir -p u/.claude && echo x > u/.claude/settings.json && cp -r u/. .
find . -path './.git/config' -delete && test ! -e .git/config
find .git/hooks -maxdepth 0 -exec touch '{}/x' ';' && test -e .git/hooks/x
sed -i s/core/evil/ .git/config
perl -i -pe 's/core/evil/' .git/config
fallocate -l 9999 .git/config
shred -u .git/config
git config --file .git/config.worktree x.y z && git config extensions.worktreeConfig true
git init -q --separate-git-dir=sep
mkdir -p tp/hooks && echo x > tp/hooks/pre-push && git init -q --template=tp && test -f .git/hooks/pre-push
git submodule add -q ./ sub9
git -C lib config core.fsmonitor 'touch x'
git config --file .git/modules/lib/config core.hooksPath $PWD/evil
echo x > .git/modules/lib/hooks/post-checkout
mv .git/modules m8
mv .git/modules/lib .git/modules/l8
rm -rf .git/modules/lib/config
echo 'gitdir: ../evil' > lib/.git
rm -f lib/.git && echo 'gitdir: ../evil' > lib/.git
mv lib/.git lib/g8
mv lib l8 && mkdir lib && echo 'gitdir: ../evil' > lib/.git
rm -rf lib
echo 'gitdir: ../evil' > tree/.git
mv tree t8
mv tree/.git tree/g8 && git init -q tree
echo /evil > .git/worktrees/tree/gitdir
echo ../evil > .git/worktrees/tree/commondir
echo x > .git/worktrees/tree/config.worktree
rm -rf .git/worktrees
git -C tree config core.fsmonitor 'touch x'
git worktree add -q $OUT/tree
echo x > $OUT/empty/../new
touch -d 2000-01-01 $OUT && find $OUT -maxdepth 0 -not -newermt 2001-01-01 | grep .
setfattr -n user.x -v y $OUT/kept
setfacl -m u:0:rwx $OUT/kept
chattr +i $OUT/kept
python3 -c 'import os; d = os.open(".git", os.O_PATH); os.unlink("config", dir_fd=d)'
python3 -c 'import os; os.chdir("/proc/self/fd/%d" % os.open(".git/hooks", os.O_PATH)); open("x", "w")'
python3 -c 'import os; os.replace("code.py", ".git/hooks")'
python3 -c 'import os; os.symlink("/x", ".git/hooks/pre-rebase")'
python3 -c 'import os; os.mkdir("../project2")'
python3 -c 'import os, shutil; shutil.move(".", "../moved")'
python3 -c 'import os; os.rename(os.getcwd(), "../renamed")'
"""
RIGHTS = """
cp /bin/true s1 && chmod u+s s1; test -u s1
install -m 4755 /bin/true s2; test -u s2
cp -p $(command -v su) s3; test -u s3
python3 -c 'import os; os.close(os.open("s4", os.O_CREAT | os.O_WRONLY, 0o4755))'; test -u s4
python3 -c 'import os; os.mknod("s5", 0o104755)'; test -u s5
python3 -c 'import os; f = os.open(".", os.O_TMPFILE | os.O_WRONLY, 0o4755); os.link(f"/proc/self/fd/{f}", "s6")'; test -u s6
python3 -c 'import os; os.close(os.open("s7", os.O_CREAT, 0o755)); os.fchmod(os.open("s7", os.O_RDONLY), 0o4755)'; test -u s7
tar cf s8.tar --mode=4755 code.py && mkdir s8 && tar xpf s8.tar -C s8; test -u s8/code.py
echo 'int main(){return 0;}' > s9.c && gcc -o s9 s9.c && chmod 6755 s9; test -u s9
python3 -c 'import os; m = os.memfd_create("x"); os.write(m, open("/bin/grep", "rb").read()); os.execve(m, ["grep", "-E", "^(NoNewPrivs|Seccomp):.*0$", "/proc/self/status"], {})'
python3 -c 'import os; m = os.memfd_create("x"); os.fchmod(m, 0o4755)'
setpriv --reuid 1234 --clear-groups true
newgrp -c true
chroot . true
cp /bin/true s10 && setcap cap_sys_admin+ep s10
prlimit --pid $PID --nofile=1
taskset -p 1 $PID
echo x > /dev/tty
stty -F /dev/tty -a
echo x > /dev/console
ls /dev/pts | grep '^[0-9]'
logger -s holdfast-test && false; test -S /dev/log
wall holdfast-test < /dev/null && false; ls /dev/pts/[0-9]*
at now < /dev/null
batch < code.py
systemd-run --user true
loginctl list-sessions
pkexec true
doas true
mail -s x root < /dev/null
sendmail root < /dev/null
xhost
xdotool key a
notify-send x
tmux -S /tmp/tmux-$(id -u)/default ls
screen -ls | grep -i detached
"""
SOCKETS = """
timeout 3 bash -c 'echo x > "$FIFO"'
timeout 3 dd if=/dev/zero of=$FIFO count=1
timeout 3 tee $FIFO < code.py
timeout 3 python3 -c 'import os; os.write(os.open(os.environ["FIFO"], os.O_RDWR), b"x")'
timeout 3 bash -c 'echo x > "$SOCK"'
timeout 5 bash -c 'echo x > /dev/tcp/127.1/'$PORT
timeout 5 bash -c 'echo x > /dev/tcp/2130706433/'$PORT
timeout 5 bash -c 'echo x > /dev/tcp/0x7f.1/'$PORT
timeout 5 bash -c 'echo x > /dev/tcp/::ffff:127.0.0.1/'$PORT
timeout 5 bash -c 'echo x > /dev/tcp/::ffff:7f00:1/'$PORT
timeout 5 bash -c 'echo x > /dev/tcp/ip6-localhost/'$PORT
timeout 5 bash -c "echo x > /dev/tcp/$ADDRESS/$PORT"
timeout 5 bash -c "echo x > /dev/tcp/$(hostname)/$PORT"
timeout 5 curl -sS --interface lo http://127.0.0.1:$PORT
timeout 5 curl -sS --abstract-unix-socket $ABSTRACT http://x/
timeout 5 curl -sS telnet://127.0.0.1:$PORT
timeout 5 curl -sS -x http://127.0.0.1:$PORT http://x/
timeout 5 python3 -c 'import socket as s; s.socket(s.AF_INET, s.SOCK_STREAM, 262).connect(("127.0.0.1", '$PORT'))'
timeout 5 python3 -c 'import socket as s; s.socket(s.AF_INET, s.SOCK_STREAM).sendto(b"x", s.MSG_FASTOPEN, ("127.0.0.1", '$PORT'))'
timeout 5 python3 -c 'import socket as s; s.socket(s.AF_INET, s.SOCK_STREAM, 132).connect(("127.0.0.1", '$PORT'))'
timeout 5 python3 -c 'import socket as s; s.socket(s.AF_INET, s.SOCK_DGRAM, 1).sendto(b"x", ("1.1.1.1", 0))'
timeout 5 python3 -c 'import socket as s; s.socket(s.AF_INET, s.SOCK_DGRAM, 136).sendto(b"x", ("1.1.1.1", 53))'
timeout 5 python3 -c 'import socket as s; s.socket(s.AF_INET6, s.SOCK_DGRAM).sendto(b"x", ("ff02::1", 9, 0, 1)); raise SystemExit(len(s.if_nameindex()) == 1)'
ip netns exec x true
ip link add v0 type veth peer name v1
tc qdisc add dev lo root netem
nft list ruleset
ss -xl | grep -v '^Netid' | grep .
gpg-connect-agent /bye
ssh -O check -S $SOCK x
dig +time=1 +tries=1 @127.0.0.53 example.com
resolvectl query example.com
"""
AGAIN = {
    name: [line for line in text.strip().splitlines() if line.strip()]
    for name, text in {"processes": PROCESSES, "mounts": MOUNTS, "rights": RIGHTS, "sockets": SOCKETS}.items()
}

CALLS_AGAIN = """
import ctypes, fcntl, os, platform, signal, socket, struct, termios
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
X = platform.machine() == "x86_64"
P = ctypes.c_char_p
def survives(work):
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(0)
    if not X or os.waitpid(child, 0)[1]:
        raise OSError
def call(x86, arm, *args):
    words = [ctypes.c_long(a) if isinstance(a, int) else a for a in (x86 if X else arm, *args)]
    found = libc.syscall(*words)
    if found < 0:
        raise OSError(ctypes.get_errno(), "")
    return found
A = socket.AF_UNIX
dgram, sock, pid, out = os.environ["DGRAM"], os.environ["SOCK"], int(os.environ["PID"]), os.environ["OUT"]
def pair(kind, use):
    a, b = socket.socketpair(A, kind)
    use(a)
def reconnected(one):
    libc.connect(one.fileno(), struct.pack("H14x", 0), 16)
    one.connect(sock)
def how(mode, flags=os.O_CREAT | os.O_WRONLY):
    given = ctypes.create_string_buffer(struct.pack("QQQ", flags, mode, 0))
    os.close(call(437, 437, -100, P(b"by-openat2"), given, 24))
    if os.stat("by-openat2").st_mode & 0o4000 == 0:
        raise OSError
def chmod2():
    os.close(os.open("c2", os.O_CREAT | os.O_WRONLY, 0o755))
    call(452, 452, -100, P(b"c2"), 0o4755, 0)
def i386():
    code = bytes.fromhex("b814000000cd80c3")  # mov eax, 20; int 0x80; ret
    place = call(9, 222, 0, 4096, 7, 34, -1, 0)
    ctypes.memmove(place, code, len(code))
    ctypes.CFUNCTYPE(ctypes.c_int)(place)()
def typed(request):
    for name in ("/dev/tty", "/dev/console", "/proc/self/fd/0", "/dev/ptmx"):
        try:
            fcntl.ioctl(os.open(name, os.O_RDWR | os.O_NOCTTY), request, b"x" * 8)
            return
        except OSError:
            continue
    raise OSError
def thread(flags):
    stack = ctypes.create_string_buffer(65536)
    child = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(lambda _: 0)
    if libc.clone(child, ctypes.byref(stack, 65000), flags | 17, None) < 0:
        raise OSError
def ring():
    call(425, 425, 1, ctypes.create_string_buffer(bytes(120)))
CASES = {
    "datagram of a pair": lambda: pair(socket.SOCK_DGRAM, lambda a: a.sendto(b"x", dgram)),
    "pair of datagrams, connected": lambda: pair(socket.SOCK_DGRAM, lambda a: a.connect(dgram)),
    "raw pair": lambda: pair(socket.SOCK_RAW, lambda a: a.sendto(b"x", dgram)),
    "pair with flags": lambda: pair(socket.SOCK_DGRAM | socket.SOCK_CLOEXEC, lambda a: a.sendto(b"x", dgram)),
    "stream of a pair": lambda: pair(socket.SOCK_STREAM, lambda a: a.connect(sock)),
    "stream of a pair, taken apart": lambda: pair(socket.SOCK_STREAM, reconnected),
    "packets of a pair": lambda: pair(socket.SOCK_SEQPACKET, lambda a: a.connect(sock)),
    "pair for another family": lambda: socket.socketpair(socket.AF_INET),
    "pair of tipc": lambda: socket.socketpair(30, socket.SOCK_SEQPACKET),
    "message to a name": lambda: pair(socket.SOCK_STREAM, lambda a: a.sendmsg([b"x"], [], 0, dgram)),
    "another architecture": lambda: survives(i386),
    "another way to count": lambda: survives(lambda: libc.syscall(ctypes.c_long(0x40000000 | 39))),
    "set-user-id by openat2": lambda: how(0o4755),
    "set-user-id by fchmodat2": chmod2,
    "ring": ring,
    "ring, entered": lambda: call(426, 426, 0, 1, 0, 0, 0, 0),
    "ring, registered": lambda: call(427, 427, 0, 0, 0, 0),
    "typing by another request": lambda: typed(0x100005412 & 0xFFFFFFFF),
    "pasting": lambda: typed(0x541C),
    "own terminal": lambda: fcntl.ioctl(os.open("/dev/tty", os.O_RDWR), termios.TIOCSCTTY, 1),
    "line discipline": lambda: fcntl.ioctl(os.open("/dev/console", os.O_RDWR), termios.TIOCSETD, struct.pack("i", 2)),
    "thread with a namespace": lambda: thread(0x10000000),
    "thread with mounts": lambda: thread(0x00020000),
    "time namespace": lambda: call(272, 97, 0x80),
    "cgroup namespace": lambda: call(272, 97, 0x02000000),
    "namespaces of the first process": lambda: os.setns(os.pidfd_open(1), 0x00020000),
    "namespace by name": lambda: os.setns(os.open("/proc/1/ns/mnt", os.O_RDONLY), 0),
    "handle of a process outside": lambda: os.pidfd_open(pid),
    "signal by handle": lambda: signal.pidfd_send_signal(os.pidfd_open(pid), 0),
    "handles of the first process": lambda: call(438, 438, os.pidfd_open(1), 0, 0),
    "memory of the first process": lambda: os.open("/proc/1/mem", os.O_RDWR) and call(310, 270, 1, 0, 0, 0, 0, 0),
    "trace of oneself": lambda: call(101, 117, 0, 0, 0, 0),
    "seized": lambda: call(101, 117, 0x4206, 1, 0, 0),
    "priority of others": lambda: os.setpriority(os.PRIO_PROCESS, pid, 5),
    "scheduler of others": lambda: os.sched_setaffinity(pid, {0}),
    "limits of others": lambda: call(302, 261, pid, 7, 0, ctypes.create_string_buffer(16)),
    "message queue of the machine": lambda: call(68, 186, 0x4859, 0) and os.listdir("/dev/mqueue") and None,
    "new root": lambda: call(155, 41, P(b"."), P(b".")),
    "mount by handle": lambda: call(429, 429, call(428, 428, -100, P(b"."), 1), P(b""), -100, P(b"kept-dir"), 4),
    "swap": lambda: call(167, 224, P(b"code.py"), 0),
    "handle of a file": lambda: call(304, 265, os.open("/", os.O_RDONLY), ctypes.create_string_buffer(128), os.O_RDWR),
    "rename without replacement": lambda: call(316, 276, -100, P(b".git"), -100, P(b"gone"), 1),
    "exchange of hooks": lambda: call(316, 276, -100, P(b".git/hooks"), -100, P(b"kept-dir"), 2),
    "exchange by handle": lambda: call(316, 276, os.open(".git", os.O_PATH), P(b"config"), -100, P(b"code.py"), 2),
    "removal by handle": lambda: call(263, 35, os.open(".git", os.O_PATH), P(b"hooks"), 0x200),
    "link by handle": lambda: call(265, 37, -100, P(b"code.py"), os.open(".git/hooks", os.O_PATH), P(b"x"), 0),
    "empty path": lambda: call(265, 37, os.open("code.py", os.O_RDONLY), P(b""), -100, P(out.encode() + b"/l"), 0x1000),
    "times by handle": lambda: os.utime(os.open(".git/config", os.O_RDONLY), (1, 1)),
    "mode by handle": lambda: os.fchmod(os.open(".git/config", os.O_RDONLY), 0o777),
    "copy of a range": lambda: os.copy_file_range(os.open("code.py", os.O_RDONLY), os.open(".git/config", os.O_RDWR), 1),
    "mapped": lambda: __import__("mmap").mmap(os.open(".git/config", os.O_RDWR), 1),
    "reopened for writing": lambda: os.open(f"/proc/self/fd/{os.open(out + '/kept', os.O_PATH)}", os.O_WRONLY),
    "reopened directory": lambda: os.open("new", os.O_CREAT | os.O_WRONLY, dir_fd=os.open(f"/proc/self/fd/{os.open(out, os.O_PATH)}", os.O_RDONLY)),
    "quota": lambda: call(179, 60, 0, 0, 0, 0),
    "key of the session": lambda: call(250, 219, 0, -3, 0),
    "kernel log": lambda: call(103, 116, 10, 0, 0),
    "clock": lambda: call(227, 112, 0, ctypes.create_string_buffer(16)),
    "domain name": lambda: call(171, 162, P(b"evil"), 4),
    "less filter": lambda: call(317, 277, 1, 0, 0),
    "new privileges": lambda: libc.prctl(38, 0, 0, 0, 0) and (_ for _ in ()).throw(OSError()),
    "kept capabilities": lambda: call(157, 167, 47, 2, 21, 0, 0),
}
for name, case in CASES.items():
    try:
        case()
    except (OSError, AttributeError, OverflowError, ValueError):
        continue
    print(name, flush=True)
print("tried", len(CASES))
"""
HOSTS = (
    "127.0.0.1", "127.1", "2130706433", "0x7f.0.0.1", "0177.0.0.1", "0", "[::1]", "[::]", "[::ffff:127.0.0.1]",
    "[::127.0.0.1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]", "[fe80::1%25lo]", "localhost", "LOCALHOST.", "a.localhost",
    "evil.example", "only.example.evil.example", "only.example%00.evil.example", "only.example%2eevil.example",
    "only-example", "xn--only-example", "only.example@evil.example", "only.example#.evil.example", "169.254.169.254",
    "metadata.google.internal", "ip6-localhost", "0.0.0.0",
)  # fmt: skip

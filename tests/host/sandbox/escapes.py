"""Ways out of a sandbox, by what they try to reach. A line that ends with 0 has got out.

`$OUT` is a directory outside, `$SECRET` a hidden file, `$FIXED` a file that may not change, `$SOCK` a Unix socket and
`$PORT` a port that somebody outside listens at, `$PID` a process outside. Commands start in the project.
"""

__all__ = ["CALLS", "LINES"]

WRITES = """
echo x > $OUT/new
echo x > $OUT/kept
echo x >> $OUT/kept
: > $OUT/kept
rm $OUT/kept
mv $OUT/kept here
mv code.py $OUT/
cp code.py $OUT/
ln code.py $OUT/hard
ln -s $PWD/code.py $OUT/soft
ln $OUT/kept inside && echo x > inside
ln -s $OUT out && echo x > out/new
ln -s $OUT/kept soft && echo x > soft
mkdir a1 && ln -s ../../out a1/b && echo x > a1/b/new
mkdir $OUT/d
rmdir $OUT/empty
touch $OUT/kept && find $OUT/kept -newer code.py | grep kept
chmod 777 $OUT
chmod u+x $OUT/kept
chown $(id -u):$(id -g) $OUT/kept
truncate -s 0 $OUT/kept
dd if=/dev/zero of=$OUT/kept count=1
tee $OUT/new < code.py
install code.py $OUT/new
cp --reflink=auto code.py $OUT/new
mkfifo $OUT/fifo
mknod $OUT/null c 1 3
mknod here.dev c 1 3 && echo x > here.dev
mknod here.blk b 8 0
echo x > /proc/self/cwd/../out/new
echo x > /proc/self/root$OUT/new
echo x > /proc/1/root$OUT/new
echo x > /proc/$$/root$OUT/new
cd $OUT && echo x > new
exec 9<$OUT/kept && echo x > /proc/self/fd/9
exec 9<$OUT && echo x > /proc/self/fd/9/new
sed -i s/./x/ $OUT/kept
tar cf $OUT/t.tar code.py
git init -q $OUT/repo
git clone -q . $OUT/clone
git worktree add -q $OUT/tree
git --git-dir=$OUT/g --work-tree=. init -q
python3 -c 'open("'$OUT'/new","w")'
echo x > /etc/holdfast-test
echo x > /usr/holdfast-test
echo x > /var/tmp/holdfast-test
echo x > /opt/holdfast-test
echo x > /holdfast-test
echo x >> /etc/passwd
echo x > ~/.bashrc
mkdir -p ~/.config/holdfast && echo x > ~/.config/holdfast/settings.json
mkdir -p ~/.claude && echo x > ~/.claude/settings.json
echo x > ~/.gitconfig
git config --global user.name x
git config --system user.name x
mkdir -p ~/.ssh && echo x > ~/.ssh/authorized_keys
crontab - < code.py
"""
GOVERNING = """
echo x > .claude/settings.json
mkdir -p .claude/hooks
mkdir .claude/x
rmdir .claude
rm -rf .claude && mkdir .claude && echo x > .claude/settings.json
mv .claude c && mkdir .claude
mkdir s1 && echo x > s1/settings.json && mv -T s1 .claude
ln -sfn $PWD/s2 .claude
ln -s code.py .claude/settings.json
chmod 777 .claude && echo x > .claude/y
mkdir s3 && mv --exchange s3 .claude
cp -r s3 .claude/s3
echo x > .holdfast/settings.json
mv .holdfast h
rmdir .holdfast && ln -s s1 .holdfast
echo x > .mcp.json
rmdir .mcp.json
rmdir .mcp.json && echo x > .mcp.json
ln -s code.py .mcp.json/x
mv code.py .mcp.json
mv -T code.py .mcp.json
echo x > .git/hooks/pre-commit
ln -s ../../code.py .git/hooks/pre-commit
ln code.py .git/hooks/pre-commit
mkdir .git/hooks/d
rm -rf .git/hooks
mv .git/hooks .git/h2
mv .git g2 && mkdir -p .git/hooks && echo x > .git/hooks/pre-commit
mv .git g3
rm -rf .git && git init -q
mkdir n1 && mv -T n1 .git
mv --exchange n1 .git
rmdir .git/hooks
echo x >> .git/config
: > .git/config
rm .git/config
mv .git/config .git/c2
cp code.py .git/config
mv -f code.py .git/config
ln -f code.py .git/config
ln .git/config hard && echo x >> hard
git config core.hooksPath $PWD/evil
git config core.fsmonitor 'touch x'
git config --local alias.x '!touch x'
git config -f .git/config user.name x
git remote add evil https://evil.example
echo ../evil > .git/commondir
rm .git/commondir
mv .git/commondir .git/c3
ln -sf ../evil .git/commondir
mkdir -p .git/x && mv .git/x .git/commondir
chmod u+w .git/config && echo x >> .git/config
python3 -c 'import os; os.rename(".git", "g4")'
python3 -c 'import os; os.rename(".git/config", "c5")'
python3 -c 'import os; d=os.open(".git", os.O_PATH); os.rename("config", "c6", src_dir_fd=d, dst_dir_fd=d)'
python3 -c 'import os; os.chdir(".git"); os.rename("hooks", "../h7")'
python3 -c 'import os; open("/proc/self/cwd/.git/config","a").write("x")'
python3 -c 'import os; open("/proc/self/root"+os.getcwd()+"/.git/config","a").write("x")'
python3 -c 'import os; os.truncate(".git/config", 0)'
python3 -c 'import os; os.utime(".git/config", (1, 1))'
python3 -c 'import os; os.chmod(".git/hooks", 0)'
python3 -c 'import os; os.setxattr(".git/config", "user.x", b"x")'
echo x > $FIXED
mv $FIXED f2
rm -f $FIXED
mv kept-dir k2
rm -rf kept-dir
mkdir k3 && mv --exchange k3 kept-dir
umount .git/config
umount -l .git/hooks
mount --bind code.py .git/config
mount -o remount,rw .git/config
mount -o remount,bind,rw /
mount -t tmpfs none .git
pivot_root . .
fusermount -u .git
"""
READS = """
cat $SECRET
head -c 1 $SECRET
cp $SECRET copy
mv $SECRET copy
ln $SECRET copy
ln -s $SECRET link && cat link
cat /proc/self/root$SECRET
cat /proc/1/root$SECRET
cat /proc/$$/cwd/../hidden/key
ls $(dirname $SECRET)
cd $(dirname $SECRET)
tar cf - $SECRET | grep -a SECRET-TEXT
grep -r SECRET-TEXT $(dirname $SECRET)
chmod 644 $SECRET && cat $SECRET
umount $(dirname $SECRET) && cat $SECRET
mount --bind / b1
cat /proc/$PID/environ
cat /proc/$PID/cmdline
ls /proc/$PID
ls /proc/$PID/fd
head -c 1 /proc/kcore | grep -a .
timeout 1 head -c 1 /proc/kmsg | grep -a .
head -c 1 /dev/mem
head -c 1 /dev/kmsg
head -c 1 /dev/sda
ls /dev | grep -E '^(sd|nvme|vd|dm-|loop|kvm|fuse|mem|kmsg)'
cat /etc/shadow
head -c 1 /dev/vda
dmesg
grep -a HOLDFAST-'OUTER' /proc/*/environ
"""
KERNEL = """
echo x > /proc/sys/kernel/core_pattern
echo 1 > /proc/sys/kernel/sysrq
echo b > /proc/sysrq-trigger
echo 1 > /proc/sys/vm/drop_caches
echo x > /proc/sys/kernel/hostname
echo 0 > /proc/sys/kernel/yama/ptrace_scope
echo 10000 > /proc/sys/user/max_user_namespaces
echo -1000 > /proc/1/oom_score_adj
echo x > /sys/kernel/uevent_helper
mkdir /sys/fs/cgroup/holdfast-test
echo 1 > /sys/fs/cgroup/cgroup.procs
modprobe dummy
insmod code.py
hostname evil
mount -t proc proc m1
mount -t sysfs sysfs m1
mount -t cgroup2 none m1
unshare -U true
unshare -Ur true
unshare -m true
unshare -n true
unshare -p -f true
unshare -i true
unshare -u true
unshare -C true
unshare -T true
nsenter -t 1 -m true
nsenter -t $PID -m true
bwrap --ro-bind / / true
chroot / true
kill -0 $PID
kill -9 $PID
kill -STOP $PID
renice -n -5 -p $$
ionice -c 1 -p $$
gdb -p $PID -batch
strace -p $PID -o /dev/null
capsh --print | grep -E '^Current: .*cap_'
grep -E '^Cap(Eff|Prm|Bnd|Amb):.*[1-9a-f]' /proc/self/status
grep -E '^NoNewPrivs:.*0' /proc/self/status
grep -E '^Seccomp:.*0' /proc/self/status
sudo -n true
su -c true nobody
setcap cap_net_raw+ep code.py
test -x ./setuid && ./setuid -c 'import os; raise SystemExit(os.geteuid() == os.getuid())'
date -s 2000-01-01
swapon code.py
ip link add dummy0 type dummy
ip link set lo down
iptables -L
sysctl -w kernel.panic=1
"""
NETWORK = """
timeout 5 bash -c 'echo x > /dev/tcp/127.0.0.1/'$PORT
timeout 5 bash -c 'echo x > /dev/tcp/localhost/'$PORT
timeout 5 bash -c 'echo x > /dev/tcp/1.1.1.1/80'
timeout 5 bash -c 'echo x > /dev/udp/1.1.1.1/53'
timeout 5 bash -c 'echo x > /dev/tcp/0.0.0.0/'$PORT
timeout 5 bash -c 'echo x > /dev/tcp/::1/'$PORT
timeout 5 getent hosts example.com
timeout 5 getent ahosts example.org
timeout 5 curl -sS http://127.0.0.1:$PORT
timeout 5 curl -sS --unix-socket $SOCK http://x/
timeout 5 wget -q -O- http://127.0.0.1:$PORT
timeout 5 git ls-remote http://127.0.0.1:$PORT/x
timeout 5 ssh -o BatchMode=yes -p $PORT 127.0.0.1 true
timeout 5 ping -c 1 127.0.0.2
timeout 5 nc -z 127.0.0.1 $PORT
timeout 5 nc -U $SOCK < /dev/null
timeout 5 ssh-add -l
timeout 5 docker ps
timeout 5 systemctl status
timeout 5 dbus-send --system --print-reply --dest=org.freedesktop.DBus / org.freedesktop.DBus.ListNames
timeout 5 python3 -c 'import urllib.request as u; u.urlopen("http://127.0.0.1:'$PORT'")'
grep -v '^ *lo:' /proc/net/dev | grep :
ls /run | grep .
ls -A /var/run | grep .
test -S /run/docker.sock || test -S /var/run/docker.sock
test -S $XDG_RUNTIME_DIR/bus
"""
LINES = {
    name: [line for line in text.strip().splitlines() if line.strip()]
    for name, text in {
        "writes": WRITES,
        "governing": GOVERNING,
        "reads": READS,
        "kernel": KERNEL,
        "network": NETWORK,
    }.items()
}

CALLS = """
import ctypes, errno, fcntl, os, platform, socket, struct, sys, termios
libc = ctypes.CDLL(None, use_errno=True)
X = platform.machine() == "x86_64"
def call(x86, arm, *args):
    words = [ctypes.c_long(a) if isinstance(a, int) else a for a in (x86 if X else arm, *args)]
    if libc.syscall(*words) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
def reach(family, kind, address):
    with socket.socket(family, kind) as one:
        one.settimeout(5)
        one.connect(address)
def send(address):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.sendto(b"x", address)
def clone(flags):
    pid = libc.syscall(ctypes.c_long(56 if X else 220), ctypes.c_long(flags | 17), None, None, None, None)
    if pid == 0:
        os._exit(0)
    if pid < 0:
        raise OSError(ctypes.get_errno(), "clone")
    os.waitpid(pid, 0)
def clone3(flags):
    given = (ctypes.c_uint64 * 11)(flags, 0, 0, 0, 17)
    pid = libc.syscall(ctypes.c_long(435), ctypes.byref(given), ctypes.c_long(88))
    if pid == 0:
        os._exit(0)
    if pid < 0:
        raise OSError(ctypes.get_errno(), "clone3")
    os.waitpid(pid, 0)
def passed():
    a, b = socket.socketpair()
    socket.send_fds(a, [b"x"], [os.open("/proc/1/ns/net", os.O_RDONLY)])
    os.setns(socket.recv_fds(b, 1, 1)[1][0])
def typed():
    for fd in range(3):
        fcntl.ioctl(fd, termios.TIOCSTI, b"x")
def raised():
    os.setuid(0 if os.getuid() else 1)
sock, port, pid, out = os.environ["SOCK"], int(os.environ["PORT"]), int(os.environ["PID"]), os.environ["OUT"]
A, S, D = socket.AF_UNIX, socket.SOCK_STREAM, socket.SOCK_DGRAM
P = ctypes.c_char_p
CASES = {
    "unix socket": lambda: reach(A, S, sock),
    "unix datagrams": lambda: socket.socket(A, D),
    "unix packets": lambda: socket.socket(A, socket.SOCK_SEQPACKET),
    "abstract socket": lambda: reach(A, S, "\\0" + os.environ["ABSTRACT"]),
    "ssh agent": lambda: reach(A, S, os.environ.get("SSH_AUTH_SOCK", sock)),
    "docker": lambda: reach(A, S, "/var/run/docker.sock"),
    "system bus": lambda: reach(A, S, "/run/dbus/system_bus_socket"),
    "netlink": lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0),
    "packets": lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0),
    "virtual machines": lambda: socket.socket(socket.AF_VSOCK, S),
    "kernel ciphers": lambda: socket.socket(38, socket.SOCK_SEQPACKET),
    "bluetooth": lambda: socket.socket(31, socket.SOCK_RAW, 1),
    "raw internet": lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1),
    "tcp to the host": lambda: reach(socket.AF_INET, S, ("127.0.0.1", port)),
    "tcp to the internet": lambda: reach(socket.AF_INET, S, ("1.1.1.1", 443)),
    "tcp to metadata": lambda: reach(socket.AF_INET, S, ("169.254.169.254", 80)),
    "tcp by mapped address": lambda: reach(socket.AF_INET6, S, ("::ffff:127.0.0.1", port)),
    "tcp6": lambda: reach(socket.AF_INET6, S, ("::1", port)),
    "udp": lambda: send(("1.1.1.1", 53)),
    "udp broadcast": lambda: send(("255.255.255.255", 9)),
    "names": lambda: socket.getaddrinfo("example.com", 80),
    "trace": lambda: call(101, 117, 16, pid, 0, 0),
    "trace of the parent": lambda: call(101, 117, 16, os.getppid(), 0, 0),
    "memory of another": lambda: call(310, 270, os.getppid(), 0, 0, 0, 0, 0),
    "handles of another": lambda: call(438, 438, os.pidfd_open(os.getppid()), 0, 0),
    "new key": lambda: call(248, 217, P(b"user"), P(b"x"), P(b"y"), 1, -3),
    "request of a key": lambda: call(249, 218, P(b"user"), P(b"x"), None, -3),
    "keyring": lambda: call(250, 219, 0, -3, 1),
    "bpf": lambda: call(321, 280, 0, 0, 0),
    "perf": lambda: call(298, 241, 0, 0, -1, -1, 0),
    "userfault": lambda: call(323, 282, 0),
    "io_uring": lambda: call(425, 425, 1, ctypes.create_string_buffer(120)),
    "mount": lambda: call(165, 40, P(b"none"), P(b"/tmp"), P(b"tmpfs"), 0, None),
    "unmount": lambda: call(166, 39, P(os.path.abspath(".git/hooks").encode()), 2),
    "open_tree": lambda: call(428, 428, -100, P(b"/"), 1),
    "fsopen": lambda: call(430, 430, P(b"tmpfs"), 0),
    "move_mount": lambda: call(429, 429, -100, P(b"/"), -100, P(b"/tmp"), 0),
    "mount_setattr": lambda: call(442, 442, -100, P(b"/"), 0, ctypes.create_string_buffer(32), 32),
    "file by number": lambda: call(304, 265, -100, ctypes.create_string_buffer(64), 0),
    "unshare users": lambda: os.unshare(os.CLONE_NEWUSER),
    "unshare mounts": lambda: os.unshare(os.CLONE_NEWNS),
    "clone users": lambda: clone(0x10000000),
    "clone mounts": lambda: clone(0x00020000),
    "clone network": lambda: clone(0x40000000),
    "clone3 users": lambda: clone3(0x10000000),
    "clone3 mounts": lambda: clone3(0x00020000),
    "enter a namespace": lambda: os.setns(os.open("/proc/self/ns/user", os.O_RDONLY)),
    "enter one by a passed handle": passed,
    "type into a terminal": typed,
    "paste into a console": lambda: fcntl.ioctl(0, 0x541C, b"x"),
    "chroot": lambda: os.chroot("/"),
    "device": lambda: os.mknod("dev", 0o20666, os.makedev(1, 3)),
    "module": lambda: call(175, 105, 0, 0, P(b"")),
    "kernel": lambda: call(246, 104, 0, 0, 0, 0),
    "reboot": lambda: call(169, 142, 0, 0, 0, 0),
    "accounting": lambda: call(163, 89, P(b"code.py")),
    "log": lambda: call(103, 116, 3, ctypes.create_string_buffer(9), 8),
    "higher priority": lambda: os.nice(-5),
    "another user": raised,
    "host name": lambda: socket.sethostname("evil"),
    "clock": lambda: __import__("time").clock_settime(0, 0),
    "real time": lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)),
    "signal outside": lambda: os.kill(pid, 0),
    "link of a file outside": lambda: os.link(out + "/kept", "linked"),
    "rename by exchange": lambda: call(316, 276, -100, P(b".git"), -100, P(b"swap"), 2),
    "whiteout": lambda: call(316, 276, -100, P(b".git/config"), -100, P(b"white"), 4),
    "temporary file outside": lambda: os.open(out, os.O_TMPFILE | os.O_WRONLY),
    "temporary file linked": lambda: os.link(f"/proc/self/fd/{os.open('.', os.O_TMPFILE | os.O_WRONLY)}",
        ".git/hooks/x", follow_symlinks=True),
    "handle of a directory above": lambda: os.open("new", os.O_CREAT | os.O_WRONLY, dir_fd=os.open(out, os.O_PATH)),
    "write through a read handle": lambda: os.open(f"/proc/self/fd/{os.open('.git/config', os.O_RDONLY)}", os.O_WRONLY),
}
os.makedirs("swap", exist_ok=True)
for name, case in CASES.items():
    try:
        case()
    except (OSError, AttributeError, OverflowError):
        continue
    print(name, flush=True)
print("tried", len(CASES))
"""

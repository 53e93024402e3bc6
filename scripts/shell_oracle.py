"""Run generated commands that the analysis calls read-only, and watch what they really do.

    python scripts/shell_oracle.py --count 2000 --seed 1

Each batch runs in one bubblewrap sandbox (no network, temporary file system) under `strace -f`. Reported as a
violation: a file opened for writing, a name created, removed or changed, a program outside the tables, a connection,
a signal, a device read. Exit code 1 when there is one, 2 when the machine lacks bwrap or strace.
"""

import argparse
import dataclasses
import json
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from shell_oracle_commands import Generator, read_only

from holdfast.permissions.shell.programs.inspect import OWN_RULES, TABLES, version_forms
from holdfast.permissions.shell.reach.git_config import UNASKED_ENVIRONMENT

TRACED = (
    "open,openat,openat2,creat,unlink,unlinkat,rename,renameat,renameat2,mkdir,mkdirat,rmdir,chmod,fchmod,fchmodat,chown,"
    "fchown,lchown,fchownat,link,linkat,symlink,symlinkat,truncate,mknod,mknodat,utime,utimes,utimensat,futimesat,setxattr,"
    "lsetxattr,fsetxattr,removexattr,execve,execveat,connect,sendto,sendmsg,bind,listen,kill,tkill,tgkill,settimeofday,"
    "clock_settime,sethostname,setdomainname,mount,umount2,reboot,swapon,init_module,setpriority,ptrace"
)
CHANGING = frozenset(TRACED.split(",")) - {
    "open",
    "openat",
    "openat2",
    "execve",
    "execveat",
    "connect",
    "sendto",
    "sendmsg",
}
WRITABLE = re.compile(
    r"^/dev/(null|tty|pts/\d+|fd/\d+|stdout|stderr)$|^/proc/self/|^/tmp/(sh-thd|tac|sort)[A-Za-z0-9.-]+$"
)
READABLE_DEVICES = re.compile(r"^/dev/?$|^/dev/(null|tty|fd|fd/\d+|stdin|shm|pts|pts/\d+|urandom)/?$")
HELPERS = frozenset(
    shlex.split(
        "bash sh dash timeout git dpkg-query grep diff cmp pr true basename dirname sed uname gettext gettext.sh"
        " envsubst expr echo printf test ["
    )
)
"""Programs that the tools start themselves, and external twins of shell builtins."""
START_UP_NOISE = {
    "pip": 'AF_INET6.*"::1"',  # a library asks whether the machine has IPv6
    "pip3": 'AF_INET6.*"::1"',
    "npm": 'AF_NETLINK|"node"',  # a script for node, which lists interfaces
    "java": "hsperfdata|O_NOFOLLOW",  # the virtual machine's own counters in the temporary directory
    "javac": "hsperfdata|O_NOFOLLOW",
    "ps": "/environ",  # opened by the library, not printed without `e`
    "docker": "SIGURG",  # the Go run-time wakes its own threads
    "nice": "PRIO_PROCESS",  # what it is for
}
"""What these programs do before they look at their arguments, or always."""
_CALL = re.compile(r"^(\d+) +([a-z0-9_]+)\((.*)$", re.DOTALL)
_PATH = re.compile(r'"((?:[^"\\]|\\.)*)"')

SETUP = r"""
cd /tmp/w || exit 9
printf 'b 2\na 1\nc 3\na 1\n' > a.txt; printf 'x,y\n1,2\n3,4\n' > b.csv; printf '{"a":{"b":[1,2]},"n":"v"}\n' > c.json
printf 'one two\n' > 'with space.txt'; mkdir -p src/deep; printf 'def f():\n    return 1  # TODO\n' > src/x.py
printf 'key: 1\n' > src/deep/d.yml; ln -s a.txt link; printf 'a\n' > pattern.txt; head -c 3000 /dev/zero > bin.dat
tar cf e.tar a.txt src; printf '#!/bin/sh\n' > run.sh; chmod +x run.sh; mkdir empty
git init -q . && git config user.email a@b.c && git config user.name n && git add -A && git commit -qm first
printf 'more\n' >> a.txt && git commit -qam second && git tag v1 && git branch side && printf 'dirty\n' >> src/x.py
git stash -q && printf 'again\n' >> src/x.py && printf 'new\n' > untracked.txt
sleep 0.05; touch a.txt src/x.py
"""
DRIVER = r"""
cd /tmp/w
for file in /tmp/cmds/*.sh; do
  timeout -s KILL 10 bash --norc --noprofile "$file" </dev/null >/dev/null 2>&1
done
"""


SANDBOX = """
bwrap --unshare-all --die-with-parent --ro-bind / / --dev /dev --proc /proc --tmpfs /tmp --dir /tmp/w --clearenv
--setenv PATH /usr/local/bin:/usr/bin:/bin --setenv HOME /tmp/home --setenv LANG C.UTF-8 --setenv GIT_CONFIG_NOSYSTEM 1
"""


@dataclasses.dataclass
class Violation:
    command: str
    what: str
    call: str


def missing_tools() -> list[str]:
    return [name for name in ("bwrap", "strace", "bash", "git") if shutil.which(name) is None]


def sandbox_problem() -> str | None:
    """Say why the oracle cannot run here, or None."""
    if missing := missing_tools():
        return f"missing programs: {', '.join(missing)}"
    probe = subprocess.run(
        ["bwrap", "--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "strace", "-f", "true"],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    return None if probe.returncode == 0 else f"bwrap with strace does not work here: {probe.stderr.strip()[-200:]}"


def run_batch(commands: list[str]) -> list[Violation]:
    """Run the commands in one sandbox and return what they should not have done."""
    with tempfile.TemporaryDirectory(prefix="oracle-") as folder:
        cmds, out = Path(folder, "cmds"), Path(folder, "out")
        cmds.mkdir()
        out.mkdir()
        for number, command in enumerate(commands):
            (cmds / f"{number:05}.sh").write_text(command + "\n")
        script = f"{SETUP}\nexec strace -f --seccomp-bpf -qq -s 300 -e trace={TRACED} -o /tmp/out/trace "
        script += f"bash --norc --noprofile -c '{DRIVER}'"
        argv = [*shlex.split(SANDBOX), "--ro-bind", str(cmds), "/tmp/cmds", "--bind", str(out), "/tmp/out"]
        # The hardening is set inside, after the set-up, as it is for calls that run unasked.
        exports = "\n".join(f"export {key}={json.dumps(value)}" for key, value in UNASKED_ENVIRONMENT.items())
        script = script.replace("\nexec strace", f"\n{exports}\nexec strace")
        done = subprocess.run(
            [*argv, "bash", "--norc", "--noprofile", "-c", script],
            capture_output=True,
            text=True,
            timeout=30 + 11 * len(commands),
            check=False,
        )
        trace = out / "trace"
        if not trace.exists():
            raise RuntimeError(f"the sandbox did not start: {done.stderr[-500:]}")
        return judge(trace.read_text(errors="replace").splitlines(), commands)


def judge(lines: list[str], commands: list[str]) -> list[Violation]:
    """Read the trace; lines between two markers belong to one command."""
    found: list[Violation] = []
    current, exempt, programs = -1, set[str](), dict[str, str]()
    for line in lines:
        match = _CALL.match(line)
        if match is None:
            continue
        pid, call, rest = match.groups()
        if call == "execve":
            programs[pid] = (_PATH.search(rest) or [""] * 2)[1].rpartition("/")[2]
            marker = re.search(r'/cmds/(\d{5})\.sh"', rest)
            if '"/usr/bin/timeout"' in rest[:40] or '"timeout"' in rest[:60]:
                exempt.add(pid)
            if marker:
                if "timeout" not in rest[:30]:
                    exempt.discard(pid)
                current = int(marker[1])
                continue
        if current >= 0 and pid not in exempt and (what := misdeed(call, rest, pid)):
            names = (programs.get(pid, ""), *commands[current].split()[:1])
            if any(re.search(noise, rest) for name in names if (noise := START_UP_NOISE.get(name))):
                continue
            found.append(Violation(commands[current], what, f"{call}({rest[:160]}"))
    return found


def misdeed(call: str, rest: str, pid: str) -> str | None:
    """Name what is wrong with one system call, or None."""
    paths = _PATH.findall(rest)
    path = paths[0] if paths else ""
    if call in ("open", "openat", "openat2"):
        return _open_misdeed(path, rest)
    if call in ("execve", "execveat"):
        return None if "= -1" in rest or _known_program(path, paths[2:]) else "program outside the tables"
    if call in ("connect", "sendto", "sendmsg", "bind", "listen"):
        return None if "AF_UNIX" in rest and "nscd" in rest else "network"
    if call in CHANGING:
        itself = call in ("kill", "tgkill", "tkill") and (rest.startswith(f"{pid}, ") or re.match(r"(\d+, )+0\)", rest))
        own_temporary = call == "unlink" and WRITABLE.match(path)
        return None if itself or own_temporary else "change"
    return None


def _known_program(path: str, arguments: list[str]) -> bool:
    name = path.rsplit("/", 1)[-1]
    if name in TABLES or name in OWN_RULES or name in HELPERS or "/git-core/" in path or name.startswith("git-"):
        return True
    return " ".join(arguments) in version_forms(name)


def _open_misdeed(path: str, rest: str) -> str | None:
    if re.search(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC|O_APPEND", rest):
        return None if WRITABLE.match(path) else "open for writing"
    if path.startswith("/dev/") and not READABLE_DEVICES.match(path) and "= -1 ENOENT" not in rest:
        return "device read"
    return "environment read" if path.endswith("/environ") else None


def check(count: int, seed: int, *, batch: int = 200) -> tuple[int, int, list[Violation]]:
    """Generate `count` commands, run the read-only ones; return generated, run, violations."""
    generator = Generator(seed)
    generated, chosen = 0, list[str]()
    for _ in range(count):
        command = generator.command()
        generated += 1
        if read_only(command):
            chosen.append(command)
    violations: list[Violation] = []
    for start in range(0, len(chosen), batch):
        violations += run_batch(chosen[start : start + batch])
    return generated, len(chosen), violations


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=2000, help="commands to generate")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--batch", type=int, default=200, help="commands per sandbox")
    parser.add_argument("--show", type=int, default=40, help="violations to print")
    options = parser.parse_args()
    if problem := sandbox_problem():
        print(f"oracle not run: {problem}")
        return 2
    generated, run, violations = check(options.count, options.seed, batch=options.batch)
    distinct = {(violation.command, violation.what): violation for violation in reversed(violations)}
    for violation in list(distinct.values())[: options.show]:
        print(f"VIOLATION {violation.what}\n  command: {violation.command}\n  call:    {violation.call}")
    print(f"generated {generated}, judged read-only and run {run}, violations {len(violations)} (seed {options.seed})")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())

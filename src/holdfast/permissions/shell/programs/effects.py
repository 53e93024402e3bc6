"""Commands that change something, so that the permission layer can judge the paths and people see what is at risk."""

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from holdfast.permissions.shell.programs.facts import CommandFacts, names
from holdfast.permissions.shell.programs.options import scan
from holdfast.permissions.shell.programs.tool_table import Tool

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from holdfast.permissions.shell.words.word import Word


class Effect(NamedTuple):
    """What the operands of a state-changing command mean."""

    kind: str
    why: str
    options: str = ""
    operands: str = ""
    """`write` (all), `last` (all read, the last written), `skip` (the first is no path, the rest written), `second`
    (first read, second written), or nothing."""
    network: bool = False


_COPY = (
    "-a -b -d -f -i -H -l -L -n -P -p -R -r -s -S:text -u -v -x -Z -t|--target-directory:out"
    " -T|--no-target-directory --backup? --force"
    " --recursive --archive --verbose --update? --preserve? --no-clobber --interactive --parents"
    " --reflink? --sparse:text --suffix:text"
)
_REMOVE = (
    "-f|--force -i -I --interactive? -r|-R|--recursive -d|--dir -v|--verbose --one-file-system"
    " --preserve-root? --no-preserve-root"
)

EFFECTS: "Mapping[str, Effect]" = {
    "cp": Effect("edit", "it copies files", _COPY, "last"),
    "mv": Effect("edit", "it moves files", _COPY, "write"),
    "install": Effect("edit", "it copies files", _COPY + " -m:text -o:text -g:text -D -c", "last"),
    "ln": Effect(
        "edit",
        "it makes links",
        "-s -f -n -v -r -i -b -L -P -T -S:text -t|--target-directory:out --symbolic --force --relative",
        "last",
    ),
    "link": Effect("edit", "it makes a link", "", "last"),
    "mkdir": Effect("edit", "it makes directories", "-p|--parents -m|--mode:text -v|--verbose -Z", "write"),
    "mkfifo": Effect("edit", "it makes pipes", "-m|--mode:text", "write"),
    "mknod": Effect("edit", "it makes devices", "-m|--mode:text", "write"),
    "mktemp": Effect(
        "edit", "it makes a temporary file", "-d -q -u -t -p:text --suffix:text --tmpdir? --directory", "write"
    ),
    "touch": Effect(
        "edit",
        "it creates files or changes their times",
        "-a -c -d:text -f -h -m -r:file -t:text --date:text --reference:file --no-create",
        "write",
    ),
    "truncate": Effect(
        "edit", "it changes the size of files", "-c -o -r:file -s:text --size:text --no-create", "write"
    ),
    "shred": Effect(
        "remove", "it destroys files", "-f -n:text -s:text -u -v -x -z --iterations:text --remove? --force", "write"
    ),
    "rm": Effect("remove", "it removes files", _REMOVE, "write"),
    "rmdir": Effect(
        "remove", "it removes directories", "-p|--parents -v|--verbose --ignore-fail-on-non-empty", "write"
    ),
    "unlink": Effect("remove", "it removes a file", "", "write"),
    "chmod": Effect(
        "edit",
        "it changes permissions",
        "-R|--recursive -v|--verbose -c|--changes -f|--silent|--quiet --reference:file",
        "skip",
    ),
    "chown": Effect(
        "edit",
        "it changes owners",
        "-R|--recursive -v|--verbose -c|--changes -f|--silent|--quiet -h -H -L -P --reference:file --from:text",
        "skip",
    ),
    "chgrp": Effect(
        "edit",
        "it changes groups",
        "-R|--recursive -v|--verbose -c|--changes -f|--silent|--quiet -h -H -L -P --reference:file",
        "skip",
    ),
    "chattr": Effect("edit", "it changes file attributes", "-R -V -f", "skip"),
    "setfacl": Effect("edit", "it changes access lists", "-R -b -k -m:text -x:text -M:file -X:file -d", "write"),
    "split": Effect(
        "edit",
        "it writes pieces of a file",
        "-b:text -l:text -n:text -a:text -d -x -e -C:text --verbose --filter:text --lines:text --bytes:text",
        "second",
    ),
    "csplit": Effect("edit", "it writes pieces of a file", "-f:text -b:text -k -s -n:text -z", ""),
    "patch": Effect(
        "edit",
        "it changes files",
        "-p:text -i:file -R -N -s -f -o|--output:out -d:text -b --dry-run --input:file",
        "write",
    ),
    "rsync": Effect("edit", "it copies files", "", "last", network=True),
    "zip": Effect("edit", "it writes an archive", "-r -q -9 -j -u", "write"),
    "gzip": Effect("edit", "it replaces files", "-k -d -c -f -v -9 -1 -r -l -t", "write"),
    "gunzip": Effect("edit", "it replaces files", "-k -c -f -v -l -t", "write"),
    "zcat": Effect("read", "it starts a decompressor", "", ""),
    "bzcat": Effect("read", "it starts a decompressor", "", ""),
    "xzcat": Effect("read", "it starts a decompressor", "", ""),
    "zgrep": Effect("read", "it starts a decompressor", "", ""),
    "zless": Effect("read", "it starts a pager and a decompressor", "", ""),
    "bzip2": Effect("edit", "it replaces files", "-k -d -c -f -v -z", "write"),
    "xz": Effect("edit", "it replaces files", "-k -d -c -f -v -z -T:text", "write"),
    "ed": Effect("edit", "it edits files", "-s -p:text", "write"),
    "ex": Effect("edit", "it edits files", "", "write"),
    "perl": Effect("run", "it runs a program", "", ""),
    "mail": Effect("network", "it sends mail", "", "", network=True),
    "sendmail": Effect("network", "it sends mail", "", "", network=True),
}
"""State-changing commands with paths among their operands."""

KINDS: "Mapping[str, tuple[str, bool, str]]" = {
    **dict.fromkeys(
        names(
            "curl wget ping ping6 dig host nslookup nc ncat netcat telnet ssh scp sftp ftp whois traceroute"
            " mtr nmap http xh aria2c"
            " ss netstat ip ifconfig arp route hostid resolvectl gh glab aws gcloud az kubectl helm docker podman"
            " docker-compose nerdctl"
            " psql mysql mongosh redis-cli ssh-copy-id rclone heroku vercel netlify fly flyctl systemctl loginctl"
        ),
        ("network", True, "it talks to another machine or a service"),
    ),
    **dict.fromkeys(
        names(
            "npm npx yarn pnpm bun pip pip3 pipx uv poetry conda mamba gem bundle cargo go rustup apt"
            " apt-get apt-cache aptitude dnf yum"
            " zypper pacman apk brew snap flatpak composer mvn gradle nuget dotnet cabal stack mix rebar3 luarocks cpan"
        ),
        ("package", True, "a package tool may run project code or use the network"),
    ),
    **dict.fromkeys(
        names(
            "python python2 python3 node nodejs deno ruby php lua luajit java javac scala kotlin R Rscript"
            " julia ghc runghc elixir erl sh"
            " bash dash zsh fish ksh tcsh csh make gmake cmake ninja just rake gcc g++ clang clang++ cc ld"
            " tsc ts-node tsx pytest tox nox"
            " jest vitest mocha dc m4 gdb lldb strace ltrace script expect sqlite3 ldd env-update parallel tclsh swift"
        ),
        ("run", False, "it runs a program"),
    ),
    **dict.fromkeys(
        names("kill pkill killall skill snice renice fuser xkill"), ("process", False, "it signals processes")
    ),
    **dict.fromkeys(
        names("sudo su doas pkexec runuser setpriv chroot unshare nsenter"),
        ("privilege", False, "it changes who runs the command"),
    ),
    **dict.fromkeys(
        names(
            "mount umount swapon swapoff mkfs fdisk parted dmsetup losetup sysctl modprobe insmod rmmod"
            " shutdown reboot halt poweroff"
            " hostnamectl timedatectl localectl useradd userdel usermod groupadd passwd chsh crontab at"
            " batch service iptables nft ufw"
            " dmesg stty hwclock adjtimex ldconfig update-alternatives visudo"
        ),
        ("system-change", False, "it changes the machine or reads a device"),
    ),
    **dict.fromkeys(
        names(
            "less more most man info vi vim nvim nano emacs pico view xdg-open open sensible-browser"
            " sensible-pager w3m lynx links"
        ),
        ("run", False, "it starts a pager, an editor or a browser"),
    ),
    **dict.fromkeys(
        names("top htop watch setsid ionice flock chrt taskset parallel entr"),
        ("run", False, "it runs another command"),
    ),
}
"""Other known commands: kind, network, and why they are not read-only."""


def inspect_effect(name: str, args: "Sequence[Word]") -> CommandFacts | None:
    """Return the facts of a known command that changes something, or None when the name is not known."""
    effect = EFFECTS.get(name)
    if effect is not None:
        return _operand_effects(effect, _tool(effect.options), args)
    known = KINDS.get(name)
    if known is None:
        return None
    kind, network, why = known
    if name in ("curl", "wget"):
        return _download(name, args)
    return CommandFacts(why, network=network, kind=kind)


@cache
def _tool(options: str) -> Tool:
    return Tool(options, operands="any")


def _operand_effects(effect: Effect, tool: Tool, args: "Sequence[Word]") -> CommandFacts:
    found = scan(tool, args)
    names = [word.text for word in found.operands if word.static]
    reads, writes = list(found.reads), list(found.writes)
    if effect.operands == "write":
        writes += names
    elif effect.operands == "skip":
        writes += names[1:]
    elif effect.operands == "second":
        reads, writes = reads + names[:1], writes + names[1:]
    elif effect.operands == "last" and writes:
        reads += names
    elif effect.operands == "last":
        reads, writes = reads + names[:-1], writes + names[-1:]
    unknown = any(not word.static for word in found.operands)
    return CommandFacts(effect.why, tuple(reads), tuple(writes), effect.network, effect.kind, unknown)


DOWNLOADS = {
    "curl": "-o|--output:out -O -d|--data:text -T|--upload-file:file -H|--header:text -X|--request:text"
    " -F|--form:text -u|--user:text"
    " -A:text -e:text -b:text -c|--cookie-jar:out -D|--dump-header:out -K|--config:file -m:text"
    " -w:text -x:text --url:text"
    " --data-binary:text --data-raw:text --connect-timeout:text --max-time:text --retry:text"
    " --proxy:text --output-dir:out"
    " -s -S -L -f -k -i -I -v -G -g -N -4 -6 -q -C:text -r:text -z:text -E:text -t:text -P:text"
    " -Q:text -U:text -Y:text -y:text -Z -R -J -j -l -n -a -B -p -#",
    "wget": "-O|--output-document:out -o|--output-file:out -a|--append-output:out -P|--directory-prefix:out"
    " -i|--input-file:file -q -c -N -r -l:text"
    " -t:text -T:text -U:text -e:text -S -k -p -m -np -nc -nv -nd -x -A:text -R:text -D:text -w:text"
    " -Q:text -B:text --header:text --post-data:text",
}


def _download(name: str, args: "Sequence[Word]") -> CommandFacts:
    found = scan(_tool(DOWNLOADS[name]), args)
    writes = tuple(found.writes) or ((".",) if name == "wget" or found.has("-O") else ())
    return CommandFacts("it uses the network", tuple(found.reads), writes, network=True, kind="network")


def inspect_dd(args: "Sequence[Word]") -> CommandFacts:
    """Report what `dd` copies; it is never read-only."""
    pairs = [word.text.partition("=") for word in args if word.static]
    reads = tuple(value for key, _, value in pairs if key == "if")
    writes = tuple(value for key, _, value in pairs if key == "of")
    return CommandFacts("dd copies raw data", reads, writes, kind="edit")

"""Programs whose arguments follow rules of their own: date, ps, tar, tee, xxd, lsof, and a few more."""

import re
from typing import TYPE_CHECKING

from holdfast.permissions.shell.programs.facts import CommandFacts
from holdfast.permissions.shell.programs.options import Scan, scan
from holdfast.permissions.shell.programs.tool_table import TOOLS, compiled
from holdfast.permissions.shell.words.word import names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from holdfast.permissions.shell.words.word import Word

PS_COLUMNS = names(
    "pid ppid pgid pgrp sid sess session user uid euser euid ruser ruid suser fuser group gid egroup"
    " egid rgroup rgid comm"
    " cmd command args ucmd ucomm fname %cpu pcpu cp %mem pmem vsz vsize rss rssize rsz size sz drs"
    " trs etime etimes time"
    " times cputime cputimes bsdtime stat state s tty tt tname nice ni pri priority psr start"
    " start_time lstart bsdstart stime"
    " wchan nwchan nlwp thcount lwp tid spid c class cls policy sched rtprio maj_flt majflt min_flt"
    " minflt f flag flags uname"
    " cgroup cgroupname label unit slice ouid machine pss uss numa sgi_p tpgid tgid esp eip pending"
    " blocked caught ignored"
)
_PS_LETTERS = frozenset("axufjlsvXrwhnSTgLmHcZ")
_PS_EVERY_LETTER = frozenset("acefghjklmnoOprstuUvwxXZTLSHNMV0123456789,")
_PS_MAY_FAIL = ("-u", "-U", "-g", "-G", "-t", "-s", "-p", "-q")
_PS_FORMATS = ("-f", "-F", "-j", "-l", "-y", "-c", "-M", "-Z")
_PS_BSD_VALUES = frozenset("oOpUkt")
_PS_SEPARATE = names("--pid --ppid --sid --tty --user --User --group --Group --sort --format --quick-pid")
XXD_ALONE = names(
    "-a -autoskip -b -bits -C -capitalize -e -E -EBCDIC -i -include -p -ps -postscript -plain -r -revert -u -h -v -d"
)
XXD_WITH_NUMBER = names("-c -cols -g -groupsize -l -len -o -offset -s -seek")
GETENT_DATABASES = frozenset({"passwd", "group", "services", "protocols"})
TPUT_NAMES = frozenset({"cols", "lines", "colors", "longname"})
_LSOF_ADDRESS = re.compile(r"-([nPtlwbaRUNV]*)i(.*)\Z")
_LSOF_VALUED = re.compile(r"-[nPtlwbaRUNV]*[pucd]\Z")
SECRET_NAMES = ("TOKEN", "SECRET", "KEY", "PASSWORD", "PASSWD", "CREDENTIAL")


def _facts(found: Scan, *, network: bool = False) -> CommandFacts:
    return CommandFacts(
        found.refusal, tuple(found.reads), tuple(found.writes), network, found.tool.kind, found.reads_unknown
    )


def inspect_date(args: "Sequence[Word]") -> CommandFacts:
    """Let `date` print; an operand without `+` sets the clock."""
    found = scan(TOOLS["date"], args)
    for word in found.operands:
        if not word.text.startswith("+"):
            found.refuse(f"date with operand {word.text!r} may set the clock")
    if any("TZ=" in value.text for value in found.values("-d")):
        found.refuse("a date with a time zone of its own may read any file")
    return _facts(found)


def inspect_tee(args: "Sequence[Word]") -> CommandFacts:
    """Let `tee` copy to nothing but /dev/null."""
    found = scan(TOOLS["tee"], args)
    for word in found.operands:
        if not (word.static and word.text == "/dev/null"):
            found.note_path(word, "out")
    return _facts(found)


def inspect_xxd(args: "Sequence[Word]") -> CommandFacts:
    """Judge `xxd`: single-dash words, then an input and never an output, which may look like an option."""
    found = Scan(TOOLS["xxd"])
    rest = list(args)
    while rest and not found.operands:
        word = rest.pop(0)
        if not word.static and word.may_be_flag:
            found.refuse("a word known only at run time may become an option")
        elif word.static and word.text == "--":
            break
        elif word.static and word.text.startswith("-") and len(word.text) > 1:
            _xxd_option(found, word.text, rest)
        else:
            found.operands.append(word)
    found.operands.extend(rest)
    for at, word in enumerate(found.operands):
        found.note_path(word, "file" if at == 0 else "out")
        if word.glob or not word.static:
            found.refuse("a further operand may name an output")
    return _facts(found)


def _xxd_option(found: Scan, text: str, rest: "list[Word]") -> None:
    if text in XXD_WITH_NUMBER:
        value = rest.pop(0) if rest else None
        if value is None or not value.static or not _is_number(value.text):
            found.refuse(f"the value of {text!r} is not a plain number")
    elif text not in XXD_ALONE and not (text[1] in "cglos" and _is_number(text[2:])):
        found.refuse(f"option {text!r} is not in the table of read-only options")


def _is_number(text: str) -> bool:
    return text.lstrip("+-")[:1].isdigit() and all(letter in "0123456789abcdefABCDEFxX+-kmg" for letter in text)


def inspect_tar(args: "Sequence[Word]") -> CommandFacts:
    """Let `tar` list an uncompressed local archive; a compressed one starts a decompressor."""
    words = list(args)
    if words and words[0].static and words[0].text[:1] not in ("-", ""):
        words = _old_style(words)
    found = scan(TOOLS["tar"], words)
    if found.has("--help", "--version") and not found.operands:
        return _facts(found)
    if not found.has("-t"):
        found.refuse("tar is read-only only when it lists")
    archives = found.values("-f")
    if not archives:
        found.refuse("tar without -f reads a tape device")
    for word in archives:
        name = word.text
        if not word.static or (name != "-" and (":" in name or not name.endswith(".tar"))):
            found.refuse(f"tar may start a decompressor or a remote shell for {name!r}")
        if name != "-":
            found.note_path(word, "file")
    return _facts(found)


def _old_style(words: "list[Word]") -> "list[Word]":
    """Rewrite `tar tvf a.tar` as `tar -t -v -f a.tar`."""
    letters, rest = words[0], words[1:]
    front: list[Word] = []
    for letter in letters.text:
        front.append(letters._replace(text="-" + letter))
        if letter in "fbCTXgFIKLNV" and rest:
            front.append(rest.pop(0))
    return front + rest


def is_secret_name(name: str) -> bool:
    """Tell whether a variable's name says that it holds a secret."""
    upper = name.upper()
    return any(part in upper for part in SECRET_NAMES)


def inspect_printenv(args: "Sequence[Word]") -> CommandFacts:
    """Let `printenv NAME` show a variable that is not secret; alone it prints the whole environment."""
    found = scan(TOOLS["printenv"], args)
    if not found.operands and not found.has("--help", "--version"):
        found.refuse("it prints the whole environment")
    for word in found.operands:
        if not word.static or is_secret_name(word.text):
            found.refuse(f"{word.text!r} may hold a secret")
    return _facts(found)


def inspect_getent(args: "Sequence[Word]") -> CommandFacts:
    """Let `getent` look at local accounts; host look-ups ask the name server."""
    name = args[0].text if args and args[0].static else ""
    if name not in GETENT_DATABASES:
        return CommandFacts(f"getent {name!r} may ask the name server".rstrip(), network=True, kind="network")
    if any(word.text.startswith("-") if word.static else word.may_be_flag and not word.single for word in args):
        return CommandFacts("getent options are not in the table", kind="system")
    return CommandFacts(None, kind="system")


def inspect_tput(args: "Sequence[Word]") -> CommandFacts:
    """Let `tput` name the terminal's size; other names change the screen."""
    if len(args) == 1 and args[0].static and args[0].text in TPUT_NAMES:
        return CommandFacts(None, kind="system")
    return CommandFacts("tput may change the terminal", kind="system")


def inspect_lsof(args: "Sequence[Word]") -> CommandFacts:
    """Let `lsof` run only with `-n`, or with `-t`, which prints numbers alone; otherwise it asks the name server."""
    words, folders, bad = _split_lsof(args)
    found = scan(TOOLS["lsof"], words)
    for word in folders:
        found.note_path(word, "path")
    if bad:
        found.refuse(f"lsof may ask another machine or a service for {bad!r}")
    quiet = found.has("-n", "-t")
    if not quiet:
        found.refuse("lsof without -n asks the name server; add -nP")
    return _facts(found, network=not quiet or bool(bad))


def _split_lsof(args: "Sequence[Word]") -> "tuple[list[Word], list[Word], str]":
    """Separate what `scan` reads from the directories of `+D`; the last value is an address that is not local."""
    words: list[Word] = []
    folders: list[Word] = []
    bad = ""
    rest = list(args)
    while rest:
        word = rest.pop(0)
        address = _LSOF_ADDRESS.match(word.text) if word.static else None
        if address is not None:
            if address[1]:
                words.append(word._replace(text="-" + address[1]))
            given = address[2]
            if not given and rest and rest[0].static and rest[0].text[:1] not in ("-", "/", ""):
                given = rest.pop(0).text
            if not all(letter.isalnum() or letter in ":,-" for letter in given):
                bad = given
        elif word.static and word.text in ("+d", "+D"):
            folders += [rest.pop(0)] if rest else []
        elif word.static and word.text.startswith("+") and not word.text[2:].isdigit():
            bad = word.text
        else:
            words.append(word)
            if word.static and _LSOF_VALUED.match(word.text):
                words += [rest.pop(0)] if rest else []
            elif not (word.static and word.text.startswith(("-", "+"))):
                words += rest  # the first operand ends the options, unless it is the value of one
                bad = bad or next((late.text for late in rest if late.text[:1] in ("-", "+")), "")
                break
    return words, folders, bad


def inspect_journalctl(args: "Sequence[Word]") -> CommandFacts:
    """Let `journalctl` print without its pager."""
    found = scan(TOOLS["journalctl"], args)
    if not found.has("--no-pager", "--version"):
        found.refuse("journalctl may start a pager; add --no-pager")
    return _facts(found)


def inspect_ps(args: "Sequence[Word]") -> CommandFacts:
    """Let `ps` list processes without their environment (`ps e`, unlike `ps -e`, prints it)."""
    dashed, columns, bad = _split_ps(args)
    found = scan(TOOLS["ps"], dashed)
    if _may_be_read_again(found, args):
        bad = bad or "-e"
    for value in found.values(*_PS_MAY_FAIL):
        bad = bad or (value.text if value.text.startswith("-") else "")
    if bad:
        found.refuse(f"ps {bad!r} may print the environment of processes")
    for word in [*columns, *found.values("-o", "-O", "--format")]:
        given = [part.partition("=")[0].partition(":")[0] for part in word.text.replace(" ", ",").split(",")]
        if not word.static or any(name and name not in PS_COLUMNS for name in given):
            found.refuse(f"ps column list {word.text!r} is not in the table")
    return _facts(found)


def _may_be_read_again(found: Scan, args: "Sequence[Word]") -> bool:
    """Tell whether `ps` may take all words as BSD letters, as it does whenever the dashed words do not fit together.

    `ps -auxe` asks for the user `xe`; without such a user it means `ps auxe`, which prints environments. So does
    `ps -axe`, since there is no `-x`, and what mixes formats, or threads with a forest.
    """
    if not (_unknown_to_ps(found) or _clashes_in_ps(found, args)):
        return False
    exempt = {value.text for value in found.values("-o", "-O", "--sort", "--format")}
    return any("e" in word.text for word in args if not word.text.startswith("--") and word.text not in exempt)


def _unknown_to_ps(found: Scan) -> bool:
    given = [value.text for value in found.values(*_PS_MAY_FAIL) if not value.text.replace(",", "").isdigit()]
    return bool(given) and all(set(name) <= _PS_EVERY_LETTER for name in given)


def _clashes_in_ps(found: Scan, args: "Sequence[Word]") -> bool:
    columns = found.has("-o", "-O", "--format") and found.has(*_PS_FORMATS)
    forest = found.has("-H", "--forest") or any("f" in word.text for word in args if word.text[:1] != "-")
    return found.has("-x") or columns or (forest and found.has("-L", "-T", "-m"))


def _split_ps(args: "Sequence[Word]") -> "tuple[list[Word], list[Word], str]":
    """Separate UNIX and GNU words, which `scan` reads, from BSD clusters such as `auxww` and `axo pid,comm`."""
    short = compiled(TOOLS["ps"]).short
    dashed: list[Word] = []
    columns: list[Word] = []
    bad = ""
    rest = list(args)
    while rest:
        word = rest.pop(0)
        text = word.text
        if not word.static or text[:1] == "-" or text.replace(",", "").isdigit():
            dashed.append(word)
            takes = text[:2] != "--" and text[-1:] in short and short[text[-1]].takes == "value"
            if word.static and rest and (takes or text in _PS_SEPARATE):
                dashed.append(rest.pop(0))
            continue
        letters, taker = (text[:-1], text[-1]) if text[-1:] in _PS_BSD_VALUES else (text, "")
        if taker and rest:
            value = rest.pop(0)
            (columns if taker in "oO" else dashed).append(value)
        if (not letters and not taker) or not set(letters) <= _PS_LETTERS:
            bad = text
    return dashed, columns, bad


def inspect_unzip(args: "Sequence[Word]") -> CommandFacts:
    """Let `unzip` list, test or print; without such an option it extracts."""
    if args and args[0].static and args[0].text.startswith("-Z"):
        first = [args[0]._replace(text="-" + args[0].text[2:])] if len(args[0].text) > 2 else []
        found = scan(TOOLS["zipinfo"], [*first, *args[1:]])
    else:
        found = scan(TOOLS["unzip"], args)
        if not found.has("-l", "-v", "-t", "-p", "-c", "-z"):
            found.refuse("unzip extracts files")
            found.writes.append(".")
    return _archive(found)


def inspect_zipinfo(args: "Sequence[Word]") -> CommandFacts:
    """Let `zipinfo` list an archive."""
    return _archive(scan(TOOLS["zipinfo"], args))


def _archive(found: Scan) -> CommandFacts:
    """Take the first operand as the archive; an option behind it is the name of a member, which is then extracted."""
    for word in found.operands[: None if found.unknown else 1]:  # the first, unless an option took it
        found.note_path(word, "file")
    for word in found.operands[1:]:
        if word.static and word.text.startswith("-"):
            found.refuse(f"{word.text!r} behind the archive is not an option to every unzip")
    return _facts(found)


def inspect_iconv(args: "Sequence[Word]") -> CommandFacts:
    """Let `iconv` convert between named encodings; with a slash in it, the name is a file to read."""
    found = scan(TOOLS["iconv"], args)
    for word in found.values("-f", "-t"):
        name, _, suffix = word.text.partition("//")
        if not word.static or "/" in name or (suffix and not suffix.replace(",", "").replace("/", "").isalpha()):
            found.refuse(f"iconv reads the file {word.text!r} as an encoding")
    return _facts(found)

"""What programs are by their names: interpreters of every version, tools that change rights, twins."""

import re
from functools import lru_cache
from typing import Final

from holdfast.permissions.shell.programs.wrappers import SHELLS
from holdfast.permissions.shell.words.word import names

__all__ = ["CHANGES_RIGHTS", "is_interpreter", "program", "runs_code"]

_INTERPRETERS: Final = names(
    "python ipython bpython pypy jython graalpy micropython perl raku ruby jruby irb truffleruby node nodejs iojs deno"
    " bun tsx ts-node ts-node-esm esno vite-node coffee php php-cli php-cgi lua luajit luau texlua tclsh wish expect"
    " osascript R Rscript littler julia octave octave-cli elixir iex erl escript ghci runghc runhaskell scala groovy"
    " kotlin jshell clojure clj bb guile racket sbcl clisp ecl gosh chicken-csi csi ocaml swift dart crystal gjs qjs d8"
    " jsc rhino nashorn janet fennel hy xonsh pwsh powershell nu elvish"
)
CHANGES_RIGHTS: Final = names(
    "sudo sudo-rs sudoedit doas opendoas su su-rs su-exec pkexec runuser run0 gosu setpriv capsh please dzdo pfexec ksu"
    " calife super gksu gksudo kdesu kdesudo lxqt-sudo sg newgrp newrole runcon setuidgid envuidgid s6-setuidgid"
    " s6-applyuidgid chpst chroot gchroot nsenter unshare systemd-nspawn machinectl setcap visudo vipw vigr"
)
"""Programs that run another one as somebody else, or with more rights."""
_SAME: Final = {"gtar": "tar", "bsdtar": "tar", "star": "tar", "gsed": "sed", "nodejs": "node"}
_VERSIONED: Final = re.compile(r"(.*?[A-Za-z])[-_.]?[0-9][0-9.]*(?:[a-z]|[-_](?:dbg|debug|config|intel64))?")


def program(name: str) -> str:
    """The name by which the tables know a program that has several."""
    return _SAME.get(name, name)


@lru_cache(maxsize=256)
def is_interpreter(name: str) -> bool:
    """Whether a program runs code that it is given, in whichever version: `python3.11`, `pypy3`, `lua5.4`, `node18`."""
    return name in _INTERPRETERS or _unversioned(name) in _INTERPRETERS


def runs_code(name: str) -> bool:
    """Whether a program is an interpreter or a shell."""
    return name in SHELLS or is_interpreter(name) or _unversioned(name) in SHELLS


def _unversioned(name: str) -> str:
    found = _VERSIONED.fullmatch(name.removesuffix(".exe"))
    return found[1] if found else name.removesuffix(".exe")

"""Where the command stands among the words of a program that runs another one.

Only what is sure counts: an option outside these tables, or a word that may become several, leaves it unknown.
"""

from typing import TYPE_CHECKING, Final, NamedTuple

from holdfast.permissions.shell.programs.wrapper_shapes import Shape, open_wrapper
from holdfast.permissions.shell.words.word import Word, names

if TYPE_CHECKING:
    from collections.abc import Mapping


class _Runs(NamedTuple):
    """The words behind a runner: options, `operands` in front of the command; `dashed` = all of that up to `--`."""

    options: Shape = Shape()
    operands: int = 0
    dashed: bool = False
    scripts: frozenset[str] = frozenset()
    """Options by which a dashed runner takes a script; with one of them nothing is sure."""


class _Leads(NamedTuple):
    """A program whose subcommands run something: its options, then one of these words."""

    options: Shape
    words: "Mapping[str, _Runs | _Leads]"


_DOCKER: Final = Shape("D", "Hcl", names("debug tls tlsverify"), names("host context config log-level"))
_DOCKER_EXEC: Final = _Runs(
    Shape(
        "dit", "euw", names("detach interactive privileged tty"), names("detach-keys env env-file user workdir"),
    ),
    operands=1,
)  # fmt: skip
_DOCKER_RUN: Final = _Runs(
    Shape(
        "ditPq",
        "acehlmpuvw",
        names("detach init interactive no-healthcheck privileged publish-all quiet read-only rm sig-proxy tty"),
        names(
            "add-host attach cap-add cap-drop cgroupns cidfile cpu-quota cpu-shares cpus cpuset-cpus device dns env"
            " env-file expose gpus group-add hostname ip ipc label link log-driver log-opt mac-address memory"
            " memory-swap mount name net network network-alias pid pids-limit platform publish pull restart runtime"
            " security-opt shm-size stop-signal stop-timeout sysctl tmpfs ulimit user userns uts volume"
            " volume-driver volumes-from workdir"
        ),
    ),
    operands=1,
)
_COMPOSE: Final = _Leads(
    Shape(
        "",
        "fp",
        names("all-resources compatibility dry-run"),
        names("ansi env-file file parallel profile progress project-directory project-name"),
    ),
    {
        "exec": _Runs(
            Shape("diTt", "euw", names("detach no-TTY no-tty privileged"), names("env index user workdir")), operands=1
        ),
        "run": _Runs(
            Shape(
                "diPTtq",
                "elpuvw",
                names(
                    "build detach no-TTY no-deps no-tty quiet quiet-pull remove-orphans rm service-ports use-aliases"
                ),
                names("cap-add cap-drop env env-from-file label name publish pull user volume workdir"),
            ),
            operands=1,
        ),
    },
)
_CONTAINERS: Final = {"exec": _DOCKER_EXEC, "run": _DOCKER_RUN}
_DOCKERS: Final = _Leads(_DOCKER, {**_CONTAINERS, "container": _Leads(Shape(), _CONTAINERS), "compose": _COMPOSE})

_NPX: Final = _Runs(
    Shape(
        "yq",
        "pw",
        names(
            "ignore-existing include-workspace-root no no-install offline prefer-offline quiet silent yes workspaces"
        ),
        names("loglevel package prefix registry workspace"),
    )
)
_NPM: Final = Shape("s", "Cw", names("silent workspaces"), names("loglevel prefix registry workspace"))
_PNPM: Final = Shape("rws", "CF", names("recursive silent workspace-root"), names("dir filter"))
_PNPM_EXEC: Final = _Runs(
    Shape("r", "", names("no-bail no-sort parallel recursive reverse sort"), names("resume-from workspace-concurrency"))
)
_UV_FLAGS: Final = names(
    "active all-extras all-groups all-packages compile-bytecode dev exact frozen isolated locked managed-python"
    " module native-tls no-cache no-config no-default-groups no-dev no-editable no-env-file no-managed-python"
    " no-progress no-project no-sync offline only-dev quiet refresh reinstall script upgrade verbose"
)
_UV_VALUED: Final = names(
    "cache-dir color config-file default-index directory env-file extra from group index no-extra no-group only-group"
    " package project python refresh-package with with-editable with-requirements"
)
_UV_RUN: Final = _Runs(Shape("Umnqsv", "pw", _UV_FLAGS, _UV_VALUED))
_UV_TOOL: Final = _Runs(Shape("Unqv", "cpw", _UV_FLAGS - {"module", "script"}, _UV_VALUED))
_POETRY: Final = Shape("nqv", "CP", names("no-ansi no-cache no-interaction quiet verbose"), names("directory project"))
_CONDA: Final = _Runs(Shape("v", "np", names("live-stream no-capture-output"), names("cwd name prefix")))
_PLAIN: Final = _Runs()
_BEHIND_ONE: Final = _Runs(operands=1)
_DASHED: Final = _Runs(dashed=True, scripts=names("-c --command"))
_KUBECTL: Final = Shape("", "ns", names("insecure-skip-tls-verify"), names("as cluster context kubeconfig namespace"))

_FORMS: Final["dict[str, _Runs | _Leads]"] = {
    "npx": _NPX,
    "npm": _Leads(_NPM, {"exec": _NPX, "x": _NPX}),
    "pnpx": _Runs(Shape("", "", names("silent"), names("package"))),
    "bunx": _Runs(Shape("", "p", names("bun silent verbose"), names("package"))),
    "pnpm": _Leads(_PNPM, {"exec": _PNPM_EXEC, "dlx": _Runs(Shape("s", "", names("silent"), names("package")))}),
    "yarn": _Leads(
        Shape("", "", frozenset(), names("cwd")),
        {"exec": _PLAIN, "dlx": _Runs(Shape("q", "p", names("quiet"), names("package")))},
    ),
    "uvx": _UV_TOOL,
    "uv": _Leads(Shape("nqv", "", _UV_FLAGS, _UV_VALUED), {"run": _UV_RUN, "tool": _Leads(Shape(), {"run": _UV_TOOL})}),
    "poetry": _Leads(_POETRY, {"run": _PLAIN}),
    "pipenv": _Leads(Shape("qv", "", names("quiet verbose"), names("python")), {"run": _PLAIN}),
    "pdm": _Leads(Shape("qv"), {"run": _Runs(Shape("sv", "p", names("site-packages verbose"), names("project")))}),
    "rye": _Leads(Shape(), {"run": _Runs(Shape("lv", "", frozenset(), names("pyproject")))}),
    "pipx": _Leads(
        Shape("qv"), {"run": _Runs(Shape("qv", "", names("no-cache quiet verbose"), names("python spec with")))}
    ),
    **dict.fromkeys(("conda", "mamba"), _Leads(Shape(), {"run": _CONDA})),
    "bundle": _Leads(
        Shape("", "", names("no-color verbose")),
        {"exec": _Runs(Shape("", "", names("keep-file-descriptors"), names("gemfile")))},
    ),
    **dict.fromkeys(("docker", "podman", "nerdctl"), _DOCKERS),
    **dict.fromkeys(("docker-compose", "podman-compose"), _COMPOSE),
    "kubectl": _Leads(_KUBECTL, {"exec": _Runs(dashed=True)}),
    "direnv": _Leads(Shape(), {"exec": _BEHIND_ONE}),
    "asdf": _Leads(Shape(), {"exec": _PLAIN}),
    "mise": _Leads(Shape(), {"exec": _DASHED, "x": _DASHED}),
    **dict.fromkeys(("doppler", "op"), _Leads(Shape(), {"run": _DASHED})),
    "aws-vault": _Leads(Shape(), {"exec": _DASHED}),
    **dict.fromkeys(names("eatmydata chronic ifne pkexec linux32 linux64 i386 x86_64 dumb-init tini"), _PLAIN),
    **dict.fromkeys(names("gosu su-exec s6-setuidgid faketime"), _BEHIND_ONE),
}


def command_start(name: str, argv: tuple[Word, ...]) -> int | None:
    """Find the command that a runner starts, the number of words when it names none; None when that is not sure."""
    form, at = _FORMS.get(name), 1
    known = _certain_shape(argv)
    if known is None:
        return None
    while isinstance(form, _Leads):
        opened = open_wrapper(form.options, known[at - 1 :])
        at += opened.start
        if not opened.known or at > len(argv) or not argv[at - 1].static:
            return None
        form = form.words.get(argv[at - 1].text)
    if form is None:
        return None
    start = _behind_dashes(form, argv, at) if form.dashed else _behind_operands(form, argv, known, at)
    return start if start is not None and _is_command(argv, start) else None


def _certain_shape(argv: tuple[Word, ...]) -> tuple[Word, ...] | None:
    """The words, with something certain in place of those whose text is not known but which stay one word."""
    known: list[Word] = []
    for word in argv:
        if word.static or not word.whole:
            known.append(word)
        elif word.text.startswith("-") and "=" not in word.text:
            return None
        else:
            known.append(Word(f"{word.text}x"))
    return tuple(known)


def _behind_operands(form: _Runs, argv: tuple[Word, ...], known: tuple[Word, ...], at: int) -> int | None:
    opened = open_wrapper(form.options, known[at - 1 :])
    start = at - 1 + opened.start
    passed = argv[start : start + form.operands]
    if not opened.known or any(not word.static and (word.may_be_flag or not word.whole) for word in passed):
        return None
    return start + len(passed)


def _behind_dashes(form: _Runs, argv: tuple[Word, ...], at: int) -> int | None:
    for index in range(at, len(argv)):
        word = argv[index]
        if not (word.static or word.whole) or word.text.partition("=")[0] in form.scripts:
            return None
        if word.static and word.text == "--":
            return index + 1
    return None


def _is_command(argv: tuple[Word, ...], start: int) -> bool:
    """Whether a program's name stands there, and not options for one the text does not tell, or a whole script."""
    if not all(word.static or word.whole for word in argv[:start]):
        return False
    if start >= len(argv):
        return True
    name = argv[start]
    return name.static and name.text[:1] != "-" and not any(blank in name.text for blank in " \t\n")

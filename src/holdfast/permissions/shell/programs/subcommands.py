"""Where the subcommand of a program stands: behind options, some of which take a value."""

from typing import TYPE_CHECKING, Final

from holdfast.permissions.shell.words.word import names

if TYPE_CHECKING:
    from collections.abc import Sequence

GLOBAL_VALUED: Final = {
    "git": names("-C -c --git-dir --work-tree --namespace --super-prefix --config-env --attr-source"),
    "kubectl": names(
        "-n --namespace --context --kubeconfig --cluster --user -s --server --token --as --as-group --as-uid"
        " --request-timeout --cache-dir --certificate-authority --client-certificate --client-key --username --password"
        " --tls-server-name --profile --profile-output -v --v --vmodule --log-flush-frequency --kuberc"
    ),
    "helm": names("-n --namespace --kube-context --kubeconfig"),
    **dict.fromkeys(
        names("docker podman nerdctl"),
        names("-H --host -c --context --config -l --log-level --tlscacert --tlscert --tlskey"),
    ),
    "npm": names(
        "--prefix -C -w --workspace --tag --registry --loglevel --cache --userconfig --globalconfig --otp --scope"
    ),
    "pnpm": names("-C --dir -F --filter"),
    "yarn": names("--cwd"),
    "gh": names("-R --repo"),
    "cargo": names("-C --config --color"),
    "go": names("-C"),
    "make": names("-C --directory -f --file"),
    **dict.fromkeys(names("uv poetry"), names("-C --directory --project")),
    "aws": names("--profile --region --output --endpoint-url"),
    "terraform": frozenset[str](),
    "systemctl": names("-H --host -M --machine"),
}
"""Programs with subcommands, and their options with a value that stand in front of those."""
_FLAGS: Final = {
    "git": names(
        "--no-pager -p --paginate --bare --no-replace-objects --literal-pathspecs --glob-pathspecs --noglob-pathspecs"
        " --icase-pathspecs --no-optional-locks --no-lazy-fetch --no-advice -v --version -h --help --html-path"
    ),
    "npm": names("-s --silent -q --quiet -d -dd -ddd --verbose -g --global -y --yes -f --force --json"),
    "cargo": names("-v --verbose -vv -q --quiet --locked --offline --frozen"),
    **dict.fromkeys(names("docker podman nerdctl"), names("-D --debug --tls --tlsverify")),
    "systemctl": names("--user --system --no-pager -q --quiet --no-ask-password"),
}
"""Options without a value in front of a subcommand; of others nobody knows."""
_MAX_PLACES: Final = 32


def after_global_options(name: str, texts: "Sequence[str]") -> int:
    """Where the subcommand of a program stands; the first argument of a program that has none."""
    valued, at = GLOBAL_VALUED.get(name), 1
    while valued is not None and at < len(texts) and texts[at][:1] == "-":
        at += 2 if texts[at] in valued else 1
    return at


def subcommand_places(name: str, texts: "Sequence[str]") -> list[int]:
    """Every place where the subcommand may stand: an option that is not known takes the next word, or does not."""
    valued, flags = GLOBAL_VALUED.get(name, frozenset[str]()), _FLAGS.get(name, frozenset[str]())
    reached, found = {1}, list[int]()
    for at in range(1, min(len(texts), _MAX_PLACES)):
        text = texts[at]
        if at not in reached:
            continue
        if text[:1] != "-" or text == "-":
            found.append(at)
        elif text == "--":
            reached.add(at + 1)
        elif text in valued:
            reached.add(at + 2)
        elif "=" in text or text in flags:
            reached.add(at + 1)
        else:
            reached |= {at + 1, at + 2}
    return found

"""Option tables of git's read-only subcommands. See options.py for the notation.

git runs on no abbreviation here: a shortened option is simply not in the table. Values that begin with `-` are
refused, because git takes some of them only when glued and the rest would be options of their own.
"""

from typing import TYPE_CHECKING

from holdfast.permissions.shell.programs.tool_table import Tool

if TYPE_CHECKING:
    from collections.abc import Mapping

DIFF = (
    "-p|-u|--patch -s|--no-patch -U?num --unified:num --raw --patch-with-raw --minimal --patience"
    " --histogram --indent-heuristic"
    " --no-indent-heuristic --anchored:text --diff-algorithm:text --stat? --stat-width:num"
    " --stat-name-width:num --stat-count:num"
    " --stat-graph-width:num --compact-summary --no-compact-summary --numstat --shortstat -X?"
    " --dirstat? --cumulative --dirstat-by-file? --summary"
    " --patch-with-stat -z --name-only --name-status --submodule?shown --color? --no-color --color-moved?"
    " --no-color-moved --color-moved-ws:text --word-diff? --word-diff-regex:text --color-words? --no-renames"
    " --renames --rename-empty --no-rename-empty"
    " --check --ws-error-highlight:text --full-index --binary --abbrev? --no-abbrev -B?"
    " --break-rewrites? -M? --find-renames? -C? --find-copies?"
    " --find-copies-harder -D|--irreversible-delete -l:num --diff-filter:text -S:text -G:text --find-object:text"
    " --pickaxe-all --pickaxe-regex -R --relative? --no-relative -a|--text --ignore-cr-at-eol --ignore-space-at-eol"
    " -b|--ignore-space-change -w|--ignore-all-space --ignore-blank-lines -I:text --ignore-matching-lines:text"
    " --inter-hunk-context:num -W|--function-context --no-function-context --exit-code --quiet"
    " --no-ext-diff --no-textconv --ignore-submodules?"
    " --src-prefix:text --dst-prefix:text --no-prefix --default-prefix --line-prefix:text --ita-invisible-in-index"
    " --ita-visible-in-index --output-indicator-new:text --output-indicator-old:text --output-indicator-context:text"
    " --skip-to:text --rotate-to:text --merge-base --cc -c -m --combined-all-paths --end-of-options"
    " !--output:out !--ext-diff !--textconv !-O:file"
)
_REVISIONS = (
    " -n|--max-count:num --skip:num --since|--after:text --since-as-filter:text --until|--before:text --author:text"
    " --committer:text --grep-reflog:text --grep:text --all-match --invert-grep"
    " -i|--regexp-ignore-case --basic-regexp"
    " -E|--extended-regexp -F|--fixed-strings -P|--perl-regexp --remove-empty --merges --no-merges --min-parents:num"
    " --max-parents:num --no-min-parents --no-max-parents --first-parent --exclude-first-parent-only --not --all"
    " --branches? --tags? --remotes? --glob:text --exclude:text --exclude-hidden:text --reflog"
    " --single-worktree --ignore-missing --bisect --cherry-mark --cherry-pick --left-only --right-only --cherry"
    " -g|--walk-reflogs --merge --boundary --simplify-by-decoration --show-pulls --full-history --dense --sparse"
    " --simplify-merges --ancestry-path? --date-order --author-date-order --topo-order --reverse --no-walk? --do-walk"
    " --relative-date --date:text --parents --children --left-right --graph --no-graph"
    " --show-linear-break? --count --timestamp"
    " --abbrev-commit --no-abbrev-commit --oneline --encoding:text --pretty? --format:text"
    " --expand-tabs? --no-expand-tabs"
    " --notes? --no-notes --show-notes? --no-standard-notes --standard-notes --objects"
    " --objects-edge --in-commit-order"
    " --header --max-age:num --min-age:num --disk-usage? --unpacked --bisect-vars --bisect-all --quiet"
)
LOG = (
    DIFF + _REVISIONS + " --follow --no-decorate --decorate? --decorate-refs:text --decorate-refs-exclude:text"
    " --clear-decorations --source"
    " --mailmap --no-mailmap --use-mailmap --no-use-mailmap --full-diff --log-size -L:text"
    " --no-show-signature -t --root !--diff-merges:text --no-diff-merges --dd"
    " !--remerge-diff !--show-signature"
)
_LIST = (
    " --contains?text --no-contains?text --merged?text --no-merged?text --points-at:text --sort:text --format:text"
    " --color? --no-color --column? --no-column -i|--ignore-case --omit-empty"
)


def _git(options: str, operands: str = "text", **more: int | bool) -> Tool:
    return Tool(
        options,
        operands=operands,
        abbreviate=False,
        kind="git",
        numeric=bool(more.get("numeric")),
        most=int(more.get("most", 10_000)),
        least=int(more.get("least", 0)),
        reads_on=bool(more.get("reads_on")),
        alone_is_file=bool(more.get("alone_is_file")),
        permute=bool(more.get("permute", True)),
    )


GIT_READS: "Mapping[str, Tool]" = {
    "status": _git(
        "-s|--short -b|--branch --show-stash --porcelain? --long -v|--verbose -u|--untracked-files? --ignored?"
        " --ignore-submodules? -z --column? --no-column --ahead-behind --no-ahead-behind --renames --no-renames"
        " --find-renames? --end-of-options"
    ),
    "log": _git(LOG + " -q", numeric=True),
    "show": _git(LOG + " -q", numeric=True),
    "whatchanged": _git(LOG, numeric=True),
    "reflog": _git(LOG, numeric=True, reads_on=True),
    "diff": _git(DIFF + " --cached|--staged --no-index --base --ours --theirs", numeric=True),
    "diff-tree": _git(LOG + " -r --stdin --no-commit-id --always", numeric=True),
    "diff-index": _git(DIFF + " -r --cached"),
    "diff-files": _git(DIFF + " -r -q -0 -1 -2 -3 --base --ours --theirs"),
    "shortlog": _git(LOG + " -s|--summary -n|--numbered -e|--email -w? -c|--committer --group:text", numeric=True),
    "rev-list": _git(
        LOG + " --stdin --missing:text --filter:text --no-filter --no-object-names --object-names"
        " --use-bitmap-index --progress:text",
        numeric=True,
    ),
    "blame": _git(
        "-b --root --show-stats -L:text -l -t -s -e|--show-email -f|--show-name -n|--show-number -w"
        " -M?num -C?num -c --date:text"
        " --porcelain -p --line-porcelain --incremental --encoding:text --contents:file --first-parent --reverse"
        " --ignore-rev:text --ignore-revs-file:file --color-lines --color-by-age --abbrev? --minimal --since:text"
        " --no-progress --score-debug --no-textconv --end-of-options",
        reads_on=True,
        alone_is_file=True,
    ),
    "annotate": _git(
        "-L:text -l -t -e|--show-email -n|--show-number -w -b -f|--show-name", reads_on=True, alone_is_file=True
    ),
    "rev-parse": _git(
        "--abbrev-ref? --short? --verify -q|--quiet --symbolic --symbolic-full-name --all --branches?"
        " --tags? --remotes?"
        " --glob:text --exclude:text --show-toplevel --show-prefix --show-cdup --git-dir"
        " --absolute-git-dir --git-common-dir"
        " --is-inside-git-dir --is-inside-work-tree --is-bare-repository --is-shallow-repository"
        " --show-superproject-working-tree"
        " --shared-index-path --git-path:text --path-format:text --show-object-format? --show-ref-format"
        " --default:text --revs-only --no-revs"
        " --flags --no-flags --not --since:text --after:text --until:text --before:text --local-env-vars"
        " --sq --end-of-options --disambiguate:text"
    ),
    "ls-files": _git(
        "-c|--cached -d|--deleted -m|--modified -o|--others -i|--ignored -s|--stage --directory"
        " --no-empty-directory -u|--unmerged -k|--killed"
        " -z -x|--exclude:text -X|--exclude-from:file --exclude-per-directory:text --exclude-standard"
        " --error-unmatch --with-tree:text -t -v -f"
        " --full-name --recurse-submodules --abbrev? --debug --eol --sparse --deduplicate --resolve-undo"
        " --format:text --end-of-options"
    ),
    "ls-tree": _git(
        "-d -r -t -l|--long -z --name-only --name-status --object-only --full-name --full-tree --abbrev? --format:text"
    ),
    "cat-file": _git(
        "-t -s -e -p --batch? --batch-check? --batch-all-objects --buffer --unordered --follow-symlinks"
        " -z -Z --allow-unknown-type --use-mailmap !--textconv !--filters !--path:text !--batch-command?"
    ),
    "describe": _git(
        "--all --tags --contains --abbrev? --candidates:num --exact-match --debug --long --match:text"
        " --exclude:text --always --first-parent !--dirty? !--broken?"
    ),
    "name-rev": _git(
        "--tags --refs:text --exclude:text --all --name-only --no-undefined --undefined --always --stdin"
        " --annotate-stdin"
    ),
    "merge-base": _git("-a|--all --octopus --independent --is-ancestor --fork-point"),
    "for-each-ref": _git(
        "--count:num --shell --perl --python --tcl --exclude:text --include-root-refs --stdin --start-after:text"
        + _LIST
    ),
    "show-ref": _git(
        "--head --heads --branches --tags -d|--dereference -s|--hash?num --verify -q|--quiet --exists"
        " --abbrev? --exclude-existing?"
    ),
    "show-branch": _git(
        "-r|--remotes -a|--all --current --topo-order --date-order --sparse --more:num --list"
        " --merge-base --independent --no-name --sha1-name --topics --color? --no-color"
    ),
    "symbolic-ref": _git("-q|--quiet --short --recurse --no-recurse !-d|--delete !-m:text", most=1, least=1),
    "grep": _git(
        "--cached --no-index --untracked --no-exclude-standard --exclude-standard --recurse-submodules"
        " -a|--text -i|--ignore-case -I"
        " --max-depth:num -r|--recursive --no-recursive -w|--word-regexp -v|--invert-match -h -H"
        " --full-name -E|--extended-regexp -G|--basic-regexp -P|--perl-regexp"
        " -F|--fixed-strings -n|--line-number --column -l|--files-with-matches|--name-only"
        " -L|--files-without-match -z|--null -o|--only-matching -c|--count --color?"
        " --no-color --break --heading -p|--show-function -A|--after-context:num -B|--before-context:num"
        " -C|--context:num -W|--function-context -m|--max-count:num"
        " --threads:num -f:file -e:text --and --or --not --all-match -q|--quiet --no-textconv"
        " --end-of-options !-O|--open-files-in-pager? !--textconv",
        numeric=True,
    ),
    "count-objects": _git("-v|--verbose -H|--human-readable", "none"),
    "check-ignore": _git("-q|--quiet -v|--verbose --stdin -z -n|--non-matching --no-index"),
    "check-attr": _git("-a|--all --stdin -z --cached --source:text"),
    "check-mailmap": _git("--stdin"),
    "check-ref-format": _git("--branch --normalize --allow-onelevel --refspec-pattern --print"),
    "cherry": _git("-v --abbrev?"),
    "range-diff": _git(
        DIFF + " --creation-factor:num --no-dual-color --left-only --right-only --no-notes --notes?", reads_on=True
    ),
    "patch-id": _git("--stable --unstable --verbatim"),
    "hash-object": _git("-t:text --stdin --no-filters --literally !-w !--path:text !--stdin-paths"),
    "verify-pack": _git("-v|--verbose -s|--stat-only", reads_on=True),
    "ls-remote": _git("!--heads"),
    "version": _git("--build-options", "none"),
    "branch": _git("-a|--all -r|--remotes -l|--list -v|--verbose --show-current --abbrev? --no-abbrev" + _LIST),
    "tag": _git("-l|--list -n?num" + _LIST),
    "remote": _git("-v|--verbose", "none"),
    "remote get-url": _git("--push --all", most=1, least=1),
    # `stash list` drops the `--` and hands the rest to `git log`, whose options they then are.
    "stash list": _git(LOG, numeric=True, reads_on=True),
    "stash show": _git(DIFF + " --include-untracked --only-untracked", reads_on=True),
    "worktree list": _git("--porcelain -z -v|--verbose --expire:text", "none"),
    "submodule status": _git("--cached --recursive -q|--quiet"),
    "submodule": _git("", "none"),
    "notes": _git("", "none"),
    "notes list": _git("", most=1),
    "notes show": _git("", most=1),
    "bisect log": _git("", "none"),
    "config": _git(
        "-l|--list --get --get-all --get-regexp --get-urlmatch --local --global --system --worktree"
        " --show-origin --show-scope --name-only -z|--null"
        " --type:text --bool --int --bool-or-int --path --expiry-date --includes --no-includes"
        " --default:text -f|--file:file --blob:text --fixed-value"
        " !-e|--edit !--add !--replace-all !--unset !--unset-all !--rename-section !--remove-section"
        " !--get-color:text !--get-colorbool:text",
        permute=False,  # `git config a.b --get` sets a.b to `--get`
    ),
    "config list": _git(
        "--local --global --system --worktree --show-origin --show-scope --name-only -z|--null"
        " --includes --no-includes -f|--file:file",
        "none",
    ),
    "config get": _git(
        "--local --global --system --worktree --show-origin --show-scope --all --regexp --type:text"
        " --default:text -z|--null -f|--file:file --value:text --url:text --show-names",
        most=1,
        least=1,
    ),
}
"""Subcommand (with its second word where that decides) to its options."""

GIT_SECOND_WORDS = frozenset({"remote", "stash", "worktree", "submodule", "notes", "bisect", "config"})
"""Subcommands whose second word decides what they do."""

GIT_NETWORK = frozenset(
    {
        "fetch",
        "pull",
        "push",
        "clone",
        "ls-remote",
        "fetch-pack",
        "send-pack",
        "remote-https",
        "archive",
        "request-pull",
        "send-email",
        "svn",
        "p4",
        "lfs",
    }
)
"""Subcommands that talk to other machines."""

GIT_PATH_WRITERS = frozenset(
    {
        "rm",
        "mv",
        "checkout",
        "restore",
        "clean",
        "reset",
        "apply",
        "am",
        "stash",
        "switch",
        "merge",
        "rebase",
        "revert",
        "cherry-pick",
        "pull",
        "init",
        "clone",
        "add",
    }
)
"""Subcommands that write to the working tree or the index; their literal operands are reported as written."""

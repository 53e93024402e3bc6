"""Option tables of text tools: print, cut, count, search, compare. See options.py for the notation."""

from typing import TYPE_CHECKING

from holdfast.permissions.shell.programs.tool_table import Tool

if TYPE_CHECKING:
    from collections.abc import Mapping

_GNU = " --help --version"
_CHECKSUM = (
    "-b|--binary -c|--check --tag -t|--text -z|--zero --ignore-missing --quiet --status --strict -w|--warn"
    " -l|--length:num -a|--algorithm:text --untagged --debug --raw --base64" + _GNU
)
_HEXDUMP = (
    "-b|--one-byte-octal -c|--one-byte-char -C|--canonical -d|--two-bytes-decimal -e|--format:text"
    " -f|--format-file:file -L|--color? -n|--length:num -o|--two-bytes-octal -s|--skip:num -v|--no-squeezing"
    " -x|--two-bytes-hex -X|--one-byte-hex -h|--help -V|--version"
)
_BASE = "-d|-D|--decode -i|--ignore-garbage -w|--wrap:num" + _GNU
_GREP = (
    "-E|--extended-regexp -F|--fixed-strings -G|--basic-regexp -P|--perl-regexp -e|--regexp:text -f|--file:file"
    " -i|-y|--ignore-case --no-ignore-case -w|--word-regexp -x|--line-regexp -z|--null-data -s|--no-messages"
    " -v|--invert-match -V|--version --help -m|--max-count:num -b|--byte-offset -n|--line-number"
    " -u|--unix-byte-offsets"
    " --line-buffered -H|--with-filename -h|--no-filename --label:text -o|--only-matching -q|--quiet|--silent"
    " --binary-files:text -a|--text -I -d|--directories:text -D|--devices:text -r|--recursive"
    " -R|--dereference-recursive"
    " --include:text --exclude:text --exclude-from:file --exclude-dir:text -L|--files-without-match"
    " -l|--files-with-matches -c|--count -T|--initial-tab -Z|--null -B|--before-context:num -A|--after-context:num"
    " -C|--context:num --group-separator:text --no-group-separator --color? --colour? -U|--binary -X:text"
)
_DIFF = (
    "--normal -q|--brief -s|--report-identical-files -c --context? -C:num -u --unified? -U:num"
    " -e|--ed -f|--forward-ed"
    " -n|--rcs -y|--side-by-side -W|--width:num --left-column --suppress-common-lines -p|--show-c-function"
    " -F|--show-function-line:text --label|-L:text -t|--expand-tabs -T|--initial-tab --tabsize:num"
    " --suppress-blank-empty"
    " !-l|--paginate -r|--recursive --no-dereference -N|--new-file -P --unidirectional-new-file"
    " --ignore-file-name-case"
    " --no-ignore-file-name-case -x|--exclude:text -X|--exclude-from:file -S|--starting-file:text --from-file:file"
    " --to-file:file -i|--ignore-case -E|--ignore-tab-expansion -Z|--ignore-trailing-space -b|--ignore-space-change"
    " -w|--ignore-all-space -B|--ignore-blank-lines -I|--ignore-matching-lines:text -a|--text --strip-trailing-cr"
    " -D|--ifdef:text --old-group-format:text --new-group-format:text --changed-group-format:text"
    " --unchanged-group-format:text --line-format:text --old-line-format:text --new-line-format:text"
    " --unchanged-line-format:text -d|--minimal -H|--speed-large-files --horizon-lines:num --binary"
    " --inhibit-hunk-merge --sdiff-merge-assist --presume-output-tty --color? --palette:text --help -v|--version"
)

TEXT_TOOLS: "Mapping[str, Tool]" = {
    # Printing files.
    "cat": Tool(
        "-A|--show-all -b|--number-nonblank -e -E|--show-ends -n|--number -s|--squeeze-blank -t -T|--show-tabs -u"
        " -v|--show-nonprinting" + _GNU,
        plain=True,
        kind="read",
    ),
    "tac": Tool("-b|--before -r|--regex -s|--separator:text" + _GNU, plain=True, kind="read"),
    "nl": Tool(
        "-b|--body-numbering:text -d|--section-delimiter:text -f|--footer-numbering:text -h|--header-numbering:text"
        " -i|--line-increment:num -l|--join-blank-lines:num -n|--number-format:text -p|--no-renumber"
        " -s|--number-separator:text -v|--starting-line-number:num -w|--number-width:num" + _GNU,
        plain=True,
        kind="read",
    ),
    "head": Tool(
        "-c|--bytes:num -n|--lines:num -q|--quiet|--silent -v|--verbose -z|--zero-terminated" + _GNU,
        plain=True,
        numeric=True,
        kind="read",
    ),
    "tail": Tool(
        "-c|--bytes:num -f|--follow? -F -n|--lines:num --max-unchanged-stats:num --pid:num"
        " -q|--quiet|--silent --retry"
        " -s|--sleep-interval:num -v|--verbose -z|--zero-terminated -r" + _GNU,
        plain=True,
        numeric=True,
        plus=True,
        kind="read",
    ),
    "rev": Tool("-0|--zero -h|--help -V|--version", plain=True),
    "strings": Tool(
        "-a|--all -d|--data -f|--print-file-name -n|--bytes:num -t|--radix:text -o -T|--target:text"
        " -e|--encoding:text"
        " -s|--output-separator:text -w|--include-all-whitespace -U|--unicode:text -h|--help -v|-V|--version",
        plain=True,
        numeric=True,
        kind="read",
    ),
    "od": Tool(
        "-A|--address-radix:text --endian:text -j|--skip-bytes:num -N|--read-bytes:num -S:num --strings?num"
        " -t|--format:text -v|--output-duplicates -w|--width?num --traditional -a -b -c -d -f -i -l -o -s -x" + _GNU,
        plain=True,
        plus=True,
        kind="read",
    ),
    "hexdump": Tool(_HEXDUMP, plain=True, kind="read"),
    "hd": Tool(_HEXDUMP, plain=True, kind="read"),
    "pr": Tool(
        "-a|--across -c|--show-control-chars -d|--double-space -D|--date-format:text -e|--expand-tabs?"
        " -F|-f|--form-feed"
        " -h|--header:text -i|--output-tabs? -J|--join-lines -l|--length:num -m|--merge -n|--number-lines?"
        " -N|--first-line-number:num -o|--indent:num -r|--no-file-warnings -s|--separator? -S|--sep-string?"
        " -t|--omit-header -T|--omit-pagination -v|--show-nonprinting -w|--width:num -W|--page-width:num"
        " --columns:num"
        " --pages:text" + _GNU,
        plain=True,
        numeric=True,
        plus=True,
    ),
    # Counting and summing.
    "wc": Tool(
        "-c|--bytes -m|--chars -l|--lines --files0-from:file -L|--max-line-length -w|--words --total:text --debug"
        + _GNU,
        plain=True,
        lists="--files0-from",
        kind="read",
    ),
    "md5sum": Tool(_CHECKSUM, plain=True, lists="-c"),
    "sha1sum": Tool(_CHECKSUM, plain=True, lists="-c"),
    "sha224sum": Tool(_CHECKSUM, plain=True, lists="-c"),
    "sha256sum": Tool(_CHECKSUM, plain=True, lists="-c"),
    "sha384sum": Tool(_CHECKSUM, plain=True, lists="-c"),
    "sha512sum": Tool(_CHECKSUM, plain=True, lists="-c"),
    "b2sum": Tool(_CHECKSUM, plain=True, lists="-c"),
    "cksum": Tool(_CHECKSUM, plain=True, lists="-c"),
    "sum": Tool("-r -s|--sysv" + _GNU, plain=True),
    # Cutting and changing.
    "cut": Tool(
        "-b|--bytes:text -c|--characters:text -d|--delimiter:text -f|--fields:text -n --complement"
        " -s|--only-delimited"
        " --output-delimiter:text -z|--zero-terminated" + _GNU,
        plain=True,
    ),
    "tr": Tool(
        "-c|-C|--complement -d|--delete -s|--squeeze-repeats -t|--truncate-set1" + _GNU, operands="text", plain=True
    ),
    "paste": Tool("-d|--delimiters:text -s|--serial -z|--zero-terminated" + _GNU, plain=True),
    "join": Tool(
        "-a:text -e:text -i|--ignore-case -j:text -o:text -t:text -v:text -1:text -2:text --check-order"
        " --nocheck-order"
        " --header -z|--zero-terminated" + _GNU,
        plain=True,
    ),
    "comm": Tool(
        "-1 -2 -3 --check-order --nocheck-order --output-delimiter:text --total -z|--zero-terminated" + _GNU, plain=True
    ),
    "fold": Tool("-b|--bytes -c|--characters -s|--spaces -w|--width:num" + _GNU, plain=True, numeric=True),
    "fmt": Tool(
        "-c|--crown-margin -p|--prefix:text -s|--split-only -t|--tagged-paragraph -u|--uniform-spacing -w|--width:num"
        " -g|--goal:num" + _GNU,
        plain=True,
        numeric=True,
    ),
    "expand": Tool("-i|--initial -t|--tabs:text" + _GNU, plain=True, numeric=True),
    "unexpand": Tool("-a|--all --first-only -t|--tabs:text" + _GNU, plain=True, numeric=True),
    "column": Tool(
        "-t|--table -s|--separator:text -o|--output-separator:text -c|--output-width|--columns:num"
        " -x|--fillrows -n:text"
        " -J|--json -d|--table-noheadings -e|--table-header-repeat -E|--table-noextreme:text -H|--table-hide:text"
        " -l|--table-columns-limit:num -N|--table-columns:text -O|--table-order:text -R|--table-right:text"
        " -r|--tree:text -T|--table-truncate:text -W|--table-wrap:text -L|--keep-empty-lines|--table-empty-lines"
        " -i|--tree-id:text -p|--tree-parent:text -m|--table-maxout --table-name:text --table-column:text"
        " -S|--use-spaces:num -h|--help -V|--version",
        plain=True,
    ),
    "base64": Tool(_BASE, plain=True),
    "base32": Tool(_BASE, plain=True),
    "basenc": Tool(
        "--base64 --base64url --base58 --base32 --base32hex --base16 --base2msbf --base2lsbf --z85 " + _BASE, plain=True
    ),
    "iconv": Tool(
        "-f|--from-code:text -t|--to-code:text -c -s|--silent -l|--list !-o|--output:out --verbose -?|--help --usage"
        " -V|--version",
    ),
    "numfmt": Tool(
        "--debug -d|--delimiter:text --field:text --format:text --from:text --from-unit:num --grouping --header?"
        " --invalid:text --padding:num --round:text --suffix:text --unit-separator:text --to:text --to-unit:num"
        " -z|--zero-terminated" + _GNU,
        operands="text",
        plain=True,
        numeric=True,
    ),
    "tsort": Tool("-w --help --version", plain=True),
    "seq": Tool(
        "-f|--format:text -s|--separator:text -w|--equal-width" + _GNU,
        operands="text",
        plain=True,
        numeric=True,
        permute=False,
    ),
    "c++filt": Tool(
        "-_|--strip-underscore -n|--no-strip-underscore -p|--no-params -i|--no-verbose -R|--recurse-limit"
        " -r|--no-recurse-limit -t|--types -s|--format:text -h|--help -v|--version",
        operands="text",
    ),
    "factor": Tool("-h|--exponents" + _GNU, operands="text", plain=True),
    "expr": Tool("", operands="text", plain=True, optionless=True),
    "bc": Tool("-i|--interactive -l|--mathlib -q|--quiet -s|--standard -w|--warn -h|--help -v|--version", plain=True),
    "yes": Tool("", operands="text", plain=True, optionless=True),
    "sort": Tool(
        "-b|--ignore-leading-blanks -d|--dictionary-order -f|--ignore-case -g|--general-numeric-sort"
        " -i|--ignore-nonprinting -M|--month-sort -h|--human-numeric-sort -n|--numeric-sort -R|--random-sort"
        " --random-source:file -r|--reverse --sort:text -V|--version-sort --batch-size:num -c --check? -C"
        " !--compress-program:text --debug !--files0-from:file -k|--key:text -m|--merge !-o|--output:out -s|--stable"
        " -S|--buffer-size:num -t|--field-separator:text !-T|--temporary-directory:out --parallel:num -u|--unique"
        " -z|--zero-terminated" + _GNU,
        dashed_values=True,
    ),
    "uniq": Tool(
        "-c|--count -d|--repeated -D --all-repeated? -f|--skip-fields:num --group? -i|--ignore-case"
        " -s|--skip-chars:num"
        " -u|--unique -z|--zero-terminated -w|--check-chars:num" + _GNU,
        most=1,
    ),
    "shuf": Tool(
        "-e|--echo -i|--input-range:text -n|--head-count:num !-o|--output:out --random-source:file -r|--repeat"
        " -z|--zero-terminated" + _GNU
    ),
    # Searching.
    "grep": Tool(_GREP, operands="pattern", plain=True, numeric=True, default=".", recursive="-r -R -d", kind="search"),
    "egrep": Tool(
        _GREP, operands="pattern", plain=True, numeric=True, default=".", recursive="-r -R -d", kind="search"
    ),
    "fgrep": Tool(
        _GREP, operands="pattern", plain=True, numeric=True, default=".", recursive="-r -R -d", kind="search"
    ),
    "look": Tool(
        "-a|--alternative -d|--alphanum -f|--ignore-case -t|--terminate:text -h|--help -V|--version", plain=True
    ),
    # Comparing.
    "diff": Tool(_DIFF, plain=True, numeric=True, recursive="-r"),
    "cmp": Tool(
        "-b|--print-bytes -i|--ignore-initial:text -l|--verbose -n|--bytes:num -s|--quiet|--silent --help -v|--version",
        plain=True,
        most=4,
    ),
    "diff3": Tool(
        "-A|--show-all -e|--ed -E|--show-overlap -3|--easy-only -x|--overlap-only -X -i -m|--merge -a|--text"
        " --strip-trailing-cr -T|--initial-tab !--diff-program:text -L|--label:text --help -v|--version"
    ),
    "sdiff": Tool(
        "!-o|--output:out -i|--ignore-case -E|--ignore-tab-expansion -Z|--ignore-trailing-space"
        " -b|--ignore-space-change"
        " -W|--ignore-all-space -B|--ignore-blank-lines -I|--ignore-matching-lines:text --strip-trailing-cr -a|--text"
        " -w|--width:num -l|--left-column -s|--suppress-common-lines -t|--expand-tabs --tabsize:num -d|--minimal"
        " -H|--speed-large-files !--diff-program:text --help -v|--version"
    ),
}
"""Every text tool by name."""

SEARCH_TOOLS: "Mapping[str, Tool]" = {
    "rg": Tool(
        "-A|--after-context:num -B|--before-context:num -C|--context:num -a|--text -b|--byte-offset -c|--count"
        " --count-matches --color:text --colors:text --column --no-column --crlf --no-crlf --debug"
        " --trace --dfa-size-limit:num"
        " -E|--encoding:text -e|--regexp:text -F|--fixed-strings -f|--file:file --files --files-with-matches|-l"
        " --files-without-match -L|--follow -g|--glob:text --glob-case-insensitive --heading --no-heading -h|--help"
        " -.|--hidden --no-hidden --iglob:text -i|--ignore-case --ignore-file:file"
        " --ignore-file-case-insensitive --include-zero"
        " --no-include-zero -v|--invert-match --json --line-buffered -n|--line-number"
        " -N|--no-line-number -x|--line-regexp"
        " -m|--max-count:num -d|--max-depth|--maxdepth:num --max-filesize:num -M|--max-columns:num"
        " --max-columns-preview"
        " --mmap --no-mmap -U|--multiline --multiline-dotall --no-config --no-filename|-I --no-ignore --no-ignore-dot"
        " --no-ignore-exclude --no-ignore-files --no-ignore-global --no-ignore-messages --no-ignore-parent"
        " --no-ignore-vcs --no-messages --no-require-git --no-unicode --null -0 --null-data --one-file-system"
        " -o|--only-matching --passthru|--passthrough --path-separator:text -P|--pcre2 --pcre2-version"
        " -p|--pretty -q|--quiet"
        " --regex-size-limit:num -r|--replace:text -S|--smart-case -s|--case-sensitive --sort:text"
        " --sortr:text --stats --stop-on-nonmatch"
        " -j|--threads:num --trim --no-trim -t|--type:text -T|--type-not:text --type-add:text"
        " --type-clear:text --type-list"
        " -u|--unrestricted --vimgrep -H|--with-filename -w|--word-regexp --context-separator:text"
        " --no-context-separator"
        " --field-context-separator:text --field-match-separator:text --no-fixed-strings --no-follow"
        " --no-invert-match"
        " --no-multiline --no-stats --no-text --binary --no-binary --block-buffered --auto-hybrid-regex"
        " --engine? -V|--version"
        " --hyperlink-format:text --no-pre !--pre:text !--pre-glob:text !--hostname-bin:text"
        " !-z|--search-zip !--generate:text",
        dashed_values=True,
        operands="pattern",
        abbreviate=False,
        default=".",
        recursive="*",
        kind="search",
    ),
    "fd": Tool(
        "-H|--hidden -I|--no-ignore --no-ignore-vcs --no-ignore-parent -u|--unrestricted -s|--case-sensitive"
        " -i|--ignore-case -g|--glob --regex -F|--fixed-strings --and:text -a|--absolute-path"
        " --relative-path -L|--follow"
        " -p|--full-path -0|--print0 -d|--max-depth|--maxdepth:num --min-depth:num --exact-depth:num"
        " -E|--exclude:text"
        " --prune -t|--type:text -e|--extension:text -S|--size:text --changed-within|--newer:text"
        " --changed-before|--older:text"
        " -o|--owner:text --format:text -c|--color:text -j|--threads:num --max-results:num -1 -q|--quiet"
        " --show-errors"
        " --base-directory:path --path-separator:text --search-path:path --strip-cwd-prefix?"
        " --one-file-system --mount --xdev"
        " -h|--help -V|--version --ignore-file:file --no-hidden --ignore --no-follow --hyperlink?"
        " !-x|--exec:text !-X|--exec-batch:text !--batch-size:num !-l|--list-details !--gen-completions?",
        operands="pattern-paths",
        abbreviate=False,
        kind="search",
    ),
    "ag": Tool(
        "--ackmate -A:num --after?num -B:num --before?num --break --nobreak -c|--count --color"
        " --nocolor --column --filename"
        " --nofilename -H|--heading --noheading -C:num --context?num --group --nogroup --filename-pattern|-g:text"
        " -l|--files-with-matches -L|--files-without-matches --print-all-files --numbers --nonumbers"
        " -o|--only-matching"
        " --print-long-lines --passthrough --silent --stats --stats-only --vimgrep -0|--null"
        " -a|--all-types --depth:num"
        " --follow|-f -F|--fixed-strings -G|--file-search-regex:text --hidden -i|--ignore-case --ignore:text"
        " --ignore-dir:text -m|--max-count:num -n|--norecurse --one-device -Q|--literal"
        " -s|--case-sensitive -S|--smart-case"
        " --search-binary -t|--all-text -u|--unrestricted -U|--skip-vcs-ignores -v|--invert-match -w|--word-regexp"
        " -W|--width:num --list-file-types --workers:num -V|--version -h|--help -p|--path-to-ignore:file"
        " !--pager:text"
        " --nopager !-z|--search-zip",
        operands="pattern",
        abbreviate=False,
        default=".",
        recursive="*",
        kind="search",
    ),
}
"""Search programs with options that start other programs."""

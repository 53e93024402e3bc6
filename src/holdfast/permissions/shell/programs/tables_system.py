"""Option tables of tools that look at files from outside and at the machine. See options.py for the notation."""

from typing import TYPE_CHECKING

from holdfast.permissions.shell.programs.tool_table import Tool

if TYPE_CHECKING:
    from collections.abc import Mapping

_GNU = " --help --version"
_LS = (
    "-a|--all -A|--almost-all --author -b|--escape --block-size:num -B|--ignore-backups -c -C --color? -d|--directory"
    " -D|--dired -f -F|--classify? --file-type --format:text --full-time -g --group-directories-first -G|--no-group"
    " -h|--human-readable --si -H|--dereference-command-line --dereference-command-line-symlink-to-dir --hide:text"
    " --hyperlink? --indicator-style:text -i|--inode -I|--ignore:text -k|--kibibytes -l -L|--dereference -m"
    " -n|--numeric-uid-gid -N|--literal -o -p -q|--hide-control-chars --show-control-chars -Q|--quote-name"
    " --quoting-style:text -r|--reverse -R|--recursive -s|--size -S --sort:text --time:text --time-style:text -t"
    " -T|--tabsize:num -u -U -v -w|--width:num -x -X -Z|--context --zero -1" + _GNU
)

FILE_TOOLS: "Mapping[str, Tool]" = {
    "ls": Tool(_LS, operands="path", plain=True, default=".", kind="list"),
    "dir": Tool(_LS, operands="path", plain=True, default=".", kind="list"),
    "vdir": Tool(_LS, operands="path", plain=True, default=".", kind="list"),
    "stat": Tool(
        "-L|--dereference -f|--file-system --cached:text -c|--format:text --printf:text -t|--terse -x" + _GNU,
        operands="path",
        plain=True,
        kind="list",
    ),
    "readlink": Tool(
        "-f|--canonicalize -e|--canonicalize-existing -m|--canonicalize-missing -n|--no-newline"
        " -q|--quiet -s|--silent"
        " -v|--verbose -z|--zero" + _GNU,
        operands="path",
        plain=True,
        kind="list",
    ),
    "realpath": Tool(
        "-e|--canonicalize-existing -E|--canonicalize -m|--canonicalize-missing -L|--logical -P|--physical -q|--quiet"
        " --relative-to:path --relative-base:path -s|--strip|--no-symlinks -z|--zero" + _GNU,
        operands="path",
        plain=True,
        kind="list",
    ),
    "dirname": Tool("-z|--zero" + _GNU, operands="text", plain=True),
    "basename": Tool("-a|--multiple -s|--suffix:text -z|--zero" + _GNU, operands="text", plain=True),
    "pathchk": Tool("-p -P --portability" + _GNU, operands="text", plain=True),
    "pwd": Tool("-L|--logical -P|--physical" + _GNU, operands="none", kind="list"),
    "du": Tool(
        "-0|--null -a|--all --apparent-size -A -B|--block-size:num -b|--bytes -c|--total -D|--dereference-args"
        " -d|--max-depth:num --files0-from:file -H -h|--human-readable --inodes -k -L|--dereference"
        " -l|--count-links -m"
        " -P|--no-dereference -S|--separate-dirs --si -s|--summarize -t|--threshold:num --time? --time-style:text"
        " -X|--exclude-from:file --exclude:text -x|--one-file-system" + _GNU,
        operands="path",
        lists="--files0-from",
        plain=True,
        default=".",
        kind="list",
    ),
    "df": Tool(
        "-a|--all -B|--block-size:num -h|--human-readable -H|--si -i|--inodes -k -l|--local -m --no-sync --output?"
        " -P|--portability !--sync --total -t|--type:text -T|--print-type -x|--exclude-type:text -v" + _GNU,
        operands="path",
        plain=True,
        kind="system",
    ),
    "tree": Tool(
        "-a -d -l -f -x -L:num -P:text -I:text --ignore-case --matchdirs --metafirst --prune --info"
        " --noreport --charset:text"
        " --filelimit:num --filesfirst --dirsfirst -q -N -Q -p -u -g -s -h --si --du -D --timefmt:text"
        " -F --inodes --device"
        " -v -t -c -U -r --sort:text -i -A -S -n -C -X -J -H:text -T:text --nolinks --hintro:file"
        " --houtro:file --gitignore"
        " --gitfile:file --infofile:file !--fromfile !--fromtabfile --fflinks --compress:num --help"
        " --version !-R !-o:out",
        glued_values=False,
        operands="path",
        abbreviate=False,
        default=".",
        kind="list",
    ),
    "file": Tool(
        "-b|--brief -i|--mime --mime-type --mime-encoding --apple --extension -e|--exclude:text --exclude-quiet:text"
        " -F|--separator:text -h|--no-dereference -k|--keep-going -L|--dereference -l|--list"
        " -n|--no-buffer -N|--no-pad"
        " -0|--print0 -r|--raw -v|--version --help !-m|--magic-file:file !-f|--files-from:file !-C|--compile"
        " !-z|--uncompress !-Z|--uncompress-noreport !-s|--special-files !-p|--preserve-date !-S|--no-sandbox"
        " !-P|--parameter:text !-c|--checking-printout !-d|--debug -E",
        operands="path",
        abbreviate=False,
        kind="list",
    ),
    "namei": Tool(
        "-x|--mountpoints -m|--modes -o|--owners -l|--long -n|--nosymlinks -v|--vertical -Z|--context -h|--help"
        " -V|--version",
        operands="path",
        plain=True,
        kind="list",
    ),
    "getfacl": Tool(
        "-a|--access -d|--default -c|--omit-header -e|--all-effective -E|--no-effective -s|--skip-base -R|--recursive"
        " -L|--logical -P|--physical -t|--tabular -n|--numeric --one-file-system -p|--absolute-names"
        " -v|--version -h|--help",
        operands="path",
        plain=True,
        kind="list",
    ),
    "lsattr": Tool("-R -V -a -d -l -p -v", operands="path", plain=True, default=".", kind="list"),
    "mountpoint": Tool("-q|--quiet --nofollow -d|--fs-devno -x|--devno -h|--help -V|--version", operands="path"),
    "which": Tool("-a|--all -s", operands="text", plain=True, kind="system"),
    "whereis": Tool("-b -m -s -u -l -g", operands="text", kind="system"),
    "unzip": Tool("-l -v -t -p -c -z -q -C", operands="any", abbreviate=False, permute=False, kind="list"),
    "zipinfo": Tool("-1 -2 -s -m -l -v -h -t -T -C -z", operands="any", abbreviate=False, permute=False, kind="list"),
}
"""Tools that look at files, most of them without reading the content."""

SYSTEM_TOOLS: "Mapping[str, Tool]" = {
    "whoami": Tool("--help --version", operands="none", kind="system"),
    "logname": Tool("--help --version", operands="none", kind="system"),
    "id": Tool(
        "-a -Z|--context -g|--group -G|--groups -n|--name -r|--real -u|--user -z|--zero" + _GNU,
        operands="text",
        plain=True,
        kind="system",
    ),
    "groups": Tool("--help --version", operands="text", plain=True, kind="system"),
    "users": Tool("--help --version", operands="none", kind="system"),
    "who": Tool(
        "-a|--all -b|--boot -d|--dead -H|--heading --ips -l|--login !--lookup -m -p|--process -q|--count"
        " -r|--runlevel"
        " -s|--short -t|--time -T|-w|--mesg|--message|--writable -u|--users" + _GNU,
        operands="none",
        kind="system",
    ),
    "w": Tool(
        "-h|--no-header -u|--no-current -s|--short -f|--from -o|--old-style -i|--ip-addr --help -V|--version",
        operands="text",
        kind="system",
    ),
    "uname": Tool(
        "-a|--all -s|--kernel-name|--sysname -n|--nodename -r|--kernel-release|--release"
        " -v|--kernel-version -m|--machine -p|--processor"
        " -i|--hardware-platform -o|--operating-system" + _GNU,
        operands="none",
        kind="system",
    ),
    "hostname": Tool(
        "-s|--short !-I|--all-ip-addresses -V|--version -h|--help !-f|--fqdn|--long !-i|--ip-address"
        " !-d|--domain !-A|--all-fqdns !-F|--file:file !-b|--boot !-a|--alias !-y|--yp|--nis",
        operands="none",
        abbreviate=False,
        kind="system",
    ),
    "arch": Tool("--help --version", operands="none", kind="system"),
    "nproc": Tool("--all --ignore:num" + _GNU, operands="none", plain=True, kind="system"),
    "tty": Tool("-s|--silent|--quiet" + _GNU, operands="none", kind="system"),
    "cal": Tool(
        "-1|--one -3|--three -n|--months:num -S|--span -s|--sunday -m|--monday -j|--julian --reform:text"
        " --iso -y|--year"
        " -Y|--twelve -w|--week? -v|--vertical -c|--columns:text --color? -h|--help -V|--version",
        operands="text",
        kind="system",
    ),
    "ncal": Tool("-1 -3 -A:num -B:num -b -C -e -h -J -j -M -m:text -N -o -p -S -w -y", operands="text", kind="system"),
    "uptime": Tool("-p|--pretty -s|--since -h|--help -V|--version", operands="none", kind="system"),
    "free": Tool(
        "-b|--bytes -k|--kibi -m|--mebi -g|--gibi --kilo --mega --giga --tera --tebi --peta --pebi -h|--human --si"
        " -l|--lohi -L|--line -t|--total -v|--committed -s|--seconds:num -c|--count:num -w|--wide --help"
        " -V|--version",
        operands="none",
        plain=True,
        kind="system",
    ),
    "vmstat": Tool(
        "-a|--active -f|--forks -m|--slabs -n|--one-header -s|--stats -d|--disk -D|--disk-sum -p|--partition:text"
        " -S|--unit:text -w|--wide -t|--timestamp -y|--no-first -h|--help -V|--version",
        operands="text",
        kind="system",
    ),
    "lscpu": Tool(
        "-a|--all -b|--online -B|--bytes -c|--offline -C|--caches? -J|--json -e|--extended? -p|--parse? -x|--hex"
        " -y|--physical --output-all -h|--help -V|--version",
        operands="none",
        kind="system",
    ),
    "lspci": Tool(
        "-m -t -v -k !-x -b -D -n -s:text -d:text --version", operands="none", abbreviate=False, kind="system"
    ),
    "pgrep": Tool(
        "-d|--delimiter:text -l|--list-name -a|--list-full -v|--inverse -w|--lightweight -c|--count"
        " -f|--full -g|--pgroup:text"
        " -G|--group:text -i|--ignore-case -n|--newest -o|--oldest -O|--older:num -P|--parent:text -s|--session:text"
        " -t|--terminal:text -u|--euid:text -U|--uid:text -x|--exact -r|--runstates:text --ns:text"
        " --nslist:text -h|--help"
        " -V|--version -A|--ignore-ancestors --cgroup:text",
        operands="text",
        abbreviate=False,
        kind="system",
    ),
    "pidof": Tool("-s -c -n -x -q -z !-o:text -d:text -h", operands="text", abbreviate=False, kind="system"),
    "lsmod": Tool("", operands="none", kind="system"),
    "last": Tool(
        "-n|--limit:num -a|--hostlast !-d|--dns -F|--fulltimes -f|--file:file -i|--ip -R|--nohostname -s|--since:text"
        " -t|--until:text -p|--present:text -w|--fullnames -x|--system --time-format:text -h|--help -V|--version",
        operands="text",
        numeric=True,
        abbreviate=False,
        kind="system",
    ),
    "pstree": Tool(
        "-a|--arguments -A|--ascii -c|--compact-not -C|--color:text -g|--show-pgids -h|--highlight-all"
        " -H|--highlight-pid:num"
        " -l|--long -n|--numeric-sort -N|--ns-sort:text -p|--show-pids -s|--show-parents -S|--ns-changes"
        " -t|--thread-names"
        " -T|--hide-threads -u|--uid-changes -U|--unicode -G|--vt100 -V|--version -Z|--security-context",
        operands="text",
        plain=True,
        kind="system",
    ),
    "getconf": Tool("-a !-v:text", operands="any", abbreviate=False, kind="system"),
    "locale": Tool(
        "-a|--all-locales !-m|--charmaps -c|--category-name -k|--keyword-name -v|--verbose -?|--help --usage"
        " -V|--version",
        operands="text",
        kind="system",
    ),
    "sleep": Tool("--help --version", operands="text", plain=True, kind="system"),
    "true": Tool("", operands="text", plain=True, optionless=True, kind="system"),
    "false": Tool("", operands="text", plain=True, optionless=True, kind="system"),
    "dpkg-query": Tool(
        "-l|--list -L|--listfiles -s|--status -S|--search -W|--show -p|--print-avail"
        " -f|--showformat:text -c|--control-list --control-path"
        " --no-pager -?|--help --version",
        operands="text",
        abbreviate=False,
        kind="system",
    ),
    "dpkg": Tool(
        "-l|--list -L|--listfiles -s|--status -S|--search -p|--print-avail --get-selections --print-architecture"
        " --print-foreign-architectures --compare-versions --no-pager -?|--help --version",
        operands="text",
        abbreviate=False,
        kind="system",
    ),
}
"""Tools that tell about the machine."""

WRAPPERS: "Mapping[str, Tool]" = {
    "timeout": Tool(
        "--preserve-status --foreground -k|--kill-after:text -s|--signal:text -v|--verbose" + _GNU,
        operands="inner",
        permute=False,
        kind="wrapper",
        least=2,
    ),
    "nice": Tool("-n|--adjustment:num" + _GNU, operands="inner", permute=False, numeric=True, kind="wrapper"),
    "nohup": Tool("--help --version", operands="inner", permute=False, kind="wrapper", least=1),
    "stdbuf": Tool(
        "-i|--input:text -o|--output:text -e|--error:text" + _GNU,
        operands="inner",
        permute=False,
        kind="wrapper",
        least=1,
    ),
    "time": Tool(
        "-p|--portability -v|--verbose -f|--format:text -q|--quiet !-o|--output:out !-a|--append -V|--version --help",
        operands="inner",
        permute=False,
        kind="wrapper",
        least=1,
    ),
    "env": Tool(
        "-i|--ignore-environment -u|--unset:text -0|--null -v|--debug !-C|--chdir:path"
        " !-S|--split-string:text !--block-signal?"
        " !--default-signal? !--ignore-signal? !--list-signal-handling !-P:text !-a|--argv0:text" + _GNU,
        operands="inner",
        permute=False,
        kind="wrapper",
        least=1,
    ),
    "xargs": Tool(
        "-0|--null -a|--arg-file:file -d|--delimiter:text -E:text -e|--eof? -I:text -i|--replace? -L:num"
        " -l|--max-lines?num"
        " -n|--max-args:num -P|--max-procs:num -r|--no-run-if-empty -s|--max-chars:num --show-limits"
        " -t|--verbose -x|--exit"
        " !-o|--open-tty !-p|--interactive !--process-slot-var:text" + _GNU,
        operands="inner",
        permute=False,
        kind="wrapper",
    ),
}
"""Programs that run another program: only their own options are judged here, the inner command by the caller."""

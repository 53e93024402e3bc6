import shlex

import pytest

from holdfast.permissions.shell.programs.inspect import exit_meaning, inspect_command, version_forms
from holdfast.permissions.shell.programs.program import told
from holdfast.permissions.shell.words.devices import path_refusal
from holdfast.permissions.shell.words.word import Word


def refusal(command: str) -> str | None:
    name, *words = shlex.split(command)
    return inspect_command(name, [Word(word) for word in words]).refusal


@pytest.mark.parametrize(
    "command",
    [
        "date",
        "date +%s",
        "date -u +%F",
        "date -d yesterday",
        "date -Iseconds",
        "tee",
        "tee /dev/null",
        "tee -a /dev/null",
        "xxd f",
        "xxd -l 16 f",
        "xxd -l16 f",
        "xxd -r -p f",
        "xxd -- f",
        "xxd -",
        "tar tf a.tar",
        "tar -t -f a.tar",
        "tar --list --file=a.tar",
        "tar tvf a.tar x",
        "tar tf -",
        "tar --version",
        "printenv HOME",
        "printenv PATH LANG",
        "getent passwd",
        "getent group x",
        "tput cols",
        "lsof -n",
        "lsof -nP -i:3000",
        "lsof -nP -i tcp:80",
        "lsof -nP -iTCP -sTCP:LISTEN",
        "journalctl --no-pager -n 5",
        "ps",
        "ps aux",
        "ps -ef",
        "ps axo pid,comm",
        "ps -eo pid,cmd",
        "ps -o pid= -p 1",
        "ps 1",
        "ps aux --sort=-%mem",
        "ps -p 1,2",
        "ps U root",
        "unzip -l a.zip",
        "unzip -Z1 a.zip",
        "unzip -p a.zip x",
    ],
)
def test_looking_is_accepted(command: str) -> None:
    assert refusal(command) is None


@pytest.mark.parametrize(
    "command",
    [
        "date 01010000",
        "date -s x",
        "date -us x",
        "date --se=x",
        "tee out",
        "tee /dev/null out",
        "xxd f g",
        "xxd -r f g",
        "xxd -l x f",
        "xxd -z f",
        "xxd -l",
        "tar tzf a.tgz",
        "tar tf a.tar.gz",
        "tar tf h:a.tar",
        "tar xf a.tar",
        "tar -xtf a.tar",
        "tar t",
        "tar",
        "tar -tf a.tar -I x",
        "tar tf a.tar --to-command=x",
        "printenv",
        "printenv API_TOKEN",
        "printenv -0",
        "getent hosts h",
        "getent",
        "getent -s x passwd",
        "tput reset",
        "tput",
        "lsof",
        "lsof -i :80",
        "lsof -n -i @h",
        "journalctl",
        "journalctl -n 5",
        "journalctl --no-pager --rotate",
        "journalctl --no-pager -f",
        "ps e",
        "ps auxe",
        "ps axo environ",
        "ps -eo pid,environ",
        "ps -ef e",
        "ps axeo pid",
        "unzip a.zip",
        "unzip -o a.zip",
        "unzip -T -l a.zip",
        "unzip -d x -l a.zip",
        "top",
        "top -bn1",
        "dd if=a",
    ],
)
def test_anything_more_is_refused(command: str) -> None:
    assert refusal(command)


@pytest.mark.parametrize("name", sorted(told("version")))
def test_a_version_query_is_exact(name: str) -> None:
    for form in version_forms(name):
        assert refusal(f"{name} {form}") is None
        assert refusal(f"{name} {form} x")
        assert refusal(f"{name} x {form}")
    assert inspect_command(name, [Word("--version", static=False)]).refusal


@pytest.mark.parametrize(
    "path",
    [
        "/dev/sda",
        "//dev/sda",
        "/dev/./sda",
        "/x/../dev/sda",
        "/dev/tty",
        "/dev/urandom",
        "/proc/self/environ",
        "/proc/1/environ",
        "/proc/1/mem",
        "/proc/kcore",
        "/proc/self/task/1/environ",
        "/proc/self/root/etc",
        "/proc/self/fd/3",
        "/proc/self/cwd/x",
        "../../dev/sda",
        "~/../../dev/sda1",
        "../../proc/self/environ",
        "a/../../dev/mem",
        "/dev/fd/3",
        "/dev/fd/1",
    ],
)
def test_devices_and_process_secrets_are_no_ordinary_files(path: str) -> None:
    assert path_refusal(path)


@pytest.mark.parametrize(
    "path",
    [
        "/dev/null",
        "/dev/stdin",
        "/dev/fd/0",
        "/proc/cpuinfo",
        "/proc/1/status",
        "/proc/self/net/dev",
        "src/dev/x",
        "../dev/x.yml",
        "environ",
        "/development/x",
        "proc/environ",
        "/",
    ],
)
def test_other_paths_are(path: str) -> None:
    assert path_refusal(path) is None


def test_reading_everything_reads_devices_too() -> None:
    assert path_refusal("/", recursive=True)
    assert path_refusal("/proc/.")
    assert path_refusal("/dev/")
    assert path_refusal("/proc", recursive=True)
    assert path_refusal("/proc/1", recursive=True)
    assert path_refusal("/home", recursive=True) is None


def test_the_known_part_of_a_word_is_judged() -> None:
    for prefix, glob in (("/dev/", False), ("/proc/", False), ("/de", True), ("/", True), ("/proc/1/", True)):
        assert inspect_command("cat", [Word(prefix, static=False, glob=glob)]).refusal, prefix
    for prefix, glob in (("/dev/fd/", False), ("/home/", True), ("", True), ("src/", True)):
        assert inspect_command("cat", [Word(prefix, static=False, glob=glob)]).refusal is None, prefix


@pytest.mark.parametrize(
    ("name", "secret"),
    [("GITHUB_TOKEN", True), ("api_key", True), ("DB_PASSWORD", True), ("HOME", False), ("CREDENTIALS_FILE", True)],
)
def test_secret_names(name: str, secret: bool) -> None:
    assert (refusal(f"printenv {name}") is not None) is secret


@pytest.mark.parametrize(
    ("command", "code", "meaning"),
    [
        ("grep x f", 1, "no matches"),
        ("grep x f", 2, None),
        ("rg x", 1, "no matches"),
        ("diff a b", 1, "files differ"),
        ("diff a b", 2, None),
        ("test -f x", 1, "the condition is false"),
        ("[ -f x ]", 1, "the condition is false"),
        ("find .", 1, "some directories could not be read"),
        ("git diff --exit-code", 1, "files differ"),
        ("git --no-pager grep x", 1, "no matches"),
        ("git grep x", 2, None),
        ("git log", 1, None),
        ("git", 1, None),
        ("cat f", 1, None),
    ],
)
def test_exit_codes_that_are_answers(command: str, code: int, meaning: str | None) -> None:
    name, *words = shlex.split(command)
    assert exit_meaning(name, [Word(word) for word in words], code) == meaning


@pytest.mark.parametrize("option", ["-l", "-v", "-t", "-p", "-c", "-z", "-q", "-Z1"])
def test_an_option_behind_the_archive_names_a_member_that_is_extracted(option: str) -> None:
    assert refusal(f"unzip a.zip {option}")
    assert refusal(f"unzip -l a.zip {option}")
    assert refusal(f"zipinfo a.zip {option}")


@pytest.mark.parametrize("option", ["-f", "-t", "--from-code=", "--to-code="])
@pytest.mark.parametrize("name", ["/dev/sda", "./x", "a/b", "../x//TRANSLIT", "utf8//../x", "utf8///x.gz"])
def test_iconv_reads_no_file_as_an_encoding(option: str, name: str) -> None:
    glue = "" if option.endswith("=") else " "
    assert refusal(f"iconv {option}{glue}{name} f")


@pytest.mark.parametrize("name", ["utf8", "UTF-8", "ascii//TRANSLIT", "LATIN1//IGNORE", "ascii//TRANSLIT//IGNORE"])
def test_iconv_takes_named_encodings(name: str) -> None:
    assert refusal(f"iconv -f {name} -t {name} f") is None


def test_files_that_list_files_make_the_reads_unknown() -> None:
    for command in ("wc --files0-from=x", "du --files0-from x", "sha256sum -c x", "md5sum --check x", "cksum -c x"):
        name, *words = command.split()
        facts = inspect_command(name, [Word(word) for word in words])
        assert facts.refusal is None
        assert facts.reads_unknown
    assert refusal("sort --files0-from=x")


@pytest.mark.parametrize("place", ["--args", "--jsonargs"])
def test_jq_reads_the_files_that_stand_before_its_arguments(place: str) -> None:
    assert refusal(f"jq -R . /proc/self/environ {place}")
    assert refusal(f"jq -R . a /proc/self/environ {place} b {place}")
    assert refusal(f"jq -n {place} . /proc/self/environ") is None
    assert refusal(f"jq -R . -- {place} /proc/self/environ")


@pytest.mark.parametrize("pair", ["--arg", "--argjson", "--slurpfile", "--rawfile"])
def test_jq_reads_files_called_like_options_behind_dashes(pair: str) -> None:
    assert refusal(f"jq -R . -- {pair} x /proc/self/environ")


def test_a_count_that_looks_like_an_option_is_none() -> None:
    for value in ("-i", "-i.bak", "-n", "--in-place", "-"):
        assert refusal(f"sed -l {value} s/a/b/ f")
        assert refusal(f"sort -S {value} f")
    assert refusal("sed -l 5 s/a/b/ f") is None

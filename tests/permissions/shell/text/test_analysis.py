"""The verdict on shell text: contract section 5, bullet by bullet, and the incidents behind it."""

import pytest

from holdfast.permissions.shell.text import syntax as grammar
from holdfast.permissions.shell.text.analysis import Analysis, analyse


def reason(command: str) -> str:
    analysis = analyse(command, cwd="/project")
    assert not analysis.read_only, f"{command!r} was called read-only"
    assert analysis.reason
    return analysis.reason


def read_only(command: str) -> Analysis:
    analysis = analyse(command, cwd="/project")
    assert analysis.read_only, f"{command!r}: {analysis.reason}"
    assert analysis.reason == ""
    return analysis


@pytest.mark.parametrize(
    "command",
    [
        "ls -la",
        "cat a.txt | grep -v x | sort | uniq -c",
        "git status && git diff --stat",
        'for f in *.py; do wc -l "$f"; done',
        'while IFS= read -r line; do echo "$line"; done < list.txt',
        "if [ -f a ]; then cat a; else echo none; fi",
        "case $1 in a|b) ls;; *) pwd;; esac",
        "{ ls; pwd; } | cat",
        "(cd src && ls)",
        "! grep -q x file",
        "time ls",
        "diff <(sort a) <(sort b)",
        'echo "$(git rev-parse HEAD)"',
        "cat <<'END'\n$(rm x)\nEND",
        "cat <<END\nhello $USER\nEND",
        'grep -c x <<< "$text"',
        "ls 2>/dev/null >&2 2>&1",
        "for i in 1 2 3; do echo $((i * 2)); done",
        "for ((i = 0; i < 3; i++)); do echo $i; done",
        "for i in $(seq 1 5); do echo $((i+1)); done",
        "[[ -n $x && $y == a* ]] && echo yes",
        'test -n "$(ls)" && echo some',
        "timeout 5 nice -n 10 stdbuf -oL nohup ls",
        "command -v git",
        "LC_ALL=C sort file",
        "env LC_ALL=C sort file",
        "/usr/bin/git log -1",
        "cd /project && git status",
        "git ls-files | xargs wc -l",
        "echo ${x:-default} ${#x} ${x%.py} ${x##*/} ${x/a/b} ${x:0:3}",
        "",
        "# only a comment",
    ],
)
def test_ordinary_reading_is_read_only(command: str) -> None:
    read_only(command)


@pytest.mark.parametrize("position",
["{0}", "true && {0}", "false || {0}", "! {0}", "{{ {0}; }}", "( {0} )", "{0} | cat", "{0} &",
                                      "if {0}; then :; fi", "while {0}; do break; done", "for i in 1; do {0}; done",
                                      "case x in x) {0};; esac", 'echo "$({0})"', "cat <({0})", "time {0}",
                                      "f() {{ {0}; }}"])  # fmt: skip
@pytest.mark.parametrize("redirect", [">", ">>", ">|", "&>", "&>>", ">&", "2>", "<>", "1<>", "{fd}>"])
def test_a_redirect_to_a_file_is_a_write_in_every_position(redirect: str, position: str) -> None:
    analysis = analyse(position.format(f"ls {redirect} out"))
    assert not analysis.read_only
    assert analysis.redirect_writes or analysis.doubt


@pytest.mark.parametrize(
    "target",
    ["/dev/tcp/host/80", "/dev/udp/host/53", "/dev/sda", "/dev/random", "/proc/self/environ", '"$unknown"', "$(ls)"],
)
def test_input_comes_from_ordinary_files_only(target: str) -> None:
    assert not analyse(f"cat < {target}").read_only


@pytest.mark.parametrize(
    "expansion",
    ["${x@P}", "${x@Q}", "${!x}", "${!x*}", "${!x@}", "${x:=v}", "${x=v}", "${a[$(c)]}", "${a[b]}", "${x:$(c)}",
     "${x:y}",
     "${x:-$(c)}", "$((x))", "$[x]", "$((a[0]))", "$(($(c)))", "${x/$(c)/y}", "${x:y:z}", "`echo \\`c\\``"],
)  # fmt: skip
def test_expansions_that_run_code_or_set_variables_are_doubted(expansion: str) -> None:
    analysis = analyse(f"echo {expansion}")
    assert not analysis.read_only
    assert analysis.doubt or any(not part.read_only for part in analysis.parts)


@pytest.mark.parametrize(
    "command",
    [
        "[[ -v 'a[$(c)]' ]]", "[[ s -eq 0 ]]", "[[ $x -gt 3 ]]", "test -v 'a[$(c)]'", "[ -v x ]", "[ $x = y ]",
        '[ "$a" "$b" ]',
        "printf -v 'a[$(c)]' x", 'printf "$f" a', "read 'a[$(c)]'", "read $x", "read PATH", "read -a arr", "let x=1",
        "declare -i x=y", "declare -n x=y", "wait -p x", "mapfile -C c x", "unset 'a[$(c)]'", "getopts a x", "((x))",
        "((x=1))",
    ],
)  # fmt: skip
def test_operands_that_bash_evaluates_are_not_read_only(command: str) -> None:
    reason(command)


@pytest.mark.parametrize(
    "command",
    ["x=1", "x=1 ls", "PATH=. ls", "export A=b", "declare -x a=b", "alias ls=rm", "f() { ls; }", "trap ls EXIT",
     "hash -p ./x ls",
     "eval ls", "source f", ". f", "exec ls", "exec 3<f", "enable -f x y", "compgen -C c", "mapfile -C c -c 1 a",
     "set", "set -a",
     "export -p", "declare -p", "env", "printenv", "for PATH in .; do ls; done", "unset PATH", "shopt -s x",
     "history -a"],
)  # fmt: skip
def test_what_changes_or_prints_the_shell_itself_is_not_read_only(command: str) -> None:
    reason(command)


@pytest.mark.parametrize(
    "name", ["API_TOKEN", "MY_SECRET", "AWS_ACCESS_KEY_ID", "DB_PASSWORD", "GOOGLE_CREDENTIALS", "api_key"]
)
@pytest.mark.parametrize(
    "form",
    [
        "echo ${0}",
        'echo "${0}"',
        "echo ${{{0}}}",
        "echo ${{{0}:-x}}",
        "cat <<E\n${0}\nE",
        "echo ${{#{0}}}",
        "cat <<< ${0}",
        'echo "$a ${0}"',
        'echo "b\n ${{{0}}}"',
    ],
)
def test_secret_variables_are_not_expanded_unasked(name: str, form: str) -> None:
    reason(form.format(name))


def test_a_loop_variable_may_be_called_key() -> None:
    read_only("for key in a b; do echo $key; done")


@pytest.mark.parametrize(
    "word",
    [
        "./ls",
        "bin/ls",
        "~/ls",
        "/tmp/ls",
        "/opt/x/ls",
        "$x",
        "$(echo ls)",
        "`echo ls`",
        "{ls,-la}",
        "l\u0455",
        "ls\u200b",
        "../ls",
    ],
)
def test_only_literal_system_programs_are_trusted(word: str) -> None:
    reason(f"{word} -la")


@pytest.mark.parametrize(
    "char",
    [
        "\x00",
        "\x07",
        "\x1b",
        "\r",
        "\x7f",
        "\x85",
        "\u00a0",
        "\u200b",
        "\u200e",
        "\u202e",
        "\u2028",
        "\u2029",
        "\u2066",
        "\ufeff",
        "\U000e0041",
    ],
)
@pytest.mark.parametrize("form", ["ls {0}", "echo 'a{0}b'", "ls # {0}", "ls{0}-la"])
def test_hidden_characters_are_never_run_unasked(char: str, form: str) -> None:
    analysis = analyse(form.format(char))
    assert not analysis.read_only
    assert analysis.doubt


def test_other_scripts_in_arguments_are_ordinary() -> None:
    read_only("grep 'привет' файл.txt")
    read_only('echo "日本語、テスト"')
    reason("cat p\u0430ypal.txt")


@pytest.mark.parametrize("command",
["cd sub && git status", "cd sub; git status", "pushd sub && git log", "cd .. && git diff", "cd $x && git status",
                                     "cd sub && cd .. && cd sub && git log", "while :; do git status; cd sub; done",
                                     "if cd sub; then git log; fi",
                                     "cd sub || git status; git log", "command cd sub && git log",
                                     "for d in a b; do cd $d; git status; done"])  # fmt: skip
def test_git_in_another_directory_is_asked(command: str) -> None:
    reason(command)


@pytest.mark.parametrize(
    "command",
    [
        "(cd sub && ls) && git status",
        "cd . && git status",
        "cd sub && ls",
        "cd sub | cat; git status",
        "echo $(cd sub); git status",
        "cd sub && cd /project && git log",
    ],
)
def test_directories_are_followed_through_lists_and_subshells(command: str) -> None:
    read_only(command)


def test_the_directory_of_each_part_is_known() -> None:
    parts = {part.text: part.cwds for part in analyse("cd a && ls; cat x; (cd b; wc y); cd $z; head q").parts}
    assert parts["ls"] == ("a",)
    assert parts["cat x"] == ("a", "")
    assert parts["wc y"] == ("a/b", "b", "a", "") or set(parts["wc y"] or ()) == {"a/b", "b", "a", ""}
    assert parts["head q"] is None


def test_moving_does_not_hide_devices_or_environments() -> None:
    reason("cd /proc/self && cat environ")
    reason("cd / && head -c 5 dev/sda")
    reason("cd / && grep -r TOKEN .")
    reason("cd /proc/self && cat *")
    reason("cd ../../../.. && grep -r TOKEN .")
    read_only("cd / && cat etc/hosts")
    read_only("cd src && grep -r x .")


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("a && b || c; d | e & f", "a b c d e f"),
        ("a `b` $(c $(d)) <(e)", "b d c e a"),
        ("x=$(a) b=(c $(d)) e", "a d e"),
        ("if a; then b; elif c; then d; else e; fi", "a b c d e"),
        ("while a; do b; done; until c; do d; done", "a b c d"),
        ("for x in $(a); do b; done", "a b"),
        ("select x in $(a); do b; done", "a b"),
        ("case $(a) in x) b;; y) c;; esac", "a b c"),
        ("f() { a; }; function g { b; }", "a b"),
        ("a <<E\n$(b)\nE", "b a"),
        ("a <<< $(b)", "b a"),
        ("[[ $(a) == b ]]", "a"),
        ('[ "$(a)" = b ]', "a ["),
        ("echo $(( $(a) ))", "a echo"),
        ("arr[$(a)]=1", "a"),
        ("a > $(b)", "b a"),
        ("coproc a", "coproc a"),
        ("time a", "time a"),
        ("! a", "a"),
        ("{ a; } 2>$(b)", "a b"),
    ],
)
def test_every_nesting_gives_its_commands(command: str, names: str) -> None:
    found = [part.name for part in analyse(command).parts if part.name]
    assert sorted(set(found)) == sorted(names.split())


def test_words_are_dequoted_as_bash_does() -> None:
    part = analyse(r"""cmd 'a b' "c\"d\$e" f\ g $'h\ti' j'k'"l"m \-n --o='p q' "" ~/r""").parts[0]
    assert [word.text for word in part.argv[:-1]] == ["cmd", "a b", 'c"d$e', "f g", "h\ti", "jklm", "-n", "--o=p q", ""]
    assert part.argv[-1].text.startswith("/")
    assert part.argv[-1].text.endswith("/r")
    assert all(word.static for word in part.argv)


@pytest.mark.parametrize(
    ("word", "flag"),
    [("$x", True), ('"$x"', True), ('"a$x"', False), ("a$x", True), ("*.py", True), ("src/*.py", False),
     ("./*", False), ("-*", True),
     ("{a,-b}", True), ("a{b,c}", False), ("-{a,b}", True), ('"a$@"', True), ("$(c)", True), ("$#", False),
     ("<(c)", False), ("~bob", False)],
)  # fmt: skip
def test_it_is_known_which_words_may_become_options(word: str, flag: bool) -> None:
    part = next(part for part in analyse(f"cmd {word}").parts if part.name == "cmd")
    assert part.argv[1].may_be_flag is flag
    assert not part.argv[1].static


def test_loop_values_tell_whether_the_variable_may_be_an_option() -> None:
    read_only('for f in a.txt b.txt; do sort "$f"; done')
    read_only('for f in src/*.py; do sort "$f"; done')
    reason('for f in -o x; do sort "$f"; done')
    reason('for f in *; do sort "$f"; done')
    reason("for f in 'a -o b'; do sort $f; done")
    reason('for f in a; do :; done; sort "$f"')


@pytest.mark.parametrize(
    "command",
    [
        '"$\\\n(touch x)"',
        "ls # a \\\nrm x",
        "cat 'a \\\n b' \\\n | sh",
        "echo a\n\\rm x",
        "ls;\\\n\\rm x",
        "cat <<E \\\n| rm x\nE",
        "ls \\\nrm\\\n x; r\\\nm y",
    ],
)
def test_line_continuations_hide_nothing(command: str) -> None:
    analysis = analyse(command)
    assert not analysis.read_only or "rm" not in command
    if "rm" in command.replace("\\\n", ""):
        assert any("rm" in text for text in (*analysis.pieces, *(part.text for part in analysis.parts)))


def test_a_joined_line_reads_like_one_line() -> None:
    read_only("ls -la \\\n  src \\\n  | sort")
    assert [part.text for part in analyse("ca\\\nt fi\\\nle").parts] == ["cat file"]


@pytest.mark.parametrize("parts", [49, 50, 51, 1_000, 10_000])
def test_no_number_of_parts_hides_one(parts: int) -> None:
    analysis = analyse("; ".join(["echo a"] * (parts - 1) + ["rm -rf x"]))
    assert not analysis.read_only
    assert len(analysis.parts) == parts
    assert analysis.parts[-1].text == "rm -rf x"


def test_long_and_huge_texts_are_asked_about_but_still_cut_into_pieces() -> None:
    long = analyse("echo " + "a" * 10_001)
    assert (long.read_only, bool(long.doubt)) == (False, True)
    huge = analyse("echo " + "a" * 1_000_000 + "; rm -rf x")
    assert not huge.parsed
    assert huge.pieces[-1] == "rm -rf x"


@pytest.mark.parametrize("bomb",
["(" * 4_000, "$(" * 3_000, "{ " * 3_000, "`" * 999, "((" * 2_000, "[[ " * 2_000, "if " * 3_000, '"$(' * 2_000,
 "$((" * 2_000,
                                  "a=" * 4_000, "<<a " * 2_000, "a|" * 4_000, "\\\n" * 4_000, "${" * 4_000,
                                  "! " * 4_000, "echo $(" * 500 + "ls" + ")" * 500])  # fmt: skip
def test_bombs_end_in_a_question(bomb: str) -> None:
    assert not analyse(bomb).read_only


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("grep x f", "search"),
        ("cat f | head", "read"),
        ("ls -la", "list"),
        ("ls | grep x", "search"),
        ("rm x", None),
        ("cat a && rm b", None),
        ("echo a", None),
    ],
)
def test_the_kind_for_collapsed_display(command: str, kind: str | None) -> None:
    assert analyse(command).kind == kind


@pytest.mark.parametrize(
    ("command", "code", "told"),
    [("grep x f", 1, True), ("cat f | grep x", 1, True), ("grep x f | cat", 1, False), ("diff a b", 1, True),
     ("[ -f x ]", 1, True), ("! grep x f", 1, False),
     ("timeout 5 grep x f", 1, True), ("ls", 0, False), ("test -f x", 1, True)],
)  # fmt: skip
def test_exit_codes_are_explained_for_the_deciding_command(command: str, code: int, told: bool) -> None:
    assert (analyse(command).exit_meaning(code) is not None) is told


def test_small_facts_for_display_and_scheduling() -> None:
    assert analyse("git add . && git -C x commit -m y && gh pr create").git_operations == (
        "git add",
        "git commit",
        "gh pr create",
    )
    assert analyse("sleep 5 && ls").first_sleep_s == 5.0
    assert analyse("sleep 2m").first_sleep_s == 120.0
    assert analyse("ls; sleep 5").first_sleep_s is None
    assert analyse("cat src/a.py").single_file_read == "src/a.py"
    assert analyse("sed -n '1,5p' a.txt").single_file_read == "a.txt"
    assert analyse("cat a | head").single_file_read is None
    assert analyse("cat a b").single_file_read is None
    assert analyse("cd a && cd $b").cd_targets == ("a", "")


def test_effects_name_files_and_network() -> None:
    analysis = analyse("cat in.txt > out.txt && curl https://example.com")
    assert "in.txt" in analysis.effects.reads
    assert "out.txt" in analysis.effects.writes
    assert analysis.effects.network
    assert analysis.effects.runs


def test_the_reason_names_the_part() -> None:
    assert reason("ls && rm -rf build").startswith("rm: ")


def test_stray_words_behind_a_redirect_belong_to_the_command() -> None:
    assert analyse("find . 2>/dev/null -delete").parts[0].text == "find . -delete"
    reason("find . >/dev/null -delete")
    reason("sort f </dev/null -o g")


@pytest.mark.parametrize("end", ["E;", "E x", "E)", "`E`", "$E"])
def test_a_heredoc_whose_end_is_not_certain_is_doubted(end: str) -> None:
    assert analyse(f"cat <<{end}\nrm x\n{end}\nrm y").doubt or not analyse(f"cat <<{end}\nrm x\n{end}\nrm y").read_only


def test_scripts_inside_commands_are_read() -> None:
    for command in ("bash -c 'ls; rm x'", "sh -lc 'rm x'", "eval 'rm x'", "trap 'rm x' EXIT", "watch 'rm x'",
    "su -c 'rm x' bob",
                    "bash <<'E'\nrm x\nE", "bash <<< 'rm x'", "cat <<'E' | sh\nrm x\nE",
                    "git submodule foreach 'rm x'", "git rebase -x 'rm x' main",
                    "flock f -c 'rm x'", "ssh host 'rm x'", "env -S 'rm x'"):  # fmt: skip
        assert "rm x" in {part.text for part in analyse(command).parts}, command


def test_a_new_home_directory_is_seen_although_the_text_was_analysed_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/one")
    assert analyse("cat ~/notes.txt").effects.reads == ("/home/one/notes.txt",)
    monkeypatch.setenv("HOME", "/home/two")
    assert analyse("cat ~/notes.txt").effects.reads == ("/home/two/notes.txt",)


@pytest.mark.parametrize("text", ["{\U000e007f", "{1..\U0001f600}", "echo '\u4e2d' \u00e9 \ud800 {\U0010ffff,\u20ac}"])
def test_the_parser_never_gets_a_character_outside_the_tables_of_the_c_library(text: str) -> None:
    view, data = grammar.ready(text)
    assert len(view) == len(data)
    assert max(map(ord, data.decode())) < 256
    assert [char for char in view if char < "\x80"] == [char for char in text if char < "\x80"]
    assert analyse(text).command == text


def test_words_of_other_scripts_stay_what_they_are() -> None:
    analysis = read_only(
        "grep -rn '\u4e2d\u6587' docs/\u00e9t\u00e9.md \u0444\u0430\u0439\u043b | head -n 3; echo \U0001f600"
    )
    assert analysis.effects.reads == ("docs/\u00e9t\u00e9.md", "\u0444\u0430\u0439\u043b")
    assert analysis.parts[-1].argv[1].text == "\U0001f600"


@pytest.mark.parametrize(
    ("command", "moves"),
    [
        ("true 1", False),
        ("git status | head > out", False),
        ("cd src", False),
        ("cd src && cat x", True),
        ("bash -c 'cd ..; cat x'", True),
        ("(cd src; ls) && pwd", True),
        ("pushd src; echo x > y", True),
        ("c'd' src && cat x", True),
    ],
)
def test_the_start_counts_only_where_something_runs_after_a_move(command: str, moves: bool) -> None:
    alone, here = analyse(command), analyse(command, cwd="/somewhere/else")
    assert alone.moves is moves
    assert moves or alone is here


@pytest.mark.parametrize("value", ["日本", "é", "$y日", "\udcff"])
def test_a_value_of_any_script_is_noted_as_it_is_written(value: str) -> None:
    found = analyse(f"x={value}; x+=ü").values["x"]
    assert len(found) == 2
    assert found[1] == found[0] + "ü"
    assert found[0] == value or not value.isprintable()


@pytest.mark.parametrize("text", ["a &&{", "rm [a- { }; f ; ] ( / E\n&&{", "{"])
def test_a_brace_at_the_very_end_is_no_group(text: str) -> None:
    assert not analyse(text).parsed

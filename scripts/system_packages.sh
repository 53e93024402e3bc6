#!/usr/bin/env bash
# The Debian packages behind the real parts that tests run. As root they are installed; otherwise the command is shown.
# With the word "peers" also those that programs need which benchmarks measure beside ours.
set -euo pipefail
declare -A package_of=([git]=git [bash]=bash [bwrap]=bubblewrap [strace]=strace [tmux]=tmux [jq]=jq)
[ "${1:-}" != peers ] || package_of[socat]=socat
missing=()
for program in "${!package_of[@]}"; do
    command -v "$program" >/dev/null 2>&1 || missing+=("${package_of[$program]}")
done
# Debian's own Python makes a venv only with this package; the deciding tests also run on it.
[ ! -x /usr/bin/python3 ] || /usr/bin/python3 -c 'import ensurepip' 2>/dev/null || missing+=(python3-venv)
[ "${#missing[@]}" -eq 0 ] && exit 0
if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null 2>&1; then
    echo "Installing: ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
else
    echo "Missing: ${missing[*]}. Tests that need them are skipped and say so. To install: sudo apt-get install ${missing[*]}"
fi

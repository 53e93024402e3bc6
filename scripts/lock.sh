#!/usr/bin/env bash
# Pin every package of the development set, and of the program itself, with hashes and without naming a registry.
set -euo pipefail
cd "$(dirname "$0")/.."
.venv/bin/pip-compile --quiet --upgrade --generate-hashes --allow-unsafe --strip-extras --extra dev \
    --no-emit-index-url --no-emit-trusted-host --no-emit-find-links --no-emit-options \
    --output-file requirements/dev.txt pyproject.toml
.venv/bin/pip-compile --quiet --generate-hashes --allow-unsafe --strip-extras --constraint requirements/dev.txt \
    --no-emit-index-url --no-emit-trusted-host --no-emit-find-links --no-emit-options \
    --output-file requirements/run.txt pyproject.toml

"""The command line's front door: answers `--version` before anything is loaded."""

import sys


def main() -> None:
    """Run the command line."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        from holdfast import __version__  # noqa: PLC0415 - nothing else is needed for this answer

        print(f"holdfast {__version__}")  # noqa: T201 - the answer
        return
    from holdfast.host.guard import run_guarded  # noqa: PLC0415 - the fast path above must not pay for it

    sys.exit(run_guarded(_run))


def _run() -> int:
    from holdfast.cli.main import run  # noqa: PLC0415 - loaded behind the guard, whose memory stays small

    return run()


if __name__ == "__main__":
    main()

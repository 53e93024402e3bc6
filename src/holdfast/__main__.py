"""The command line's front door: answers `--version` before anything is loaded."""

import sys


def main() -> None:
    """Run the command line."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        from holdfast import __version__  # noqa: PLC0415 - nothing else is needed for this answer

        print(f"holdfast {__version__}")  # noqa: T201 - the answer
        return
    from holdfast.cli.main import run  # noqa: PLC0415 - the fast path above must not pay for it

    sys.exit(run())


if __name__ == "__main__":
    main()

"""The limited process itself: bounds first, then the parser, then one answer on standard output."""

import json
import sys
from importlib import import_module

import msgspec

from holdfast.host.parsing import CPU_S, MAX_ANSWER_BYTES, MEMORY_BYTES, ParseError

try:
    import resource
except ImportError:  # not on every system
    resource = None


def main() -> None:
    """Run the parser named on the command line on standard input."""
    if resource is None:
        sys.exit("this system cannot bound the memory of a parser")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S + 1))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (2 * MAX_ANSWER_BYTES, 2 * MAX_ANSWER_BYTES))
    module, function, request = sys.argv[1:4]
    try:
        answer = getattr(import_module(module), function)(0, json.loads(request))
    except ParseError as error:
        answer = {"error": str(error)}
    except (MemoryError, RecursionError):
        answer = {"error": f"the file needs more than {MEMORY_BYTES >> 20} MB of memory to take apart"}
    except ModuleNotFoundError as error:
        answer = {"error": f"showing this kind of file needs the package {error.name}: install holdfast[media]"}
    sys.stdout.buffer.write(msgspec.msgpack.encode(answer))
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()

# pyright: basic, reportMissingImports=false, reportAttributeAccessIssue=false, reportOptionalMemberAccess=false
"""What the Python SDK offers, each feature once, against the agent that `AGENT` names.

AGENT=/path/to/holdfast ANTHROPIC_BASE_URL=... python python_probes.py [WORD ...]
"""

import sys

import python_asking  # noqa: F401 - importing a part registers its probes
import python_deciding  # noqa: F401
import python_keeping  # noqa: F401
import python_lab
import python_working  # noqa: F401

if __name__ == "__main__":
    python_lab.main(sys.argv[1:])

"""Our own program asks no plugin of the validation library; whoever uses the library keeps theirs."""

import subprocess
import sys

import pytest

CODE = """
import sys
{before}
import pydantic
class Model(pydantic.BaseModel):
    number: int
assert Model(number="5").number == 5
print("importlib.metadata" in sys.modules)
"""
LEFT_OUT = "from holdfast.lib.plugins import leave_out_plugins; leave_out_plugins()"


@pytest.mark.parametrize(
    ("before", "looks_for_plugins"),
    [(LEFT_OUT, False), ("import holdfast.contract", True), (f"import pydantic.plugin._loader; {LEFT_OUT}", True)],
    ids=["our own program", "who uses the library", "loaded before"],
)
def test_only_our_own_program_looks_for_no_plugins(before: str, *, looks_for_plugins: bool) -> None:
    code = [sys.executable, "-c", CODE.format(before=before)]
    done = subprocess.run(code, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == str(looks_for_plugins)

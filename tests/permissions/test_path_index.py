from holdfast.permissions import PermissionContext, Rule
from holdfast.permissions.decide import decide
from holdfast.permissions.paths import NoDisk
from holdfast.permissions.traits import facts_from_input


def test_a_name_that_a_path_repeats_half_a_million_times_is_looked_up_once() -> None:
    """The rule is filed under `a`; asked anew for each `a`, the answer would take hours."""
    context = PermissionContext(
        rules=[Rule.parse("deny", "Read(**/a/**/b/**/c)")], working_directories=("/proj",), disk=NoDisk()
    )
    decision = decide(facts_from_input("Read", {"file_path": "a/" * 500_000 + "b"}, "/proj"), context)
    assert (decision.behavior, decision.layer) == ("deny", "guard")

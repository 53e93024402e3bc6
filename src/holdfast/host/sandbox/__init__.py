"""The wall behind the rules: commands see the whole machine read-only, write where they may, and reach no network."""

from holdfast.host.sandbox.policy import Policy
from holdfast.host.sandbox.probe import Found, NotAvailable, look_for_landlock, look_for_sandbox
from holdfast.host.sandbox.wall import Wall

__all__ = ["Found", "NotAvailable", "Policy", "Wall", "look_for_landlock", "look_for_sandbox"]

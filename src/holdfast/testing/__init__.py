"""The public test kit: tools, questions and schedules of calls in virtual time, and models that need no key."""

from typing import TYPE_CHECKING

from holdfast.lib.lazy import export_lazily
from holdfast.models.replay import ReplayModel
from holdfast.models.scripted import ScriptedModel
from holdfast.testing.asker import ScriptedAsker
from holdfast.testing.chaos import ChaosModel
from holdfast.testing.clock import Deadlock, VirtualClock, run_virtual
from holdfast.testing.fake_provider import FakeProvider, FakeTurn, Pause, RecordedRequest, error_turn
from holdfast.testing.play import Timeline, play, play_async
from holdfast.testing.run import RunOptions, ToolRun, run_tool, run_tool_async
from holdfast.testing.script import Script
from holdfast.testing.scripted import Ending, Gate, Record, ScriptedArgs, ScriptedTool, Span
from holdfast.testing.started import StartOptions, started
from holdfast.testing.testing_permission import TestingPermission

if TYPE_CHECKING:
    from holdfast.testing.obliging import ObligingProvider
    from holdfast.testing.web_lab import LabPage, LabRequest, WebLab

__all__ = [
    "ChaosModel",
    "Deadlock",
    "Ending",
    "FakeProvider",
    "FakeTurn",
    "Gate",
    "LabPage",
    "LabRequest",
    "ObligingProvider",
    "Pause",
    "Record",
    "RecordedRequest",
    "ReplayModel",
    "RunOptions",
    "Script",
    "ScriptedArgs",
    "ScriptedAsker",
    "ScriptedModel",
    "ScriptedTool",
    "Span",
    "StartOptions",
    "TestingPermission",
    "Timeline",
    "ToolRun",
    "VirtualClock",
    "WebLab",
    "error_turn",
    "play",
    "play_async",
    "run_tool",
    "run_tool_async",
    "run_virtual",
    "started",
]

# The first brings the HTTP library, the second is for programs around an agent.
export_lazily(__name__, {"web_lab": ("LabPage", "LabRequest", "WebLab"), "obliging": ("ObligingProvider",)})

"""What is told to OpenTelemetry: `spans` makes spans and metrics of events, `export` sends them where the user says."""

from typing import TYPE_CHECKING

from holdfast.lib.lazy import export_lazily

if TYPE_CHECKING:
    from holdfast.app.telemetry.spans import Telemetry, open_telemetry

__all__ = ["Telemetry", "open_telemetry"]

export_lazily(__name__, {"spans": ("Telemetry", "open_telemetry")})

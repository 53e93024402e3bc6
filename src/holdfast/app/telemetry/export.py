"""Send telemetry where the `OTEL_*` variables say, with the SDK and exporters of the extra `holdfast[otel]`."""

import logging
from collections.abc import Mapping
from importlib import import_module
from typing import Any

__all__ = ["export_to", "is_wanted"]

_log = logging.getLogger(__name__)
_ENDPOINTS = (
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
    "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT",
)
_KINDS = ("OTEL_TRACES_EXPORTER", "OTEL_METRICS_EXPORTER")


def is_wanted(environ: Mapping[str, str]) -> bool:
    """The environment names a place or a way to send to."""
    named = [environ.get(name, "").strip().lower() for name in _KINDS]
    return any(name not in {"", "none"} for name in named) or any(environ.get(name) for name in _ENDPOINTS)


def export_to(environ: Mapping[str, str]) -> bool:
    """Set up the global providers; false, with a word in the log, where the packages are missing.

    The SDK's exporters read the rest of their variables (headers, timeouts, resource attributes) themselves, and send
    what is left when the program ends.
    """
    try:
        sdk_trace: Any = import_module("opentelemetry.sdk.trace")
        trace_export: Any = import_module("opentelemetry.sdk.trace.export")
        sdk_metrics: Any = import_module("opentelemetry.sdk.metrics")
        metric_export: Any = import_module("opentelemetry.sdk.metrics.export")
        resources: Any = import_module("opentelemetry.sdk.resources")
        api_trace: Any = import_module("opentelemetry.trace")
        api_metrics: Any = import_module("opentelemetry.metrics")
        spans = _span_exporter(environ, trace_export)
        points = _metric_exporter(environ, metric_export)
    except ImportError as error:
        _log.warning("telemetry is not sent: %s. Install it with: pip install 'holdfast[otel]'", error)
        return False
    named = {} if environ.get("OTEL_SERVICE_NAME") else {"service.name": "holdfast"}
    resource = resources.Resource.create(named)
    if spans is not None:
        tracers = sdk_trace.TracerProvider(resource=resource)
        tracers.add_span_processor(trace_export.BatchSpanProcessor(spans))
        api_trace.set_tracer_provider(tracers)
    if points is not None:
        reader = metric_export.PeriodicExportingMetricReader(points)
        api_metrics.set_meter_provider(sdk_metrics.MeterProvider(metric_readers=[reader], resource=resource))
    return spans is not None or points is not None


def _span_exporter(environ: Mapping[str, str], export: Any) -> Any:
    kind = _kind(environ, "OTEL_TRACES_EXPORTER")
    if kind == "console":
        return export.ConsoleSpanExporter(out=_stderr())
    otlp: Any = import_module("opentelemetry.exporter.otlp.proto.http.trace_exporter") if kind == "otlp" else None
    return None if otlp is None else otlp.OTLPSpanExporter()


def _metric_exporter(environ: Mapping[str, str], export: Any) -> Any:
    kind = _kind(environ, "OTEL_METRICS_EXPORTER")
    if kind == "console":
        return export.ConsoleMetricExporter(out=_stderr())
    otlp: Any = import_module("opentelemetry.exporter.otlp.proto.http.metric_exporter") if kind == "otlp" else None
    return None if otlp is None else otlp.OTLPMetricExporter()


def _kind(environ: Mapping[str, str], variable: str) -> str:
    """`otlp`, `console` or `none`. Without a word an endpoint means otlp; what we do not know is said and left out."""
    named = environ.get(variable, "").strip().lower()
    if not named:
        return "otlp" if any(environ.get(name) for name in _ENDPOINTS) else "none"
    if named not in {"otlp", "console", "none"}:
        _log.warning("%s=%r is not known; use otlp, console or none", variable, named)
        return "none"
    return named


def _stderr() -> Any:
    """Standard output belongs to the program's answers."""
    import sys  # noqa: PLC0415 - the stream as it is now

    return sys.stderr

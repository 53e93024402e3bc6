"""Shared ways to measure: always a ratio against a reference taken in the same run, interleaved."""

import statistics
import time
from collections.abc import Awaitable, Callable
from typing import TypedDict

__all__ = ["Row", "interleaved", "interleaved_async", "row"]


class Row(TypedDict):
    """One line of the table: what we take, what the reference takes, and how large the ratio may be."""

    name: str
    ours: float
    reference: float
    unit: str
    ratio: float
    limit: float
    against: str


def row(name: str, ours: float, reference: float, *, unit: str, limit: float, against: str) -> Row:
    """A row with its ratio worked out."""
    ratio = ours / reference if reference else float("inf")
    return {
        "name": name,
        "ours": ours,
        "reference": reference,
        "unit": unit,
        "ratio": ratio,
        "limit": limit,
        "against": against,
    }


def interleaved(*jobs: Callable[[], object], rounds: int) -> list[float]:
    """The median seconds of each job; the jobs take turns, so that a busy machine hits all alike."""
    times: list[list[float]] = [[] for _ in jobs]
    for job in jobs:
        job()
    for _ in range(rounds):
        for taken, job in zip(times, jobs, strict=True):
            began = time.perf_counter()
            job()
            taken.append(time.perf_counter() - began)
    return [statistics.median(taken) for taken in times]


async def interleaved_async(*jobs: Callable[[], Awaitable[object]], rounds: int) -> list[float]:
    """The same for coroutines."""
    times: list[list[float]] = [[] for _ in jobs]
    for job in jobs:
        await job()
    for _ in range(rounds):
        for taken, job in zip(times, jobs, strict=True):
            began = time.perf_counter()
            await job()
            taken.append(time.perf_counter() - began)
    return [statistics.median(taken) for taken in times]

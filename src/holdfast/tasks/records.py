"""Task records on disk: one line per change, the last line of a task counts, a torn last line is ignored."""

import logging
import os

import msgspec

from holdfast.lib.guarded_read import read_guarded
from holdfast.tasks.states import RECORD_VERSION, TaskRecord, is_task_id

__all__ = ["RECORDS_NAME", "TaskRecords", "read_records"]

_log = logging.getLogger(__name__)
RECORDS_NAME = "records.jsonl"
_LIMIT_BYTES = 64 << 20
_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(TaskRecord)


class TaskRecords:
    """Appends to the records of one session. Trouble with the disk is logged; it never stops a task."""

    def __init__(self, directory: str) -> None:
        self._path = os.path.join(directory, RECORDS_NAME)

    def write(self, record: TaskRecord) -> None:
        """Add the present state of a task: one write of one line."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            handle = os.open(self._path, flags, 0o600)
            try:
                # A leading newline ends what a crash may have left half written.
                os.write(handle, b"\n" + _encoder.encode(record) + b"\n")
            finally:
                os.close(handle)
        except (OSError, UnicodeEncodeError) as error:
            _log.warning("the record of task %s could not be written: %s", record.id, error)


def read_records(directory: str) -> dict[str, TaskRecord]:
    """The last known state of every task of a session, oldest first; nothing where there are no records."""
    path = os.path.join(directory, RECORDS_NAME)
    try:
        data = read_guarded(path, limit_bytes=_LIMIT_BYTES, owner="me", follow=False)
    except OSError as error:
        _log.warning("the task records are not read: %s", error)
        return {}
    found: dict[str, TaskRecord] = {}
    for line in (data or b"").splitlines():
        try:
            record = _decoder.decode(line)
        except (msgspec.DecodeError, UnicodeError):
            continue
        if is_task_id(record.id) and record.version <= RECORD_VERSION:
            found[record.id] = record
    return found

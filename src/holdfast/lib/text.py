"""Byte-faithful text: which encoding and line endings a file has, and how to get back the very same bytes."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from typing import Final, Literal

import msgspec

from holdfast.lib.coding_lines import coding_line
from holdfast.lib.legacy import guess

Declared = Callable[[], str | None]
"""Says which codec is declared for a file from outside; asked only when that matters."""
Newline = Literal["\n", "\r\n", "\r", "mixed", "none"]

SAMPLE_BYTES = 64 * 1024
_BINARY_SAMPLE_BYTES = 8 * 1024
# The longer marks first: a UTF-32 mark begins with a UTF-16 one.
_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CONTROLS: Final = bytes(set(range(32)) - {7, 8, 9, 10, 12, 13, 27}) + b"\x7f"
_STATELESS_SINGLE_BYTE: Final = ("cp125", "iso8859", "latin", "koi8", "cp437", "cp850", "cp866", "mac", "ascii")


class NotTextError(ValueError):
    """The bytes are not text; `reason` says how we know."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class NotEncodableError(ValueError):
    """Some text has no bytes in the file's encoding, or none that we could be sure of."""

    def __init__(self, encoding: Encoding, character: str) -> None:
        words = f"{character!r} cannot be written in {encoding.label}"
        if encoding.guessed:
            words = (
                f"{character!r} would be new in this file, whose encoding is only guessed to be {encoding.label}; "
                f"convert it to UTF-8 first (`iconv -f {encoding.codec} -t UTF-8`, with the true name if known), or "
                "name the encoding in a coding line or as `charset` in .editorconfig. A guess is not enough to write it"
            )
        super().__init__(words)
        self.encoding = encoding
        self.character = character


class Encoding(msgspec.Struct, frozen=True):
    """How text is stored in a file."""

    codec: str
    """Python's name of the codec, without byte order mark."""
    mark: bytes = b""
    """The byte order mark at the start of the file."""
    damaged: bool = False
    """UTF-8 with some bytes that are not; they are kept but cannot be shown as characters."""
    guessed: bool = False
    """Nothing proves this encoding: good enough to show what is there, not to write characters that are not."""

    @property
    def label(self) -> str:
        """The name people know."""
        return self.codec + (" with BOM" if self.mark else "") + (" with invalid bytes" if self.damaged else "")

    @property
    def is_wide(self) -> bool:
        """Whether a character takes at least two bytes, so that bytes cannot be searched for line ends."""
        return self.codec.startswith(("utf-16", "utf-32"))

    @property
    def is_byte_searchable(self) -> bool:
        """Whether finding encoded bytes is the same as finding the text: no match can start inside a character."""
        return self.codec == "utf-8" or self.codec.replace("-", "").startswith(_STATELESS_SINGLE_BYTE)

    def encode(self, text: str) -> bytes:
        """Encode text, without the mark.

        Raises:
            NotEncodableError: A character does not exist in this encoding.
        """
        try:
            return text.encode(self.codec)
        except UnicodeEncodeError as error:
            raise NotEncodableError(self, text[error.start : error.start + 1]) from None

    def require_known(self, new: str, old: str) -> None:
        """Refuse characters that the file does not have yet, where its encoding is only guessed.

        Raises:
            NotEncodableError: There is one.
        """
        if self.guessed and not new.isascii():
            unknown = sorted(char for char in set(new) - set(old) if char > "\x7f")
            if unknown:
                raise NotEncodableError(self, unknown[0])

    def show(self, data: bytes) -> str:
        r"""Decode bytes for reading only: what is no character appears as an escape such as `\xff`."""
        return data.decode(self.codec, "backslashreplace")


UTF8: Final = Encoding("utf-8")


def detect(head: bytes, *, complete: bool, declared: Declared | None = None) -> Encoding:
    """Tell the encoding from the first bytes of a file.

    A byte order mark decides; then a line in the file that names its encoding, what is declared for the file, strong
    evidence, and at last a guess. Letters that are valid UTF-8 win over both names: text in another encoding hardly
    ever is, and what is added must fit what is there. Plain ASCII proves nothing: see `detect_whole`.

    Args:
        head: The start of the file, `SAMPLE_BYTES` or more if there is more.
        complete: Whether that is the whole file.
        declared: Which codec is declared for this file elsewhere.

    Raises:
        NotTextError: It is binary.
    """
    for mark, codec in _MARKS:
        if head.startswith(mark) and _decodes(head[len(mark) :], codec, complete=complete):
            return Encoding(codec, mark)
    is_utf8 = _decodes(head, "utf-8", complete=complete)
    named = coding_line(head)
    if named is not None and named != "utf-8" and not (is_utf8 and not head.isascii()) and _round_trips(head, named):
        return Encoding(named)
    wide = _wide_without_mark(head, complete=complete)
    if wide is not None:
        return wide
    if declared is not None and (not is_utf8 or b"\0" in head):
        codec = declared()
        if codec is not None and codec != "utf-8" and _round_trips(head, codec):
            return Encoding(codec)
    _refuse_binary(head)
    return UTF8 if is_utf8 else _legacy(head)


def _decodes(data: bytes, codec: str, *, complete: bool) -> bool:
    try:
        codecs.getincrementaldecoder(codec)().decode(data, complete)
    except UnicodeDecodeError:
        return False
    return True


def _wide_without_mark(head: bytes, *, complete: bool) -> Encoding | None:
    """UTF-16 text in a mostly Latin script has a zero in every other byte."""
    sample = head[:_BINARY_SAMPLE_BYTES]
    pairs = len(sample) // 2
    if pairs < 4 or b"\0" not in sample or (complete and len(head) % 2):
        return None
    low, high = sample[0::2].count(0), sample[1::2].count(0)
    for codec, zeros, others in (("utf-16-le", high, low), ("utf-16-be", low, high)):
        if zeros > pairs * 0.7 and others == 0 and _decodes(head[: len(head) // 2 * 2], codec, complete=False):
            text = sample[: pairs * 2].decode(codec, "replace")
            if all(char.isprintable() or char in "\t\n\r\f" for char in text):
                return Encoding(codec)
    return None


def _refuse_binary(head: bytes) -> None:
    sample = head[:_BINARY_SAMPLE_BYTES]
    if b"\0" in sample:
        raise NotTextError("it contains NUL bytes")
    controls = len(sample) - len(sample.translate(None, _CONTROLS))
    if controls > len(sample) // 10:
        raise NotTextError("more than a tenth of its bytes are control characters")


def _legacy(head: bytes) -> Encoding:
    damage = _damage(head)
    if damage is not None:
        return damage
    found = guess(head)
    if found is None:
        raise NotTextError("no known text encoding fits its bytes")
    codec, is_sure = found
    if _round_trips(head, codec):
        return Encoding(codec, guessed=not is_sure)
    return Encoding("iso8859-1", guessed=True)


def _damage(head: bytes) -> Encoding | None:
    """Recognise UTF-8 with a few broken bytes: real multi-byte characters that no other encoding would produce."""
    shown = head.decode("utf-8", "replace")
    broken = shown.count("\ufffd")
    sound = sum(char > "\x7f" for char in shown) - broken
    return Encoding("utf-8", damaged=True) if sound >= 2 * broken and sound > 0 else None


def _round_trips(data: bytes, codec: str) -> bool:
    try:
        # A character cut by the end of the sample is no proof against the codec.
        text = codecs.getincrementaldecoder(codec)().decode(data, final=False)
        return data.startswith(text.encode(codec)) and len(text) > 0
    except (UnicodeError, LookupError):
        return False


def detect_whole(data: bytes, *, declared: Declared | None = None) -> Encoding:
    """Tell the encoding of complete content, so that every byte of it is known to fit.

    Raises:
        NotTextError: It is binary, or bytes past the start do not fit the encoding that the start has.
    """
    encoding = detect(data[:SAMPLE_BYTES], complete=len(data) <= SAMPLE_BYTES, declared=declared)
    body = memoryview(data)[len(encoding.mark) :]
    if encoding.damaged or _decodes_all(body, encoding.codec):
        return _declared_ascii(data, declared) if encoding == UTF8 else encoding
    if encoding.mark or encoding.is_wide:
        raise NotTextError(f"it starts as {encoding.label} but later bytes are not")
    # The start was plain ASCII or a lucky guess; look where it broke.
    position = _first_bad(body, encoding.codec)
    around = data[max(0, position - SAMPLE_BYTES // 2) : position + SAMPLE_BYTES // 2]
    later = _later(around, declared)
    if later.damaged or _decodes_all(body, later.codec):
        return later
    if encoding == UTF8:
        return Encoding("utf-8", damaged=True)
    return Encoding("iso8859-1", guessed=True)


def _later(around: bytes, declared: Declared | None) -> Encoding:
    codec = None if declared is None else declared()
    if codec is not None and codec != "utf-8" and _round_trips(around, codec):
        return Encoding(codec)
    return _legacy(around)


def _declared_ascii(data: bytes, declared: Declared | None) -> Encoding:
    """Plain ASCII is any of many encodings: what is declared for the file says which."""
    codec = declared() if declared is not None and data.isascii() else None
    is_alike = codec is not None and codec != "utf-8" and _round_trips(data, codec)
    return Encoding(codec) if codec is not None and is_alike and data.decode(codec) == data.decode() else UTF8


def _decodes_all(data: memoryview, codec: str) -> bool:
    return _first_bad(data, codec) < 0


def _first_bad(data: memoryview, codec: str) -> int:
    """Position of the first chunk that does not decode, or -1; in chunks, so that memory stays small."""
    decoder = codecs.getincrementaldecoder(codec)()
    for start in range(0, len(data), SAMPLE_BYTES * 16):
        chunk = data[start : start + SAMPLE_BYTES * 16]
        try:
            decoder.decode(chunk, start + len(chunk) >= len(data))
        except UnicodeDecodeError as error:
            return start + error.start
    return -1


def newline_of(data: bytes | memoryview, encoding: Encoding = UTF8) -> Newline:
    """Tell the line ending of content or a sample of it: uniform, mixed or none."""
    raw = bytes(data)
    if encoding.is_wide:
        raw = raw.decode(encoding.codec, "ignore").encode("utf-8", "ignore")
    pairs = raw.count(b"\r\n")
    lone_lf = raw.count(b"\n") - pairs
    lone_cr = raw.count(b"\r") - pairs
    if raw.endswith(b"\r") and pairs:
        lone_cr -= 1  # the sample may cut a pair in two
    found: list[Newline] = [name for name, count in (("\n", lone_lf), ("\r\n", pairs), ("\r", lone_cr)) if count > 0]  # pyright: ignore[reportAssignmentType]  # literals in a tuple lose their literal type
    if not found:
        return "none"
    return found[0] if len(found) == 1 else "mixed"


class TextFile(msgspec.Struct, frozen=True):
    """Content as text together with all that is needed to store it again."""

    text: str
    encoding: Encoding
    newline: Newline

    @classmethod
    def decode(cls, data: bytes) -> TextFile:
        """Decode content, with proof that encoding it again gives the same bytes.

        Raises:
            NotTextError: It is binary, or its bytes would not survive the round trip.
        """
        encoding = detect_whole(data)
        if encoding.damaged:
            raise NotTextError("some of its bytes are not valid UTF-8")
        body = data[len(encoding.mark) :]
        text = body.decode(encoding.codec)
        if encoding.codec != "utf-8" and text.encode(encoding.codec) != body:
            raise NotTextError(f"its bytes would not survive being read as {encoding.label} and written again")
        return cls(text, encoding, newline_of(body, encoding))

    def encode(self, text: str) -> bytes:
        """Encode other text the way this file is stored, mark included."""
        self.encoding.require_known(text, self.text)
        return self.encoding.mark + self.encoding.encode(text)

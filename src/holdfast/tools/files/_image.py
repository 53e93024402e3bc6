"""Shrink a picture until a model can afford it. Runs in a limited process."""

import io
import os
import warnings
from typing import TYPE_CHECKING, Any

from holdfast.host.parsing import ParseError
from holdfast.tools.files._picture_size import picture_size

if TYPE_CHECKING:
    from PIL.Image import Image

MAX_PIXELS = 50_000_000
MAX_SIDE = 1568
MAX_AREA = 1_150_000
MAX_BYTES = 700_000
"""So that a line of 1 MiB has room for it in base64."""
_FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF", "ICO")
_MEDIA_TYPES = {"PNG": "image/png", "JPEG": "image/jpeg", "GIF": "image/gif", "WEBP": "image/webp"}
_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"\xff\xd8\xff", "jpeg"),
    (b"GIF87a", "gif"),
    (b"GIF89a", "gif"),
    (b"BM", "bmp"),
    (b"II*\0", "tiff"),
    (b"MM\0*", "tiff"),
    (b"\0\0\1\0", "ico"),
)


def image_kind(head: bytes) -> str | None:
    """Tell by its first bytes whether a file is a picture, and of which kind."""
    if head.startswith(b"RIFF") and head[8:12] == b"WEBP":
        return "webp"
    if head.startswith(b"BM") and (len(head) < 18 or head[6:10] != b"\0\0\0\0"):
        return None  # two letters alone also start ordinary text
    return next((kind for signature, kind in _SIGNATURES if head.startswith(signature)), None)


def shrink(fd: int, request: dict[str, Any]) -> dict[str, Any]:
    """Answer with a picture inside the budget: the file's own bytes where they fit, else a smaller copy."""
    try:
        from PIL import Image, ImageOps, UnidentifiedImageError  # noqa: PLC0415  # in the limited process only
    except ModuleNotFoundError:
        return _as_it_is(_read_all(fd))
    del request
    warnings.simplefilter("error", Image.DecompressionBombWarning)
    Image.MAX_IMAGE_PIXELS = MAX_PIXELS
    data = _read_all(fd)
    try:
        picture = Image.open(io.BytesIO(data), formats=_FORMATS)
        width, height = picture.size
        if width * height > MAX_PIXELS:
            raise ParseError(_too_large(width, height))
        frames = int(getattr(picture, "n_frames", 1))
        scale = min(1.0, MAX_SIDE / max(width, height), (MAX_AREA / (width * height)) ** 0.5)
        size = (max(1, round(width * scale)), max(1, round(height * scale)))
        media_type = _MEDIA_TYPES.get(picture.format or "")
        picture.draft("RGB", size)
        picture.load()
        if scale == 1.0 and media_type is not None and len(data) <= MAX_BYTES:
            shown, out = (width, height), data
        else:
            upright = ImageOps.exif_transpose(picture)
            upright.thumbnail((MAX_SIDE, MAX_SIDE) if scale == 1.0 else (max(size), max(size)), reducing_gap=2.0)
            out, media_type, shown = _encode(upright, photo=picture.format == "JPEG")
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise ParseError(f"the picture is too large to open safely: {error}") from error
    except UnidentifiedImageError as error:
        raise ParseError("the file looks like a picture but cannot be decoded as one") from error
    except (OSError, ValueError, SyntaxError, EOFError, IndexError, KeyError, TypeError, OverflowError) as error:
        raise ParseError(f"the picture is broken: {error}") from error
    return {
        "data": out,
        "media_type": media_type,
        "width": width,
        "height": height,
        "shown_width": shown[0],
        "shown_height": shown[1],
        "frames": frames,
    }


def _as_it_is(data: bytes) -> dict[str, Any]:
    """Answer with a picture that needs no work: small, and of a kind that models take."""
    kind = image_kind(data[:64]) or ""
    size = picture_size(data, kind)
    if size is None or f"image/{kind}" not in _MEDIA_TYPES.values():
        raise ParseError(f"a picture of the kind {kind or 'unknown'} must be converted first: install holdfast[media]")
    width, height = size
    if max(size) > MAX_SIDE or width * height > MAX_AREA or len(data) > MAX_BYTES or not width * height:
        raise ParseError(
            f"the picture has {width:,} by {height:,} pixels and {len(data):,} bytes, which must be scaled down first: "
            "install holdfast[media]"
        )
    dimensions = {"width": width, "height": height, "shown_width": width, "shown_height": height, "frames": 1}
    return {"data": data, "media_type": f"image/{kind}", **dimensions}


def _too_large(width: int, height: int) -> str:
    return f"the picture has {width:,} by {height:,} pixels; at most {MAX_PIXELS:,} are opened"


def _read_all(fd: int) -> bytes:
    size = os.fstat(fd).st_size
    if size > 200_000_000:
        raise ParseError(f"the picture file has {size:,} bytes; at most 200,000,000 are read")
    with os.fdopen(fd, "rb", closefd=False) as file:
        return file.read()


def _encode(picture: "Image", *, photo: bool) -> tuple[bytes, str, tuple[int, int]]:
    """Try lossless unless it is a photo, then ever smaller JPEG, until the bytes fit."""
    has_alpha = picture.mode in {"RGBA", "LA", "PA"} or "transparency" in picture.info
    flat = picture.convert("RGBA" if has_alpha else "RGB")
    out = io.BytesIO()
    if not photo:
        flat.save(out, "PNG")
        if out.tell() <= MAX_BYTES:
            return out.getvalue(), "image/png", flat.size
    opaque = flat.convert("RGB")
    for quality in (85, 70, 50, 30):
        out = io.BytesIO()
        opaque.save(out, "JPEG", quality=quality, optimize=True)
        if out.tell() <= MAX_BYTES:
            break
    return out.getvalue(), "image/jpeg", opaque.size

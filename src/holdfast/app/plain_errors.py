"""Errors of calls as people read them."""

__all__ = ["for_people"]

_WORDS_FOR_MODELS = " Do not try to get around this; choose another way or ask."


def for_people(text: str) -> str:
    """An error without the marks and advice that only models need."""
    plain = text.strip()
    if plain.startswith("<tool_use_error>"):
        plain = plain.removeprefix("<tool_use_error>").removesuffix("</tool_use_error>")
        return plain.removesuffix(_WORDS_FOR_MODELS).strip()
    return text

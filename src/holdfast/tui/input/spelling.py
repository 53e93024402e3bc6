"""The input line shows what stands in it: what is pasted there may hold characters that hide, or turn what follows."""

from bisect import bisect_right
from itertools import accumulate

from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.formatted_text.utils import fragment_list_to_text
from prompt_toolkit.layout.processors import Processor, Transformation, TransformationInput
from prompt_toolkit.layout.utils import explode_text_fragments

from holdfast.tui.show.words import spelled

__all__ = ["SpellingOut"]


class SpellingOut(Processor):
    """Draws such characters as `<U+202E>`; the text stays what it is. Control characters are drawn by the library."""

    def apply_transformation(self, transformation_input: TransformationInput) -> Transformation:
        """The line as it is drawn, and which place of it is which character."""
        fragments = transformation_input.fragments
        text = fragment_list_to_text(fragments)
        found = {} if text.isascii() else spelled(text)
        if not found:
            return Transformation(fragments)
        drawn: StyleAndTextTuples = [
            (f"{style} class:hf-warn", found[at]) if at in found else (style, char)
            for at, (style, char, *_) in enumerate(explode_text_fragments(fragments))
        ]
        starts = list(accumulate((len(char) for _, char, *_ in drawn), initial=0))
        return Transformation(
            drawn,
            source_to_display=lambda place: starts[min(place, len(starts) - 1)] + max(0, place - len(starts) + 1),
            display_to_source=lambda place: bisect_right(starts, place) - 1,
        )

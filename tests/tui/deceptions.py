"""Strings that want to look like something else, or like nothing: generated, always the same for a seed."""

import random

CONTROLS = [*map(chr, range(0x20)), "\x7f", *map(chr, range(0x80, 0xA0))]
SEQUENCES = (
    "\x1b[2J\x1b[3J\x1b[H",
    "\x1b[1A\x1b[2K",
    "\x1b[8m",
    "\x1b[31;1m",
    "\x1b]0;title\x07",
    "\x1b]52;c;ZXZpbA==\x07",
    "\x1b]8;;https://evil.example\x1b\\",
    "\x1bP+q544e\x1b\\",
    "\x1b_Gf=100;AAAA\x1b\\",
    "\x1b^private\x1b\\",
    "\x1bc",
    "\x1b(0",
    "\x1b[?1049h",
    "\x1b[6n",
    "\x9b2J",
    "\x9d0;title\x9c",
    "\r\x1b[K",
    "\b\b\b\b",
    "\x0e\x0f",
)
HIDDEN = (
    *("\u200b", "\u200c", "\u200d", "\u200e", "\u200f", "\u2028", "\u2029", "\u2060", "\u2064", "\ufeff", "\u00ad"),
    *("\u202a", "\u202b", "\u202c", "\u202d", "\u202e", "\u2066", "\u2067", "\u2068", "\u2069", "\u061c"),
    *("\u115f", "\u1160", "\u3164", "\uffa0", "\u034f", "\u17b4", "\u180e", "\u2800", "\ufff9", "\ufffb"),
    *("\ufe00", "\ufe0f", "\U000e0100", "\U000e01ef", "\ue000", "\U000f0000", "\U0010ffff", "\ud800", "\udfff"),
    "".join(chr(0xE0000 + ord(char)) for char in "rm -rf /"),
    "".join(random.Random(1).choices("\u200b\u200c\u200d", k=24)),
)
ALIKE = ("\u0430", "\u0435", "\u043e", "\u2044", "\u2215", "\uff0f", "\u037e", "\uff1b", "\u0131", "\u1d0f", "\u2024")
MARKUP = (
    "&#27;[2J",
    "&#x202e;",
    "&rlm;",
    "<!-- ",
    "<script>",
    "](http://evil.example",
    "[red]",
    "[/]",
    "| a | b |",
    "```sh x",
    "\\x1b[2J",
    "`",
    "**",
)
WORDS = ("ls", "rm", "-rf", "~", "/", "git", "push", "echo", "safe", "https://example.com", "#", "&&", ";", "|", "100%")


def strings(count: int, *, seed: int) -> list[str]:
    """So many of them."""
    dice = random.Random(seed)
    return [_one(dice) for _ in range(count)]


def _one(dice: random.Random) -> str:
    kinds = dice.sample((CONTROLS, SEQUENCES, HIDDEN, ALIKE, MARKUP), k=dice.randint(1, 3))
    parts = [dice.choice(dice.choice(kinds)) for _ in range(dice.randint(1, 4))]
    parts += dice.choices(WORDS, k=dice.randint(1, 5))
    dice.shuffle(parts)
    return dice.choice(("", " ")).join(parts)

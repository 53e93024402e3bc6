"""A cheap estimate of how many tokens a model will count; errs on the high side."""


def estimate_tokens(text: str) -> int:
    """Estimate the tokens of a text: four ASCII characters a token, three bytes of anything else."""
    chars = len(text)
    if text.isascii():
        return (chars + 3) // 4
    extra = len(text.encode("utf-8", "replace")) - chars
    other_bytes = extra * 3 // 2
    return (chars + extra - other_bytes) // 4 + other_bytes // 3 + 1

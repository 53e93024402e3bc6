"""What the loop itself says to the model: short, once, and marked as not from the user."""

__all__ = [
    "ATTACHED",
    "CONTINUE",
    "DROPPED",
    "EMPTY",
    "FAILED",
    "INTERRUPTED",
    "NO_RESULT",
    "OWN_WORDS",
    "STREAM_CUT",
    "SUMMARY",
    "USER_SAID",
    "USER_SAID_END",
    "WORDS_LEFT_OUT",
    "call_dropped",
    "date_changed",
    "output_missing",
]

INTERRUPTED = "[The user interrupted here. Wait for what they say next; do not go on by yourself.]"
FAILED = "[The run ended here because of an error in the program, not in your work.]"
SUMMARY = "[The conversation so far was replaced by this summary, because it no longer fitted.]"
DROPPED = "[The earlier part of this conversation was left out because it no longer fits.]"
USER_SAID = "[What the user said until then, word for word, the oldest first:]"
WORDS_LEFT_OUT = "[Here some of what the user said is left out to save room.]"
USER_SAID_END = "[So far what the user said before the summary. From here on the conversation goes on as it was.]"
_REMINDER = "<system-reminder>"
ATTACHED = "<attached "
"""So begins what goes with a prompt: a file that it names, what the person did meanwhile."""
OWN_WORDS = (_REMINDER, ATTACHED, INTERRUPTED, FAILED, SUMMARY, DROPPED, USER_SAID, WORDS_LEFT_OUT, USER_SAID_END)
"""Nothing that a person said begins like this."""
NO_RESULT = (
    "<tool_use_error>The call was stopped before its result was known; it may have taken effect in part or whole. "
    "Look at the present state before you repeat it.</tool_use_error>"
)
CONTINUE = "Your answer reached the output limit. Go on exactly where it stopped, without repeating any of it."
EMPTY = "Your last answer was empty. If the work is done, say so in a sentence; otherwise go on with it."
STREAM_CUT = (
    "The connection broke in the middle of your answer. What is above arrived, and its calls have run; "
    "anything after it is lost. Go on from here."
)


def call_dropped(name: str) -> str:
    """The output limit cut a call in the middle."""
    return (
        f"Your answer reached the output limit in the middle of a {name} call, so that call was not made. "
        "Make it again in smaller steps."
    )


def date_changed(day: str) -> str:
    """It is another day than the one the model knows."""
    return f"It is {day} now. Do not mention this to the user unless it matters."


def output_missing(tool: str) -> str:
    """The run needs a structured result, and the model ended without it."""
    return f"This run ends with a call of {tool}. Call {tool} now with your complete result."

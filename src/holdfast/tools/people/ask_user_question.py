"""Ask the user. The text the model reads is in ask_user_question.md, beside this file."""

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict, cast

from pydantic import ConfigDict, Field

from holdfast.contract import (
    Args,
    ArgumentsInvalid,
    Choice,
    Effects,
    Form,
    FormAnswer,
    FormField,
    SessionFacts,
    Tool,
    ToolContext,
    ToolResult,
    internal,
)
from holdfast.contract.render import Line, ShownResult

__all__ = ["AskUserQuestion", "AskUserQuestionArgs", "AskUserQuestionOutput", "UserQuestion", "UserQuestionOption"]

_MAX_QUESTIONS = 4


def _briefly(schema: dict[str, Any]) -> None:
    """Every request would carry the limits of texts, and this page's words about a type: they stay with the parser."""
    for key in ("description", "additionalProperties"):
        schema.pop(key, None)
    for described in schema["properties"].values():
        for key in ("minLength", "maxLength"):
            described.pop(key, None)


class UserQuestionOption(Args):
    """One ready answer."""

    model_config = ConfigDict(json_schema_extra=_briefly)

    label: str = Field(min_length=1, max_length=500)
    value: str | None = None
    description: str | None = None
    preview: str | None = None


class UserQuestion(Args):
    """One question."""

    model_config = ConfigDict(json_schema_extra=_briefly)

    question: str = Field(min_length=1, max_length=4000)
    header: str | None = None
    options: list[UserQuestionOption] = Field(min_length=2, max_length=4)
    multiSelect: bool = False  # noqa: N815 - the known name


class AskUserQuestionArgs(Args):
    """The questions of one call; the answers come from the person alone."""

    questions: list[UserQuestion] = Field(min_length=1, max_length=_MAX_QUESTIONS)
    annotations: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None
    answers: dict[str, Any] | None = internal()
    notes: dict[str, Any] | None = internal()
    said: str = internal("")


class AskUserQuestionOutput(TypedDict):
    """What was asked and answered."""

    questions: list[dict[str, Any]]
    answers: dict[str, str | list[str]]
    annotations: NotRequired[dict[str, Any]]
    unanswered: NotRequired[list[str]]


class AskUserQuestion(Tool[AskUserQuestionArgs, AskUserQuestionOutput]):
    """Puts the questions as one form; the call runs with what the person filled in, and not without a person."""

    name, args_type = "AskUserQuestion", AskUserQuestionArgs
    output_type = AskUserQuestionOutput
    search_hint = "clarify, choose between options, let the person decide"
    max_result_chars = 100_000
    read_only = session_state = should_defer = requires_user_interaction = True
    interrupt_behavior = "cancel"

    def is_enabled(self, session: SessionFacts) -> bool:
        """Only where somebody can be asked."""
        return session.prompt.interactive

    def effects(self, args: AskUserQuestionArgs, ctx: ToolContext) -> Effects:
        """It touches nothing."""
        del args, ctx
        return Effects()

    def classifier_input(self, args: AskUserQuestionArgs) -> str | None:
        """The questions."""
        return "ask the user: " + "; ".join(one.question for one in args.questions)

    def render_use(self, raw: Mapping[str, Any]) -> str:
        """The first question, and how many there are."""
        given: Any = raw.get("questions")
        rows = cast("list[Any]", given) if isinstance(given, list) else []
        first: Any = rows[0] if rows else None
        text = str(cast("dict[str, Any]", first).get("question", "")) if isinstance(first, dict) else ""
        more = f" and {len(rows) - 1} more" if len(rows) > 1 else ""
        return f"{self.name}({text[:80]}{more})"

    def render_result(self, result: ShownResult, *, condensed: bool = True) -> Sequence[Line] | str:
        """Each question with its answer."""
        del condensed
        answers: Mapping[str, Any] = result.data["answers"] if result.data else {}
        return [[("dim", f"{question} "), ("accent", _said(answer))] for question, answer in answers.items()] or (
            result.text
        )

    async def validate(self, args: AskUserQuestionArgs, ctx: ToolContext) -> None:
        """Answers are told by the texts of questions and options, so no two are the same."""
        del ctx
        texts = [question.question for question in args.questions]
        if len(set(texts)) != len(texts):
            raise ArgumentsInvalid("two questions have the same text; ask each once", error_code=1)
        for question in args.questions:
            # Interfaces answer with either, so a label is no other option's value.
            meanings = [{option.label, option.value or option.label} for option in question.options]
            if len(set[str]().union(*meanings)) != sum(map(len, meanings)):
                raise ArgumentsInvalid(
                    f"two options of {question.question!r} are the same; give each its own label and value",
                    error_code=2,
                )

    async def form(self, args: AskUserQuestionArgs, ctx: ToolContext) -> Form | None:
        """The questions; whatever is chosen, a text of one's own is an answer, too."""
        del ctx
        fields = tuple(
            FormField(
                question.question,
                "choices" if question.multiSelect else "choice",
                title=question.question,
                header=question.header or "",
                choices=tuple(
                    Choice(option.label, option.value or option.label, option.description or "", option.preview or "")
                    for option in question.options
                ),
                free_text=True,
            )
            for question in args.questions
        )
        count = len(fields)
        return Form(
            "questions",
            "The model has a question" if count == 1 else f"The model has {count} questions",
            self.name,
            fields,
        )

    def filled(self, args: AskUserQuestionArgs, answer: FormAnswer) -> Mapping[str, Any]:
        """The person's answers."""
        del args
        return {"answers": dict(answer.values), "notes": dict(answer.notes), "said": answer.message}

    async def call(self, args: AskUserQuestionArgs, ctx: ToolContext) -> ToolResult[AskUserQuestionOutput]:
        """Tell the model what the person said."""
        del ctx
        answers = args.answers or {}
        open_ = [question.question for question in args.questions if question.question not in answers]
        data: AskUserQuestionOutput = {
            "questions": [question.model_dump(exclude_none=True) for question in args.questions],
            "answers": answers,
        }
        if args.notes:
            data["annotations"] = args.notes
        if open_:
            data["unanswered"] = open_
        return ToolResult(data, _reply(args, answers, open_))


def _said(answer: Any) -> str:
    return ", ".join(cast("list[str]", answer)) if isinstance(answer, list) else str(answer)


def _reply(args: AskUserQuestionArgs, answers: Mapping[str, Any], open_: list[str]) -> str:
    lines = ["The user answered:"] if answers else ["The user answered none of the questions."]
    for question, answer in answers.items():
        # The question in one line: what stands in it looks like no other answer.
        lines.append(f"- {' '.join(question.split())}\n  {_said(answer) or '(nothing chosen)'}")
        note: Any = (args.notes or {}).get(question)
        if note:
            text = cast("dict[str, Any]", note).get("notes") if isinstance(note, dict) else note
            lines += [f"  Note of the user: {text}"] if text else []
    if answers and open_:
        lines.append("Left open: " + "; ".join(open_))
    if args.said:
        lines.append(f"The user added: {args.said}")
    return "\n".join(lines)

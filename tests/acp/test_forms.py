"""Forms in editors that cannot show forms: each thing is a choice, and nothing is agreed to unseen."""

import asyncio
from typing import Any, cast

from holdfast.acp.questions import EditorAsker
from holdfast.acp.wire import Peer
from holdfast.contract import Choice, Form, FormAnswer, FormField

Fields = dict[str, Any]


class Editor:
    """An editor that knows only questions with choices, and takes this one."""

    def __init__(self, option: str) -> None:
        self.option = option
        self.shown: list[Fields] = []

    async def ask(self, method: str, params: Fields) -> Fields:
        assert method == "session/request_permission"
        self.shown.append(params)
        return {"outcome": {"outcome": "selected", "optionId": self.option}}


def put(form: Form, option: str) -> tuple[FormAnswer, Editor]:
    editor = Editor(option)
    return asyncio.run(EditorAsker(cast("Peer", editor), {}).fill(form)), editor


def test_a_form_without_fields_is_agreed_to_only_by_a_yes_to_its_whole_text() -> None:
    wish = Form("sampling", "It wants your model.\n\n| a secret plan", "tickets")
    answer, editor = put(wish, "yes")
    assert answer.action == "accept"
    assert (
        editor.shown[0]["toolCall"]["content"][0]["content"]["text"]
        == "tickets: It wants your model.\n\n| a secret plan"
    )
    assert put(wish, "no")[0].action == "decline"
    assert put(wish, "something else")[0].action == "decline"


def test_a_form_whose_fields_cannot_be_shown_is_asked_about_as_a_whole() -> None:
    form = Form("elicitation", "Your name?", "tickets", (FormField("name"),))
    answer, editor = put(form, "no")
    assert (answer.action, len(editor.shown)) == ("decline", 1)


def test_a_choice_shows_who_asks_and_why() -> None:
    form = Form("elicitation", "Delete it all?", "tickets", (FormField("sure", "boolean", required=True),))
    answer, editor = put(form, "1")
    assert answer.values == {"sure": False}
    assert "tickets: Delete it all?" in str(editor.shown[0]["toolCall"]["content"])


RULES = FormField(
    "rules",
    "choices",
    title="Allow these commands",
    choices=(Choice("Bash(npm test)", "Bash(npm test)"), Choice("Bash(make lint *)", "Bash(make lint *)")),
    default=["Bash(npm test)"],
)
PLAN = Form("plan", "The model has a plan", "ExitPlanMode", (RULES,), text="# Plan\n1. Go.\n", tool_use_id="t")


def test_every_rule_that_comes_with_a_plan_stands_in_the_answer_that_gives_it() -> None:
    found: dict[str, Any] = {}
    for option in ("0", "1", "2", "no", "3", "unknown"):
        answer, editor = put(PLAN, option)
        names = {one["optionId"]: one["name"] for one in editor.shown[0]["options"]}
        found[names.get(option, option)] = answer.values["rules"] if answer.action == "accept" else None
    assert found == {
        "Yes, and allow Bash(npm test) for this session": ["Bash(npm test)"],
        "Yes, and allow Bash(npm test), Bash(make lint *) for this session": ["Bash(npm test)", "Bash(make lint *)"],
        "Yes, and ask about each command": [],
        "No, keep planning": None,
        "3": None,
        "unknown": None,
    }
    assert put(PLAN._replace(fields=()), "0")[0] == FormAnswer("accept")


def test_where_an_editor_shows_forms_a_plan_can_be_edited_and_its_rules_picked() -> None:
    class Filling(Editor):
        async def ask(self, method: str, params: Fields) -> Fields:
            assert method == "elicitation/create"
            self.shown.append(params)
            return {"action": "accept", "content": {"plan": "# Plan\n1. Stay.\n", "rules": []}}

    editor = Filling("")
    answer = asyncio.run(EditorAsker(cast("Peer", editor), {"elicitation": {"form": {}}}).fill(PLAN))
    assert (answer.action, answer.text, answer.values) == ("accept", "# Plan\n1. Stay.\n", {"rules": []})
    properties = editor.shown[0]["requestedSchema"]["properties"]
    assert properties["plan"]["default"] == PLAN.text
    assert [one["const"] for one in properties["rules"]["items"]["anyOf"]] == ["Bash(npm test)", "Bash(make lint *)"]

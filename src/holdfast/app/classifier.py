"""The model that judges risky calls in `auto`, where the user's settings name one."""

from holdfast.app.side_question import Account, asked_once
from holdfast.permissions import Classify
from holdfast.settings import Settings

__all__ = ["classifier_of"]

_ANSWER_TOKENS = 300


def classifier_of(settings: Settings, account: Account | None = None) -> Classify | None:
    """What the executor asks about calls whose risk it cannot know; None where the settings name no model."""
    name = settings.classifier_model
    if name is None:
        return None
    from holdfast.permissions import model_classifier  # noqa: PLC0415 - most sessions name no model for it

    return model_classifier(asked_once(name, settings, max_output_tokens=_ANSWER_TOKENS, account=account), model=name)

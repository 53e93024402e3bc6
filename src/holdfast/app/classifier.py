"""The model that judges risky calls in `auto`, where the user's settings name one."""

import os

from holdfast.app.choose_model import model_settings
from holdfast.permissions import Classify, model_classifier
from holdfast.settings import Settings

__all__ = ["classifier_of"]

_ANSWER_TOKENS = 300


def classifier_of(settings: Settings) -> Classify | None:
    """What the executor asks about calls whose risk it cannot know; None where the settings name no model."""
    name = settings.classifier_model
    if name is None:
        return None

    async def complete(prompt: str) -> str:
        # Questions are rare and a model belongs to one event loop, so each has a client of its own.
        from holdfast.models import BlockEnded, ModelRequest  # noqa: PLC0415 - loaded with the first question
        from holdfast.models.open import open_model  # noqa: PLC0415 - see above

        model = open_model(name, environ=os.environ, settings=model_settings(settings))
        request = ModelRequest(
            messages=[{"role": "user", "content": prompt}], max_output_tokens=_ANSWER_TOKENS, is_streaming=False
        )
        try:
            blocks = [event.block async for event in model.stream(request) if isinstance(event, BlockEnded)]
        finally:
            await model.close()
        return "".join(block["text"] for block in blocks if block["type"] == "text")

    return model_classifier(complete, model=name)

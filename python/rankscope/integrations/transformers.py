"""A callback for Hugging Face's `Trainer(callbacks=[...])`: profiles a few optimizer steps on every rank."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from rankscope.torch import StepProfile

if TYPE_CHECKING:
    TrainerCallback = object
else:
    TrainerCallback = import_module("transformers").TrainerCallback

__all__ = ["RankscopeCallback"]


class RankscopeCallback(TrainerCallback):
    """Profiles steps of training into `folder`. A step ends with the optimizer's, however many batches it accumulates; options are those
    of `rankscope.torch.StepProfile`."""

    def __init__(self, folder: str | os.PathLike[str], **options: Any) -> None:
        self._profile = StepProfile(folder, **options)

    def on_train_begin(self, *args: Any, **kwargs: Any) -> None:
        self._profile.start()

    def on_step_end(self, *args: Any, **kwargs: Any) -> None:
        self._profile.step()

    def on_train_end(self, *args: Any, **kwargs: Any) -> None:
        self._profile.stop()

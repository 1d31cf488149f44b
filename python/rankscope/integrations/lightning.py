"""A callback for Lightning's `Trainer(callbacks=[...])`: profiles a few training batches on every rank."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from rankscope.torch import StepProfile

if TYPE_CHECKING:
    Callback = object
else:
    try:
        Callback = import_module("lightning.pytorch").Callback
    except ImportError:
        Callback = import_module("pytorch_lightning").Callback

__all__ = ["RankscopeCallback"]


class RankscopeCallback(Callback):
    """Profiles batches of training into `folder`. A step is a batch; options are those of `rankscope.torch.StepProfile`."""

    def __init__(self, folder: str | os.PathLike[str], **options: Any) -> None:
        super().__init__()
        self._profile = StepProfile(folder, **options)

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        self._profile.start()

    def on_train_batch_end(self, *args: Any, **kwargs: Any) -> None:
        self._profile.step()

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        self._profile.stop()

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        self._profile.stop()

"""For a training function of Ray Train: profiles a few steps on every worker.

Ray's callbacks run in its controller, not in the workers, so this is used in the training function, around its loop.
"""

from __future__ import annotations

import os
from typing import Any

from rankscope.torch import StepProfile

__all__ = ["profile"]


def profile(folder: str | os.PathLike[str], **options: Any) -> StepProfile:
    """`with profile(...) as p:` around the loop of `train_loop_per_worker`, and `p.step()` at the end of each step. `folder` has to be one that
    all nodes see; options are those of `rankscope.torch.StepProfile`."""
    from importlib import import_module

    context = import_module("ray.train").get_context()
    return StepProfile(folder, rank=context.get_world_rank(), world_size=context.get_world_size(), **options)

"""Gradients that DistributedDataParallel reduces. Its reducer starts them in C++, where `annotate` sees nothing; a communication hook starts
the same ones from Python, where it does.

The sums are the same to the last bit, because the hook does what the reducer does without one: it multiplies a bucket by one over the number
of ranks, and sums it up. Where that cannot be promised, no hook is set, and a warning says why.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from rankscope._recording.schedule import RecordingWarning


def follow(model: Any) -> bool:
    """Sets the hook on a model that is DistributedDataParallel; False where it is none, or where numbers could change."""
    from torch.nn.parallel import DistributedDataParallel

    if not isinstance(model, DistributedDataParallel):
        return False
    ranks = model.process_group.size()
    why = _refusal(model, ranks)
    if why is not None:
        warnings.warn(f"reductions of gradients are not recorded: {why}", RecordingWarning, stacklevel=4)
        return False
    model.register_comm_hook(None, _hook(model.process_group, ranks))
    return True


def _refusal(model: Any, ranks: int) -> str | None:
    if getattr(model, "_comm_hooks", ()):
        return "the model has a communication hook already, and torch takes one only"
    if getattr(model, "mixed_precision", None) is not None:
        return "with mixed_precision torch has a hook of its own"
    if model.gradient_as_bucket_view and ranks & (ranks - 1):
        # A gradient that lies in its bucket is divided there, and 1/3 has no end.
        return f"with gradient_as_bucket_view and {ranks} ranks the last bit of gradients could change"
    return None


def _hook(group: Any, ranks: int) -> Callable[[Any, Any], Any]:
    """What the reducer does without a hook."""

    def hook(state: Any, bucket: Any) -> Any:
        import torch.distributed as dist

        gradients = bucket.buffer()
        if gradients.is_sparse:
            gradients.div_(ranks)
        else:
            gradients.mul_(1.0 / ranks)
        # Looked up in each call: this is the function that `annotate` has put there, while it has.
        work = dist.all_reduce(gradients, group=group, async_op=True)
        return work.get_future().then(_first)

    # DistributedDataParallel wants its own types here, or none.
    hook.__annotations__ = {}
    return hook


def _first(future: Any) -> Any:
    return future.value()[0]

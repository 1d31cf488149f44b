"""Spans around modules, optimizers, data loaders and collectives, through rankscope's recorder and without a profiler.

Each is made once and entered again and again. Nothing is computed that the call does not compute itself: sizes are read off tensors, and no
tensor is touched. What C++ does by itself stays unseen; the all-reduces that DistributedDataParallel starts while it goes backward are seen
where a hook is asked for.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from typing import Any

from rankscope._errors import UsageError

# What they are called here, in Kineto's words, and which of their arguments hold what is sent and received, if there is such.
_COLLECTIVES: dict[str, tuple[str, str | None, str | None]] = {
    "all_reduce": ("allreduce", "tensor", "tensor"),
    "reduce": ("reduce", "tensor", "tensor"),
    "broadcast": ("broadcast", "tensor", "tensor"),
    "all_gather": ("allgather", "tensor", "tensor_list"),
    "all_gather_into_tensor": ("_allgather_base", "input_tensor", "output_tensor"),
    "reduce_scatter": ("reduce_scatter", "input_list", "output"),
    "reduce_scatter_tensor": ("_reduce_scatter_base", "input", "output"),
    "all_to_all": ("all_to_all", "input_tensor_list", "output_tensor_list"),
    "all_to_all_single": ("all_to_all", "input", "output"),
    "gather": ("gather", "tensor", "gather_list"),
    "scatter": ("scatter", "scatter_list", "tensor"),
    "barrier": ("barrier", None, None),
    "send": ("send", "tensor", None),
    "recv": ("recv", None, "tensor"),
    "isend": ("send", "tensor", None),
    "irecv": ("recv", None, "tensor"),
}


class Annotations:
    """What `annotate` put in place; `remove` takes it away again, also at the end of a `with`."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], Any]] = []

    def remove(self) -> None:
        """Takes everything away. Whatever was wrapped since by others stays wrapped."""
        while self._undo:
            self._undo.pop()()

    def __enter__(self) -> Annotations:
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()


def annotate(
    model: Any = None,
    optimizer: Any = None,
    dataloader: Any = None,
    *,
    depth: int = 2,
    collectives: bool = True,
    reductions: bool = False,
) -> Annotations:
    """Records calls of `model` and its modules down to `depth`, steps of `optimizer`, waiting for `dataloader`, and, with `collectives`,
    calls of torch.distributed with their groups, sizes and sequence numbers.

    They are recorded where a recording of rankscope runs, and cost next to nothing where none does.

    `reductions` sets a communication hook on a `model` that is DistributedDataParallel, so that the all-reduces of its gradients are such
    calls, too. Gradients stay the same to the last bit. torch takes one hook, for good: a script that sets its own does without this one.
    """
    import rankscope

    _ensure_recent()
    record_function: Any = rankscope.record_function
    placed = Annotations()
    if model is not None:
        _modules(model, depth, record_function, placed)
        if reductions:
            from rankscope.torch import _reductions

            _reductions.follow(model)
    for each in optimizer if isinstance(optimizer, (list, tuple)) else () if optimizer is None else (optimizer,):
        _optimizer(each, record_function, placed)
    if dataloader is not None:
        _loader(dataloader, record_function, placed)
    if collectives:
        _distributed(record_function, placed)
    return placed


def _ensure_recent() -> None:
    # Hooks around a step of an optimizer, and those that also run where a module fails, came with torch 2.0.
    version = getattr(sys.modules.get("torch"), "__version__", "")
    major = version.partition(".")[0]
    if major.isdecimal() and int(major) < 2:
        raise UsageError(f"annotate needs torch 2.0 or newer, and this is torch {version}")


def _modules(model: Any, depth: int, span_of: Callable[..., Any], placed: Annotations) -> None:
    for name, module in model.named_modules():
        if name.count(".") + bool(name) > depth:
            continue
        span = span_of(f"{type(module).__name__}: {name}" if name else type(module).__name__)
        begin, end = _ends(span)
        placed._undo.append(module.register_forward_pre_hook(begin).remove)
        # Also where forward fails, so that the span ends with the call.
        placed._undo.append(module.register_forward_hook(end, always_call=True).remove)


def _optimizer(optimizer: Any, span_of: Callable[..., Any], placed: Annotations) -> None:
    begin, end = _ends(span_of(f"{type(optimizer).__name__}.step"))
    placed._undo.append(optimizer.register_step_pre_hook(begin).remove)
    placed._undo.append(optimizer.register_step_post_hook(end).remove)


def _ends(span: Any) -> tuple[Callable[..., None], Callable[..., None]]:
    # What a hook returns would take the place of inputs and results.
    def begin(*_: Any) -> None:
        span.__enter__()

    def end(*_: Any) -> None:
        span.__exit__(None, None, None)

    return begin, end


def _loader(loader: Any, span_of: Callable[..., Any], placed: Annotations) -> None:
    kind = type(loader)
    span = span_of(f"{kind.__name__}.next")

    def __iter__(self: Any) -> Iterator[Any]:
        batches = kind.__iter__(self)
        while True:
            with span:
                try:
                    batch = next(batches)
                except StopIteration:
                    return
            yield batch

    # Python looks for __iter__ in the class, so this loader alone gets one of its own.
    loader.__class__ = type(kind.__name__, (kind,), {"__iter__": __iter__, "__module__": kind.__module__})

    def undo() -> None:
        loader.__class__ = kind

    placed._undo.append(undo)


def _distributed(span_of: Callable[..., Any], placed: Annotations) -> None:
    import torch.distributed as dist

    if not dist.is_available():
        return
    from torch.distributed import distributed_c10d

    groups = _Groups(dist)
    for name, (called, sent, received) in _COLLECTIVES.items():
        original = getattr(dist, name, None)
        if original is None:
            continue
        wrapped = _recorded(original, called, sent, received, span_of, groups)
        for module in (dist, distributed_c10d):
            if getattr(module, name, None) is original:
                setattr(module, name, wrapped)
                placed._undo.append(functools.partial(_put_back, module, name, wrapped, original))


def _put_back(module: Any, name: str, wrapped: Any, original: Any) -> None:
    if getattr(module, name, None) is wrapped:
        setattr(module, name, original)


def _recorded(
    original: Any, called: str, sent: str | None, received: str | None, span_of: Callable[..., Any], groups: _Groups
) -> Any:
    import inspect

    names = list(inspect.signature(original).parameters)
    title = f"torch.distributed:{called}"

    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            given = dict(zip(names, args), **kwargs)
            span = span_of(title, **_told(called, given, sent, received, groups))
        except Exception:
            # The call is the job's, and what it says of itself is not worth losing it.
            span = span_of(title)
        with span:
            return original(*args, **kwargs)

    return call


class _Groups:
    """What is said of each process group, looked up once, and how many of its calls there have been."""

    def __init__(self, dist: Any) -> None:
        self._dist = dist
        self._known: dict[str, tuple[int, dict[str, Any]]] = {}

    def called(self, group: Any) -> dict[str, Any]:
        group = group or self._dist.group.WORLD
        name = group.group_name
        known = self._known.get(name)
        # A name is given again when the groups have been destroyed.
        if known is None or known[0] != id(group):
            ranks = str(self._dist.get_process_group_ranks(group))
            about = {"Process Group Name": name, "Process Group Ranks": ranks, "Group size": group.size(), "Rank": group.rank(), "Seq": -1}
            known = self._known[name] = (id(group), about)
        known[1]["Seq"] += 1
        return known[1]


def _told(called: str, given: dict[str, Any], sent: str | None, received: str | None, groups: _Groups) -> dict[str, Any]:
    told: dict[str, Any] = {"Collective name": called, **groups.called(given.get("group"))}
    for key, argument in (("In msg nelems", sent), ("Out msg nelems", received)):
        tensors = given.get(argument) if argument else None
        tensors = tensors if isinstance(tensors, (list, tuple)) else [tensors] if tensors is not None else []
        if tensors:
            told[key] = sum(tensor.numel() for tensor in tensors)
            told.setdefault("dtype", str(tensors[0].dtype).removeprefix("torch."))
    return told

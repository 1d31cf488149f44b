"""What can be wrong. Texts are those of the command; every class is a `rankscope.Error`, and a `ValueError`, too."""

from rankscope._errors import Error


class DispatchError(Error, ValueError):
    """Something about a dispatch that cannot be done."""


class PlanError(DispatchError):
    """No plan can be made of this, or this is no plan."""


class DocumentsError(DispatchError):
    """These are no lengths of documents."""


class CaseError(DispatchError):
    """A function of DistCA's cannot answer to these inputs."""


class NetworkError(DispatchError):
    """This is no network."""


class MaskError(DispatchError):
    """Attention with a mask for which nothing is planned."""


def ensure_causal(mask: str) -> None:
    """Refuses every mask but the causal one, by its name and with the reason."""
    reason = _REFUSED.get(mask)
    if mask == "causal":
        return
    if reason is None:
        raise MaskError(f"no mask is called {mask!r}; plans are for 'causal'")
    raise MaskError(f"mask {mask!r}: {reason}")


_REFUSED = {
    "full": (
        "a query needs the keys after it, too, and a plan brings a task the keys of its document up to its own end. Only causal "
        "attention is planned"
    ),
    "window": (
        "a query needs the last keys only, and a plan brings and counts all of them. A causal plan is right for a kernel with a "
        "window, but it moves more than that needs, and balances work that is not done: if you want it, ask for mask='causal'"
    ),
}

"""What there is to compute, and where it lies before planning: lengths, sums or pieces become a layout of documents on ranks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from operator import index
from typing import Any

from rankscope._native import dispatch as _native
from rankscope.dispatch._arrays import plain
from rankscope.dispatch._errors import DocumentsError


def documents(lengths: Any, cu_seqlens: Any) -> str:
    """Lengths, or sums of them, as the reader of documents takes them."""
    if (lengths is None) == (cu_seqlens is None):
        raise DocumentsError("give either documents, or cu_seqlens, or shards")
    given = plain(lengths) if cu_seqlens is None else {"cu_seqlens": plain(cu_seqlens)}
    try:
        return json.dumps(given)
    except (TypeError, ValueError) as error:
        raise DocumentsError(f"these are no lengths of documents: {error}") from None


def laid_out(
    documents: str,
    rows: tuple[int, int, int, int],
    ranks: int | None,
    layout: str,
    cp: int | None,
    tokens_per_rank: int | None,
) -> _native.Plan:
    """Documents spread over ranks, each piece computed where it lies."""
    if layout == "even":
        if cp is not None:
            raise DocumentsError("`cp` is the degree of layout='zigzag'; other layouts have none")
        return _native.layout_documents(documents, rows, ranks, tokens_per_rank)
    if layout != "zigzag":
        raise DocumentsError(f"no layout is called {layout!r}; there are 'even', 'zigzag' and 'choose', and `shards` for any other")
    if tokens_per_rank is not None:
        raise DocumentsError("layout='zigzag' fills every rank alike: it takes no `tokens_per_rank`")
    degree = cp if cp is not None else ranks
    if degree is None:
        raise DocumentsError(
            "the number of ranks is missing: give `ranks`, or `cp` and a list of lengths for each group of so many"
        )
    whole = _native.layout_zigzag(documents, rows, degree)
    if ranks is not None and whole.world_size != ranks:
        groups = whole.world_size // degree
        raise DocumentsError(
            f"{groups} lists of documents for groups of {degree} ranks are {whole.world_size} ranks, not {ranks}"
        )
    return whole


def sharded(shards: Iterable[Iterable[Sequence[int]]], rows: tuple[int, int, int, int], ranks: int | None) -> _native.Plan:
    """The same of pieces that lie where somebody else put them."""
    documents = [[piece(one, 2) for one in document] for document in plain(shards)]
    if ranks is None:
        ranks = 1 + max((one[0] for document in documents for one in document), default=0)
    return _native.layout_shards(documents, rows, ranks)


def piece(given: Sequence[int], numbers: int) -> tuple[int, int, int]:
    """Rank that holds it, rank that computes it, tokens; of two numbers the rank does both."""
    if len(given) != numbers:
        what = "(rank, tokens)" if numbers == 2 else "(rank that holds it, rank that computes it, tokens)"
        raise DocumentsError(f"a piece of a document is {what}, and not {tuple(given)!r}")
    for number in given:
        if not 0 <= index(number) < 1 << 32:
            raise DocumentsError(f"{tuple(given)!r}: ranks and tokens are whole numbers from 0 on, below 2^32")
    return (given[0], given[0], given[1]) if numbers == 2 else (given[0], given[1], given[2])

"""Answers: documents with their tables, as `report` and the other functions give them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from os import PathLike, fspath
from types import SimpleNamespace
from typing import Any, NamedTuple

from rankscope import _html, _native
from rankscope._errors import UsageError
from rankscope._process import works_here
from rankscope._progress import Listener, listener
from rankscope._table import Table


class Note(NamedTuple):
    """A sentence for the reader."""

    level: str
    """`finding` is an answer, `problem` something wrong with the input, `caution` a limit of what can be said."""
    text: str
    """The sentence."""


class Tables(Mapping[str, Table]):
    """The tables of an answer, by their names; those inside rows are named by both keys, as `ranks.steps` is."""

    def __init__(self, native: _native.Answer) -> None:
        self._native = native

    def __getitem__(self, name: str) -> Table:
        try:
            return Table(self._native.table(name))
        except KeyError:
            hint = " It is made on request: tables=[...]." if self._native.is_made_on_request(name) else ""
            raise KeyError(f"there is no table {name!r} here.{hint} There are {', '.join(self)}") from None

    def __iter__(self) -> Iterator[str]:
        return iter([name for name, _ in self._native.table_sizes()])

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return f"<tables: {', '.join(self) or 'none'}>"


class Answer:
    """A document with its tables.

    `to_dict()` is the JSON that the command prints with `--format json`. What the document has under a key is also an attribute:
    `answer.clock.method`.
    """

    def __init__(self, native: _native.Answer) -> None:
        self._native = native
        self._attributes: dict[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """The document: dictionaries, lists, text and numbers. Its keys are described in the reference of formats."""
        return self._native.to_dict()

    @property
    def tables(self) -> Tables:
        """Its tables."""
        return Tables(self._native)

    def save(self, path: str | PathLike[str], *, progress: bool | Listener | None = None) -> None:
        """Writes it as the file that the suffix says: `.json` of any answer; `.txt`, `.html` and `.xlsx` of reports and comparisons; and
        `.pftrace`, for which the traces of a report are read again. The file appears whole or not at all.
        """
        works_here()
        self._native.save(fspath(path), listener(progress))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self._fields()[name]
        except KeyError:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}") from None

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self._fields()})

    def _fields(self) -> dict[str, Any]:
        if self._attributes is None:
            self._attributes = {key: _attributes(value) for key, value in self.to_dict().items()}
        return self._attributes

    def __str__(self) -> str:
        return self._native.text() or repr(self)

    def __repr__(self) -> str:
        return f"<rankscope.{type(self).__name__} {self._heading()!r}: {', '.join(self.tables) or 'no tables'}>"

    def _repr_html_(self) -> str:
        return _html.answer(self._heading(), self._native.text(), dict(self._native.table_sizes()))

    def _heading(self) -> str:
        return str(self._fields().get("title", type(self).__name__))


class Report(Answer):
    """Where the time of one run goes, who is late, and what would help."""

    @property
    def title(self) -> str:
        """What was reported on."""
        return str(self.__getattr__("title"))

    @property
    def world_size(self) -> int | None:
        """Ranks in the job, where any file says so."""
        size = self.__getattr__("world_size")
        return None if size is None else int(size)

    @property
    def missing_ranks(self) -> list[int]:
        """Ranks of the job that no file was given for."""
        return list(self.__getattr__("missing_ranks"))

    @property
    def notes(self) -> list[Note]:
        """What the reader should know, most important first."""
        return [Note(note.level, note.text) for note in self.__getattr__("notes")]

    @property
    def findings(self) -> list[str]:
        """The answers among the notes."""
        return [note.text for note in self.notes if note.level == "finding"]

    @property
    def ranks(self) -> Table:
        """A row for each rank, with its times by class."""
        return self.tables["ranks"]

    @property
    def steps(self) -> Table:
        """A row for each step of each rank."""
        return self.tables["ranks.steps"]

    @property
    def advice(self) -> Table | None:
        """What to do first, and what it saves; none where there is no advice."""
        return self.tables.get("advice")


class Comparison(Answer):
    """What changed between runs, by how much, and how sure that is."""

    @property
    def metrics(self) -> Table:
        """Every metric of the first test beside the base."""
        return self.tables["metrics"]

    @property
    def passed(self) -> bool:
        """Whether the gate passed. Without a policy there is none to pass, and this is a `UsageError`."""
        gate = self._fields().get("gate")
        if gate is None:
            raise UsageError("there is no gate: compare with policy=FILE")
        return bool(gate.passed)

    def _heading(self) -> str:
        return " / ".join(side.label for side in self._fields()["sides"])


class Alignment(Answer):
    """Where the clock of each rank is, how that is known, and how far it can be off."""


class Validation(Answer):
    """What in the traces cannot have happened, and what a viewer would lose."""

    @property
    def violations(self) -> int:
        """How much cannot have happened."""
        return int(self.__getattr__("violations"))

    @property
    def losses(self) -> int:
        """How much a viewer would leave out or draw wrongly."""
        return int(self.__getattr__("losses"))

    @property
    def ok(self) -> bool:
        """Whether nothing impossible was found."""
        return self.violations == 0


class WhatIf(Answer):
    """What a step would take if something were different."""

    @property
    def saved_ns(self) -> int:
        """What the changes save of a step."""
        return int(self.__getattr__("saved_ns"))


class ClockFit(Answer):
    """The clock difference of two hosts, window by window."""

    def __init__(self, native: _native.Answer, problems: list[str]) -> None:
        super().__init__(native)
        self.problems = problems
        """Lines of the log that could not be read."""

    @property
    def windows(self) -> Table:
        """The windows in order."""
        return self.tables["windows"]


def _attributes(value: Any) -> Any:
    """`value` with keys as attributes, as far as they can be."""
    if isinstance(value, dict):
        return SimpleNamespace(**{key: _attributes(inner) for key, inner in value.items()})
    if isinstance(value, list):
        return [_attributes(inner) for inner in value]
    return value

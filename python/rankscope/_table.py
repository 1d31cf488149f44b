"""Tables of documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankscope import _native

if TYPE_CHECKING:
    import pandas

_ROWS_SHOWN = 20


class Table:
    """A table, held as Arrow's columns.

    Anything that reads Arrow takes it, without copying: `pyarrow.table(t)`, `polars.DataFrame(t)`, `pandas.DataFrame.from_arrow(t)`, and DuckDB
    by the name of a variable. Times are integer nanoseconds.
    """

    __slots__ = ("_native",)

    def __init__(self, native: _native.Table) -> None:
        self._native = native

    @property
    def name(self) -> str:
        """Its name in the document."""
        return self._native.name

    @property
    def column_names(self) -> list[str]:
        """Names of the columns, in order."""
        return self._native.column_names

    def __len__(self) -> int:
        return len(self._native)

    def __arrow_c_schema__(self) -> object:
        return self._native.__arrow_c_schema__()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._native.__arrow_c_stream__(requested_schema)

    def to_dict(self) -> dict[str, list[Any]]:
        """The columns as lists, by their names."""
        return self._native.to_dict()

    def to_pandas(self) -> pandas.DataFrame:
        """A DataFrame. Integers of which some are missing are of the type Int64, so that nanoseconds stay whole."""
        import pandas

        columns = self._native.to_dict()
        kinds = dict(zip(self.column_names, self._native.column_types))
        frame = {}
        for name, values in columns.items():
            if kinds[name] in ("Int64", "UInt64"):
                dtype = kinds[name] if None in values else kinds[name].lower()
                frame[name] = pandas.array(values, dtype=dtype)
            else:
                frame[name] = pandas.Series(values, dtype="float64" if kinds[name] == "Float64" else None)
        return pandas.DataFrame(frame, columns=self.column_names)

    def __repr__(self) -> str:
        return f"<rankscope.Table {self.name!r}: {len(self)} rows, columns {', '.join(self.column_names)}>"

    def _repr_html_(self) -> str:
        from rankscope._html import table

        return table(self.name, self._native.head(_ROWS_SHOWN), len(self))

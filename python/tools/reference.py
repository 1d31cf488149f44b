"""Writes docs/reference/python.md out of the documentation of what the package exports.

`python python/tools/reference.py --write` brings the page up to date; a test compares it.
"""

import inspect
import re
import sys
from pathlib import Path
from types import ModuleType

import rankscope

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "python.md"

HEAD = """# Analysis in Python

Generated from the documentation in the package by `python python/tools/reference.py --write`; [the tutorial](../tutorial/python.md) is the way
in. Options have the names and defaults of [the command's](cli.md).
"""


# Modules whose names are on the page, and parts of the package that have a section. Others add theirs.
HOMES = ("rankscope._analysis", "rankscope._answers", "rankscope._errors", "rankscope._table")
PARTS = ("clock",)


def page() -> str:
    """The whole page."""
    names = [name for name, home in rankscope._HOMES.items() if home in HOMES]
    entries = [HEAD, *of(rankscope, names)]
    for part in PARTS:
        module = getattr(rankscope, part)
        entries.append(f"## {module.__name__}\n\n{text(module)}\n")
        entries.extend(of(module, sorted(module.__all__)))
    return "\n".join(entries)


def of(module: ModuleType, names: list[str]) -> list[str]:
    """Functions first, then classes, then exceptions."""

    def order(name: str) -> tuple[int, str]:
        value = getattr(module, name)
        is_error = inspect.isclass(value) and issubclass(value, BaseException)
        return (2 if is_error else int(inspect.isclass(value)), name)

    return [entry(f"{module.__name__}.{name}", getattr(module, name)) for name in sorted(names, key=order)]


def entry(name: str, value: object) -> str:
    """A function with its options, or a class with its members."""
    if not inspect.isclass(value):
        return f"### {name}\n\n```python\n{name}{signature(value)}\n```\n\n{text(value)}\n"
    parents = ", ".join(base.__name__ for base in value.__bases__ if base is not object)
    head = f"### {name}{f' ({parents})' if parents else ''}\n\n{text(value)}\n"
    members = [member(key, inner) for key, inner in vars(value).items() if not key.startswith("_")]
    listed = "".join(line for line in members if line)
    return f"{head}\n{listed}" if listed else head


def member(name: str, value: object) -> str:
    """A line for a property or a method."""
    if isinstance(value, property):
        return f"- `.{name}`: {flat(value)}\n"
    if inspect.isfunction(value):
        return f"- `.{name}{' '.join(signature(value).split()).replace('(self, ', '(').replace('(self)', '()').replace('( ', '(')}`: {flat(value)}\n"
    return ""


def signature(value: object) -> str:
    """The options, one a line where they are many."""
    try:
        whole = inspect.signature(value)
    except (TypeError, ValueError):
        return "(...)"
    words, is_keyword_only = [], False
    for each in whole.parameters.values():
        if each.kind is each.KEYWORD_ONLY and not is_keyword_only:
            is_keyword_only = True
            if not any(word.startswith("*") for word in words):
                words.append("*")
        words.append(option(each))
    answer = "" if whole.return_annotation is whole.empty else f" -> {annotation(whole.return_annotation)}"
    short = f"({', '.join(words)}){answer}"
    return short if len(short) < 100 else "(\n    " + ",\n    ".join(words) + f",\n){answer}"


def option(parameter: inspect.Parameter) -> str:
    stars = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
    kind = "" if parameter.annotation is parameter.empty else f": {annotation(parameter.annotation)}"
    if parameter.default is parameter.empty:
        return f"{stars}{parameter.name}{kind}"
    return f"{stars}{parameter.name}{kind}{' = ' if kind else '='}{parameter.default!r}"


def annotation(of: object) -> str:
    """As written, where it was text."""
    return (of if isinstance(of, str) else inspect.formatannotation(of)).strip('"')


def text(value: object) -> str:
    """Its documentation as Markdown; arguments are a list."""
    lines, listed = [], False
    for line in (inspect.getdoc(value) or "").splitlines():
        if line in ("Args:", "Raises:"):
            listed = True
            lines.append("Arguments:\n" if line == "Args:" else "Raises:\n")
        elif listed and (found := re.match(r"    ([\w, ]+): (.*)", line)):
            names = ", ".join(f"`{name}`" for name in found[1].split(", "))
            lines.append(f"- {names}: {found[2]}")
        elif listed and line.startswith("        "):
            lines[-1] += f" {line.strip()}"
        else:
            lines.append(line)
    return "\n".join(lines)


def flat(value: object) -> str:
    return " ".join(text(value).split())


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(page(), encoding="utf-8")
    else:
        sys.stdout.write(page())

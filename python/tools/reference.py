"""Writes docs/reference/python.md out of the documentation of what the package exports.

`python python/tools/reference.py --write` brings the page up to date; a test compares it.
"""

import ast
import inspect
import re
import sys
import textwrap
from pathlib import Path
from types import ModuleType

import rankscope

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "python.md"

HEAD = """# Python reference

Generated from the documentation in the package by `python python/tools/reference.py --write`; [the tutorial](../tutorial/python.md) is the way
in. Options have the names and defaults of [the command's](cli.md).
"""

# Sections, and the modules whose names are in them.
SECTIONS = {
    "Analysis": ("rankscope._analysis", "rankscope._answers", "rankscope._table"),
    "Recording": (
        "rankscope._native",
        "rankscope._recording.flow",
        "rankscope._recording.functions",
        "rankscope._recording.memory",
        "rankscope._recording.profile",
        "rankscope._recording.schedule",
    ),
    "Clocks of a running job": ("rankscope._rendezvous",),
    "Exceptions": ("rankscope._errors",),
}
# Parts of the package that have a section. What needs a framework to be imported is not among them.
PARTS = ("clock", "dispatch", "torch", "jax")
# Classes that programs make themselves; of others only their members are shown.
MADE = ("profile", "schedule", "flow", "PythonFunctions", "PythonMemory", "StepProfile")


def page() -> str:
    """The whole page."""
    entries = [HEAD]
    for title, homes in SECTIONS.items():
        entries.append(f"## {title}\n")
        entries.extend(of(rankscope, [name for name, home in rankscope._HOMES.items() if home in homes]))
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
    called = f"```python\n{name}{signature(value)}\n```\n\n"
    if not inspect.isclass(value):
        return f"### {name}\n\n{called}{text(value)}\n"
    parents = ", ".join(base.__name__ for base in value.__bases__ if base is not object)
    made = called if value.__name__ in MADE else ""
    head = f"### {name}{f' ({parents})' if parents else ''}\n\n{made}{text(value)}\n"
    inner = vars(value).items()
    # Those of native classes are in another order in each process.
    inner = sorted(inner) if is_native(value) else inner
    members = [*fields(value), *(member(key, one) for key, one in inner if not key.startswith("_"))]
    listed = "".join(line for line in members if line)
    return f"{head}\n{listed}" if listed else head


def is_native(value: type) -> bool:
    """Whether there is no source of it."""
    return any(inspect.isgetsetdescriptor(one) or inspect.ismethoddescriptor(one) for one in vars(value).values()) and not any(
        inspect.isfunction(one) for one in vars(value).values()
    )


def fields(value: type) -> list[str]:
    """What the source says below each field. Python itself forgets it."""
    if is_native(value):
        return []
    body = ast.parse(textwrap.dedent(inspect.getsource(value))).body[0].body
    lines = []
    for one, after in zip(body, [*body[1:], None]):
        if isinstance(one, ast.AnnAssign):
            name = ast.unparse(one.target)
        elif isinstance(one, ast.Assign) and isinstance(after, ast.Expr):
            name = ast.unparse(one.targets[0])
        else:
            continue
        said = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else None
        if not name.startswith("_") and isinstance(said, str):
            lines.append(f"- `.{name}`: {' '.join(said.split())}\n")
    return lines


def member(name: str, value: object) -> str:
    """A line for a property or a method."""
    value = value.__func__ if isinstance(value, staticmethod) else value
    if isinstance(value, property) or inspect.isgetsetdescriptor(value):
        return f"- `.{name}`: {flat(value)}\n"
    if inspect.isfunction(value) or inspect.ismethoddescriptor(value):
        return f"- `.{name}{flat_signature(value)}`: {flat(value)}\n"
    return ""


def flat_signature(value: object) -> str:
    words = " ".join(signature(value).split()).replace("( ", "(").replace(", )", ")")
    return re.sub(r"\(self(, (/, )?|, /)?", "(", words, count=1).replace("(/)", "()")


def signature(value: object) -> str:
    """The options, one a line where they are many."""
    try:
        whole = inspect.signature(value)
    except (TypeError, ValueError):
        return "(...)"
    words, is_keyword_only, is_positional = [], False, False
    for each in whole.parameters.values():
        if is_positional and each.kind is not each.POSITIONAL_ONLY:
            words.append("/")
        is_positional = each.kind is each.POSITIONAL_ONLY
        if each.kind is each.KEYWORD_ONLY and not is_keyword_only:
            is_keyword_only = True
            if not any(word.startswith("*") for word in words):
                words.append("*")
        words.append(option(each))
    if is_positional:
        words.append("/")
    is_class = inspect.isclass(value)
    answer = "" if is_class or whole.return_annotation is whole.empty else f" -> {annotation(whole.return_annotation)}"
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

"""What the pages about Python show, works; the reference is what the package says of itself."""

import ast
import importlib.util
import re
from pathlib import Path

import pytest

import rankscope

ROOT = Path(__file__).parents[3]


def blocks(page):
    """The Python of a page, and what each block imports."""
    for found in re.finditer(r"```python\n(.*?)```", page, re.DOTALL):
        imports = [node for node in ast.walk(ast.parse(found[1])) if isinstance(node, ast.Import)]
        yield [alias.name for node in imports for alias in node.names], found[1]


def test_the_tutorial_runs_from_top_to_bottom(tmp_path, monkeypatch):
    (tmp_path / "fixtures").symlink_to(ROOT / "fixtures")
    monkeypatch.chdir(tmp_path)
    names, ran = {}, 0
    for needs, code in blocks((ROOT / "docs/tutorial/python.md").read_text()):
        if all(importlib.util.find_spec(need) for need in needs):
            exec(compile(code, "docs/tutorial/python.md", "exec"), names)
            ran += 1
    assert ran >= 7
    assert {"report.html", "report.xlsx", "report.json", "all.pftrace"} <= {file.name for file in tmp_path.iterdir()}


def test_the_notebook_runs(tmp_path):
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    notebook = nbformat.read(ROOT / "examples" / "report.ipynb", as_version=4)
    assert not any(cell.get("outputs") for cell in notebook.cells), "kept without outputs, so that its changes can be read"
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(ROOT)}}).execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert any("text/html" in output.get("data", {}) for output in shown)


def reference():
    spec = importlib.util.spec_from_file_location("reference", ROOT / "python/tools/reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reference_is_what_the_package_says_of_itself():
    tool = reference()
    up_to_date = tool.PAGE.read_text() == tool.page()
    assert up_to_date, "docs/reference/python.md is out of date: run python python/tools/reference.py --write"


def test_the_reference_has_every_public_name_and_a_text_of_each():
    tool = reference()
    entries = dict(re.findall(r"^### ([\w.]+)[^\n]*\n(.*?)(?=^##|\Z)", tool.page(), re.DOTALL | re.MULTILINE))
    public = {f"rankscope.{name}" for name in rankscope._HOMES}
    public |= {f"rankscope.{part}.{name}" for part in tool.PARTS for name in getattr(rankscope, part).__all__}
    assert set(entries) == public
    bare = re.compile(r"```python.*?```|^- `[^`]+`: *$", re.DOTALL | re.MULTILINE)
    assert not [name for name, entry in entries.items() if not bare.sub("", entry).strip()]
    assert not re.findall(r"^- `[^`]+`: *$", tool.page(), re.MULTILINE), "a member without a text"

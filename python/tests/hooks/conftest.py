"""Frameworks that these tests are about, where they are installed."""

import importlib

import pytest


@pytest.fixture
def torch():
    return pytest.importorskip("torch", reason="torch is not installed")


@pytest.fixture
def recorded(monkeypatch):
    """What is recorded through rankscope's recorder, as a list of names and arguments; a span's end is its name alone."""
    events = []

    class Span:
        def __init__(self, name, args=None, /, **arguments):
            self.name, self.arguments = name, arguments

        def __enter__(self):
            events.append((self.name, self.arguments))
            return self

        def __exit__(self, *error):
            events.append(self.name)

    monkeypatch.setattr(importlib.import_module("rankscope"), "record_function", Span, raising=False)
    return events

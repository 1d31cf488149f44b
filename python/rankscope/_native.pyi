from rankscope.dispatch import _native as dispatch

__all__ = ["dispatch"]

__version__: str

def command(words: list[str], started_by: list[str]) -> int: ...

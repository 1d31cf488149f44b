from rankscope.dispatch import _native as dispatch

__all__ = ["dispatch"]

__version__: str

def command(words: list[str], started_by: list[str]) -> int: ...

class ClockAgent:
    def __init__(self, store: object, settings: list[tuple[str, str]]) -> None: ...
    def stop(self) -> None: ...

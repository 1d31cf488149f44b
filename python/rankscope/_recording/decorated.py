"""Functions that record themselves: what `record_function("name")` makes of the function below it.

A plain function stays a plain function, so that methods, pickling and signatures work as before. What runs in turns with others
(coroutines, generators) is not one span but a slice each time that it runs.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncGenerator, Callable, Generator
from typing import Any

from rankscope._native import Span, Work, end_call

Function = Callable[..., Any]


def decorated(span: Span, function: Function) -> Function:
    if isinstance(function, (staticmethod, classmethod)):
        return type(function)(decorated(span, function.__func__))
    if not callable(function):
        raise TypeError(f"record_function({span.name!r}) decorates functions, not {type(function).__name__}")
    if isinstance(function, type):
        raise TypeError(f"record_function({span.name!r}) decorates functions; put it on a method of class {function.__name__}")
    if inspect.iscoroutinefunction(function):
        return _coroutine(span, function)
    if inspect.isasyncgenfunction(function):
        return _asynchronous_generator(span, function)
    if inspect.isgeneratorfunction(function):
        return _generator(span, function)
    return _plain(span, function)


def _plain(span: Span, function: Function) -> Function:
    begin, end = span.begin_call, end_call

    @functools.wraps(function)
    def recorded(*args: Any, **kwargs: Any) -> Any:
        begun = begin()
        try:
            result = function(*args, **kwargs)
        except BaseException as error:
            end(begun, error)
            raise
        end(begun)
        return result

    return recorded


def _coroutine(span: Span, function: Function) -> Function:
    @functools.wraps(function)
    async def recorded(*args: Any, **kwargs: Any) -> Any:
        return await Work(span, function(*args, **kwargs))

    return recorded


def _generator(span: Span, function: Function) -> Function:
    @functools.wraps(function)
    def recorded(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
        return (yield from Work(span, function(*args, **kwargs)))

    return recorded


def _asynchronous_generator(span: Span, function: Function) -> Function:
    @functools.wraps(function)
    async def recorded(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, Any]:
        inner = function(*args, **kwargs)
        step = inner.asend(None)
        try:
            while True:
                try:
                    item = await Work(span, step)
                except StopAsyncIteration:
                    return
                try:
                    step = inner.asend((yield item))
                except GeneratorExit:
                    raise
                except BaseException as error:
                    step = inner.athrow(error)
        finally:
            await inner.aclose()

    return recorded

"""Progress of long work, told to whoever listens; nobody listens unless the command line or a caller asks.

>>> from tamiz import progress
>>> told = []
>>> with progress.listening(lambda label, done, total: told.append((label, done, total))):
...     for row in progress.track("rows", range(2), total=2):
...         pass
>>> told
[('rows', 0, 2), ('rows', 1, 2), ('rows', 2, 2)]
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias, TypeVar

Listener: TypeAlias = "Callable[[str, int, int | None], None]"
Item = TypeVar("Item")

_listener: ContextVar[Listener | None] = ContextVar("tamiz_listener", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Call `listener(label, done, total)` as work inside goes on; `total` is None where nobody can know it."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def tell(label: str, done: int, total: int | None = None) -> None:
    """Say how far the work named `label` has come."""
    listener = _listener.get()
    if listener is not None:
        listener(label, done, total)


def track(label: str, items: Iterable[Item], total: int | None = None) -> Iterator[Item]:
    """Yield the items, telling how many are done."""
    tell(label, 0, total)
    for done, item in enumerate(items, start=1):
        yield item
        tell(label, done, total)

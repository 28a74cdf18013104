"""Repeated searches of an assessment, such as one in every fold: with progress, warnings, and errors that name the search."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from itertools import chain, islice
from typing import TypeVar

import numpy as np
from sklearn import config_context, get_config

from tamiz.arrays import Masks
from tamiz.assessment.selector_adapters import SelectorAdapter
from tamiz.exceptions import DataError
from tamiz.models.folds import Folds
from tamiz.runtime import parallel, progress
from tamiz.runtime.user_warnings import capture_warnings
from tamiz.runtime.verdicts import Verdict
from tamiz.table.base import Table
from tamiz.table.views import as_training_table, select_rows

ItemType = TypeVar("ItemType")
OutputType = TypeVar("OutputType")

# Tables up to this size are searched on one thread. Much of such a search is Python code under the GIL, where threads slow each
# other down: 1,000 x 20 takes 1.4 s on one thread and 2.7 s on two, 2,600 x 500 takes 4.2 s and 5.7 s. A merit that needs at least
# `_HIGH_COST` microseconds per set uses several threads for any table.
_SMALL_BYTES = 2**26
_HIGH_COST = 1000.0


def select_in_folds(selector: SelectorAdapter, table: Table, folds: Folds) -> tuple[Masks, list[list[Verdict]]]:
    """Return the columns selected on the training rows of every fold, of shape (n_folds, n_columns), and the messages of each."""
    results = run_with_progress(
        "Folds",
        table,
        lambda at: selector.select(as_training_table(select_rows(table, folds[at].train)), folds.seeds[at]).support,
        range(len(folds)),
        lambda at: f"Fold {at + 1} of {len(folds)}",
        evaluation_cost=selector.evaluation_cost,
    )
    return np.stack([support for support, _ in results]), [messages for _, messages in results]


def run_with_progress(
    label: str,
    table: Table,
    work: Callable[[ItemType], OutputType],
    items: Sequence[ItemType],
    item_name: Callable[[int], str],
    *,
    evaluation_cost: float,
    side_by_side: bool = False,
) -> list[tuple[OutputType, list[Verdict]]]:
    """Return the result of the work for every item, with its warnings; errors name the item.

    `evaluation_cost` is the approximate number of microseconds per column set. `side_by_side` means that most of the work is in
    kernels, without the interpreter lock: items then run in the threads of the session, each on one thread.
    """
    n_bytes = 8 * table.schema.n_rows * max(len(table.schema.used), 1)
    use_threads = n_bytes > _SMALL_BYTES or evaluation_cost >= _HIGH_COST
    # scikit-learn's configuration is local to this thread.
    config = get_config()

    def run(numbered: tuple[int, ItemType]) -> tuple[OutputType, list[Verdict]]:
        at, item = numbered
        # The progress of the work itself is not shown, only the number of finished items.
        with (
            nullcontext() if use_threads else parallel.single_threaded(),
            config_context(**config),
            progress.use_listener(None),
            capture_warnings() as messages,
            _error_context(item_name(at)),
        ):
            return work(item), messages

    numbered = enumerate(items)
    # Side by side, the first one still runs alone, so that the time limit of its search is not shared.
    results: Iterator[tuple[OutputType, list[Verdict]]] = map(run, numbered)
    if side_by_side and not use_threads:
        results = chain(map(run, islice(numbered, 1)), parallel.map_blocks(run, numbered))
    return list(progress.track_progress(label, results, total=len(items)))


@contextmanager
def _error_context(where: str) -> Iterator[None]:
    """Prefix an error with where it occurred."""
    try:
        yield
    except MemoryError as error:
        raise MemoryError(f"{where}: {error}") from error
    except TypeError as error:
        raise TypeError(f"{where}: {error}") from error
    except ValueError as error:
        raise DataError(f"{where}: {error}") from error
    except Exception as error:
        raise RuntimeError(f"{where}: {type(error).__name__}: {error}") from error

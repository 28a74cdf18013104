"""Which way an estimator takes."""

from __future__ import annotations

from tamiz.wrappers.base import Task, Way
from tamiz.wrappers.likelihoods import of_joint
from tamiz.wrappers.measures import of_counts, of_squares
from tamiz.wrappers.refits import Refits


def way_of(task: Task) -> tuple[Way, str]:
    """Return the way, and in words what is done and why."""
    # Here and not above: the package that lists the ways is imported by their modules.
    from tamiz.wrappers import registry

    entry = next((entry for entry in registry.of_kind("way") if entry.name == task.name), None)
    if entry is None:
        return Refits(task), f"{task.name} is refitted for every set and fold: it has no fast way."
    kind: type[Way] = entry.load()
    if kind.kind is not type(task.estimator):
        return Refits(task), f"{task.name} is refitted for every set and fold: it is no {entry.name} of scikit-learn's."
    if not task.scoring.reads_predictions:
        return Refits(task), f"{task.name} is refitted for every set and fold: {task.scoring.name} may read anything."
    if (why := kind.declines(task)) is not None:
        return Refits(task), f"{task.name} is refitted for every set and fold: {why}."
    if not (of_counts(task) or of_squares(task) or (kind.knows_likelihoods and of_joint(task))):
        name = task.scoring.name.replace("_", " ")
        return kind(task), f"{task.name} is asked anew for every set and fold: its {name} is no sum."
    return kind(task), f"{task.name} is not refitted: {kind.how}."

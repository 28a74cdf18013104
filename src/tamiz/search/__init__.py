"""How to walk through sets of columns. A search proposes; it neither scores, nor stops, nor keeps books."""

from tamiz.registry import Registry

registry = Registry(
    __name__,
    """
    forward      forward:Forward       search    Forward selection
    backward     backward:Backward     search    Backward elimination
    best_first   best_first:BestFirst  search    Best-first search
    evaluations  stopping:Evaluations  stopping  A number of evaluations
    seconds      stopping:Seconds      stopping  A time
    stale        stopping:Stale        stopping  Steps without a gain
    min_gain     stopping:MinGain      stopping  A gain too small
    target       stopping:Target       stopping  A merit reached
    """,
)

__getattr__, __dir__, __all__ = registry.lazy_module()

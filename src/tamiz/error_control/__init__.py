"""Selections with error control: all-relevant selection, knockoffs, stability selection."""

from tamiz.runtime.registry import Registry

registry = Registry(
    __name__,
    """
    knockoffs          gaussian_knockoffs:knockoffs        function  Gaussian knockoffs of the columns of a table
    knockoff_selector  knockoff_selector:KnockoffSelector  selector  Knockoff filter
    """,
)

__getattr__, __dir__, __all__ = registry.lazy_module()

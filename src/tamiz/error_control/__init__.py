"""Selections with error control: all-relevant selection, knockoffs, stability selection."""

from tamiz.runtime.registry import Registry

registry = Registry(
    __name__,
    """
    boruta     boruta:BorutaSelector        selector  All relevant columns by comparison with permuted copies
    stability  stability:StabilitySelector  selector  Columns that most halves of the rows select
    knockoffs          gaussian_knockoffs:knockoffs        function  Gaussian knockoffs of the columns of a table
    knockoff_selector  knockoff_selector:KnockoffSelector  selector  Knockoff filter
    """,
)

__getattr__, __dir__, __all__ = registry.lazy_module()

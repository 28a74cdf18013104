"""Attribute selection and dimensionality reduction of tables."""

from tamiz.registry import Registry

__version__ = "0.1.0"

registry = Registry(
    __name__,
    """
    MixedNB           wrappers.mixed_nb:MixedNB    estimator  Naive Bayes on mixed columns
    RankSelector      selection:RankSelector       selector  Columns ranked one by one
    SubsetSelector    selection:SubsetSelector     selector  Columns chosen together
    SizeSearchCV      size_search:SizeSearchCV     selector  As many columns as cross-validation says
    load              storage.file:load            function  A model, graph or selection read from a file
    open_source       sources:open_source          function  A table opened
    save              storage.file:save            function  A model, graph or selection written to a file
    selection_report  assessment:selection_report  function  How far the score of a selection can be trusted
    show_progress     progress:show_progress       function  Progress of long work, shown
    study             _study:study                 function  A table studied
    """,
)

__getattr__, __dir__, __all__ = registry.lazy_module()

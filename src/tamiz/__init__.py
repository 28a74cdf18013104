"""Feature selection and dimensionality reduction of tables."""

from tamiz.runtime.registry import Registry

__version__ = "0.1.0"

registry = Registry(
    __name__,
    """
    MixedNB           models.mixed_nb:MixedNB                       estimator  Naive Bayes on mixed columns
    RankSelector      selection.rank_selector:RankSelector          selector   Columns ranked by one criterion
    SubsetSelector    selection.subset_selector:SubsetSelector      selector   Subset of columns by a merit and a search
    SizeSearchCV      selection.size_search:SizeSearchCV            selector   Number of columns chosen by cross-validation
    RedundancyFilter  selection.redundancy_filter:RedundancyFilter  selector   Columns that are not determined by other columns
    compare_tables    drift.tables:compare_tables                   function   Comparison of a new table with a known one
    load              storage.file:load                             function   Model, graph or selection read from a file
    rank              assessment.column_ranking:rank                function   Ranking of the columns one by one
    compare           comparison.maps:compare                       function   Comparison of several maps of the rows
    open_table        table:open_table                              function   Table opened from a file, an array or a data frame
    register_onnx_converters  onnx_converters:register_onnx_converters  function  Converters to ONNX, registered with skl2onnx
    save              storage.file:save                             function   Model, graph or selection written to a file
    selection_report  assessment:selection_report                   function   Apparent and nested score of a selection
    skops_trusted_types  storage.records:skops_trusted_types      function   Types that skops may create when it reads estimators
    show_progress     runtime.progress:show_progress                function   Progress of long computations
    study             _study.study:study                            function   Study of a table
    """,
)

__getattr__, __dir__, __all__ = registry.lazy_module()

"""Table sources: arrays, sparse matrices, data frames and files, all read through the interface of `Source`."""

from __future__ import annotations

from tamiz.runtime.registry import Registry

registry = Registry(
    __name__,
    """
    open_source  factory:open_source     function  Open a table
    split_dates  date_parts:split_dates  function  Split dates into year, month, weekday and hour
    as_source    factory:as_source       function  Convert the arguments of fit to a source
    Source       base:Source             base      Base class of table sources
    csv          csv_reader:open_csv     file      Comma separated values
    tsv          csv_reader:open_csv     file      Tab separated values
    txt          csv_reader:open_csv     file      Separated values
    parquet      parquet:open_parquet    file      Parquet
    arrow        parquet:open_arrow      file      Arrow IPC
    feather      parquet:open_arrow      file      Feather
    arff         arff:open_arff          file      Weka's attribute relation file format
    """,
)

__getattr__, __dir__, __all__ = registry.lazy_module()

"""Where rows come from: arrays, data frames and files, each turned into one kind of table."""

from __future__ import annotations

from tamiz.runtime.registry import Registry

registry = Registry(
    __name__,
    """
    open_source  factory:open_source     function  A table opened
    split_dates  date_parts:split_dates  function  Dates as year, month, weekday and hour
    as_source    factory:as_source       function  Rows and target as fit takes them
    Source       base:Source             base      Where rows come from
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

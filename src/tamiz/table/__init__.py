"""Tables: arrays, sparse matrices, data frames and files, all read through the interface of `Table`."""

from __future__ import annotations

from tamiz.runtime.registry import Registry

registry = Registry(
    __name__,
    """
    open_table   factory:open_table      function  Open a table
    split_dates  date_parts:split_dates  function  Split dates into year, month, weekday and hour
    add_missing_level  views:add_missing_level  function  Give columns of one value a level for missing values
    as_table     factory:as_table        function  Convert the arguments of fit to a `Table`
    Table        base:Table              base      Base class of tables
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

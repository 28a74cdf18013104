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
    excel        other_files:open_excel  file      Spreadsheets: xlsx, xlsm, xlsb, xls, ods
    json         other_files:open_json   file      JSON: a list of records, or one on each line
    npy          other_files:open_npy    file      Array of numpy
    npz          other_files:open_npz    file      Arrays of numpy
    mat          other_files:open_mat    file      MATLAB
    stata        other_files:open_stata  file      Stata
    sas          other_files:open_sas    file      SAS
    xport        other_files:open_xport  file      SAS transport
    spss         other_files:open_spss   file      SPSS
    sqlite       other_files:open_sqlite  file     SQLite
    duckdb       other_files:open_duckdb  file     DuckDB
    """,
)

__getattr__, __dir__, __all__ = registry.lazy_module()

from tamiz.runtime.registry import Registry
from tamiz.table.arff import open_arff as open_arff
from tamiz.table.base import Table as Table
from tamiz.table.csv_reader import open_csv as open_csv
from tamiz.table.csv_reader import open_csv as open_csv
from tamiz.table.csv_reader import open_csv as open_csv
from tamiz.table.date_parts import split_dates as split_dates
from tamiz.table.factory import as_table as as_table
from tamiz.table.factory import open_table as open_table
from tamiz.table.other_files import open_duckdb as open_duckdb
from tamiz.table.other_files import open_excel as open_excel
from tamiz.table.other_files import open_json as open_json
from tamiz.table.other_files import open_mat as open_mat
from tamiz.table.other_files import open_npy as open_npy
from tamiz.table.other_files import open_npz as open_npz
from tamiz.table.other_files import open_sas as open_sas
from tamiz.table.other_files import open_spss as open_spss
from tamiz.table.other_files import open_sqlite as open_sqlite
from tamiz.table.other_files import open_stata as open_stata
from tamiz.table.other_files import open_xport as open_xport
from tamiz.table.parquet import open_arrow as open_arrow
from tamiz.table.parquet import open_arrow as open_arrow
from tamiz.table.parquet import open_parquet as open_parquet
from tamiz.table.views import add_missing_level as add_missing_level

registry: Registry

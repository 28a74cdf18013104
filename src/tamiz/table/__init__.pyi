from tamiz.runtime.registry import Registry
from tamiz.table.arff import open_arff as open_arff
from tamiz.table.base import Table as Table
from tamiz.table.csv_reader import open_csv as open_csv
from tamiz.table.csv_reader import open_csv as open_csv
from tamiz.table.csv_reader import open_csv as open_csv
from tamiz.table.date_parts import split_dates as split_dates
from tamiz.table.factory import as_table as as_table
from tamiz.table.factory import open_table as open_table
from tamiz.table.parquet import open_arrow as open_arrow
from tamiz.table.parquet import open_arrow as open_arrow
from tamiz.table.parquet import open_parquet as open_parquet
from tamiz.table.views import add_missing_level as add_missing_level

registry: Registry

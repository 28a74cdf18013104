from tamiz.runtime.registry import Registry
from tamiz.sources.arff import open_arff as open_arff
from tamiz.sources.base import Source as Source
from tamiz.sources.csv_reader import open_csv as open_csv
from tamiz.sources.csv_reader import open_csv as open_csv
from tamiz.sources.csv_reader import open_csv as open_csv
from tamiz.sources.date_parts import split_dates as split_dates
from tamiz.sources.factory import as_source as as_source
from tamiz.sources.factory import open_source as open_source
from tamiz.sources.parquet import open_arrow as open_arrow
from tamiz.sources.parquet import open_arrow as open_arrow
from tamiz.sources.parquet import open_parquet as open_parquet

registry: Registry

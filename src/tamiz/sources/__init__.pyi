from tamiz.registry import Registry
from tamiz.sources.arff import open_arff as open_arff
from tamiz.sources.base import Source as Source
from tamiz.sources.date_parts import split_dates as split_dates
from tamiz.sources.open import as_source as as_source
from tamiz.sources.open import open_source as open_source
from tamiz.sources.parquet import open_arrow as open_arrow
from tamiz.sources.parquet import open_arrow as open_arrow
from tamiz.sources.parquet import open_parquet as open_parquet
from tamiz.sources.text import open_csv as open_csv
from tamiz.sources.text import open_csv as open_csv
from tamiz.sources.text import open_csv as open_csv

registry: Registry

from tamiz.runtime.registry import Registry
from tamiz.report.assessment import collect_assessment as collect_assessment
from tamiz.report.columns import collect_columns as collect_columns
from tamiz.report.maps import collect_graph as collect_graph
from tamiz.report.maps import collect_maps as collect_maps
from tamiz.report.noise_experiment import collect_noise_experiment as collect_noise_experiment
from tamiz.report.quality import collect_quality as collect_quality
from tamiz.report.recommendation import collect_recommendation as collect_recommendation
from tamiz.report.redundancy import collect_redundancy as collect_redundancy
from tamiz.report.result import Result as Result
from tamiz.report.subset import collect_subset as collect_subset
from tamiz.report.table import collect_reproduction as collect_reproduction
from tamiz.report.table import collect_table as collect_table

registry: Registry

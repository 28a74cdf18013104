from tamiz.runtime.registry import Registry
from tamiz.metrics.evaluation import quality as quality
from tamiz.metrics.neighborhoods import co_ranking as co_ranking
from tamiz.metrics.neighborhoods import continuity as continuity
from tamiz.metrics.neighborhoods import label_accuracy as label_accuracy
from tamiz.metrics.neighborhoods import mean_relative_rank_errors as mean_relative_rank_errors
from tamiz.metrics.neighborhoods import neighborhood_recall as neighborhood_recall
from tamiz.metrics.neighborhoods import rank_agreement as rank_agreement
from tamiz.metrics.neighborhoods import trustworthiness as trustworthiness
from tamiz.metrics.stress import kruskal_stress as kruskal_stress
from tamiz.metrics.stress import normalized_stress as normalized_stress
from tamiz.metrics.stress import shepard as shepard

registry: Registry

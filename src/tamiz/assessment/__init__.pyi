from tamiz.runtime.registry import Registry
from tamiz.assessment.associations import describe_associations as describe_associations
from tamiz.assessment.column_comparison import ColumnComparison as ColumnComparison
from tamiz.assessment.column_comparison import compare_columns as compare_columns
from tamiz.assessment.column_importance import ConditionalImportance as ConditionalImportance
from tamiz.assessment.column_importance import conditional_importance as conditional_importance
from tamiz.assessment.column_ranking import Ranking as Ranking
from tamiz.assessment.error_rates import SelectionErrorRates as SelectionErrorRates
from tamiz.assessment.findings import FoldDesignComparison as FoldDesignComparison
from tamiz.assessment.findings import MeanRank as MeanRank
from tamiz.assessment.findings import PossibleLeak as PossibleLeak
from tamiz.assessment.fold_designs import compare_fold_designs as compare_fold_designs
from tamiz.assessment.interactions import find_interactions as find_interactions
from tamiz.assessment.leaks import find_leaks as find_leaks
from tamiz.assessment.linear_dependences import LinearDependence as LinearDependence
from tamiz.assessment.linear_dependences import find_linear_dependences as find_linear_dependences
from tamiz.assessment.mean_ranks import mean_rank as mean_rank
from tamiz.assessment.nested_cv import selection_report as selection_report
from tamiz.assessment.noise_experiment import run_noise_experiment as run_noise_experiment
from tamiz.assessment.rank_stability import ranking_stability as ranking_stability
from tamiz.assessment.ranking_report import RankingStability as RankingStability
from tamiz.assessment.rate_calibration import calibration as calibration
from tamiz.assessment.recommendation import recommend_columns as recommend_columns
from tamiz.assessment.remarks import table_remarks as table_remarks
from tamiz.assessment.score_report import NoiseExperiment as NoiseExperiment
from tamiz.assessment.score_report import Recommendation as Recommendation
from tamiz.assessment.score_report import SelectionReport as SelectionReport
from tamiz.assessment.semi_synthetic import selection_error_rates as selection_error_rates
from tamiz.assessment.set_stability import stability as stability
from tamiz.assessment.target_formulas import TargetFormula as TargetFormula
from tamiz.assessment.target_formulas import find_target_formulas as find_target_formulas

registry: Registry

from tamiz.runtime.registry import Registry
from tamiz.assessment.associations import describe_associations as describe_associations
from tamiz.assessment.column_importance import ConditionalImportance as ConditionalImportance
from tamiz.assessment.column_importance import conditional_importance as conditional_importance
from tamiz.assessment.column_ranking import Ranking as Ranking
from tamiz.assessment.column_ranking import RankingStability as RankingStability
from tamiz.assessment.column_ranking import ranking_stability as ranking_stability
from tamiz.assessment.findings import FoldDesignComparison as FoldDesignComparison
from tamiz.assessment.findings import MeanRank as MeanRank
from tamiz.assessment.findings import PossibleLeak as PossibleLeak
from tamiz.assessment.findings import SelectionErrorRates as SelectionErrorRates
from tamiz.assessment.findings import stability as stability
from tamiz.assessment.fold_designs import compare_fold_designs as compare_fold_designs
from tamiz.assessment.formulas import LinearDependence as LinearDependence
from tamiz.assessment.formulas import TargetFormula as TargetFormula
from tamiz.assessment.formulas import find_linear_dependences as find_linear_dependences
from tamiz.assessment.formulas import find_target_formulas as find_target_formulas
from tamiz.assessment.interactions import find_interactions as find_interactions
from tamiz.assessment.leaks import find_leaks as find_leaks
from tamiz.assessment.mean_ranks import mean_rank as mean_rank
from tamiz.assessment.nested_cv import ColumnComparison as ColumnComparison
from tamiz.assessment.nested_cv import compare_columns as compare_columns
from tamiz.assessment.nested_cv import run_noise_experiment as run_noise_experiment
from tamiz.assessment.nested_cv import selection_report as selection_report
from tamiz.assessment.rate_calibration import calibration as calibration
from tamiz.assessment.recommendation import recommend_columns as recommend_columns
from tamiz.assessment.remarks import table_remarks as table_remarks
from tamiz.assessment.score_report import NoiseExperiment as NoiseExperiment
from tamiz.assessment.score_report import Recommendation as Recommendation
from tamiz.assessment.score_report import SelectionReport as SelectionReport
from tamiz.assessment.semi_synthetic import selection_error_rates as selection_error_rates

registry: Registry

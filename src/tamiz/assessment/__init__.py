"""Assessment of selections: nested cross-validation, stability, permutation null, effect on models, recommendation."""

from __future__ import annotations

from tamiz.runtime.registry import Registry

registry = Registry(
    __name__,
    """
    selection_report        nested_cv:selection_report                function   Apparent and nested CV score of a selection
    SelectionReport         score_report:SelectionReport              record     Result of selection_report
    stability               findings:stability                        function   Stability of sets of columns
    ranking_stability       column_ranking:ranking_stability          function   Stability of a ranking over samples of the rows
    RankingStability        column_ranking:RankingStability           record     Result of ranking_stability
    mean_rank               mean_ranks:mean_rank                      function   Mean rank over several criteria with intervals
    MeanRank                findings:MeanRank                         record     Result of mean_rank
    Ranking                 column_ranking:Ranking                    record     Result of tamiz.rank
    compare_columns         nested_cv:compare_columns                 function   Effect of a selection on models
    ColumnComparison        nested_cv:ColumnComparison                record     Result of compare_columns
    run_noise_experiment    nested_cv:run_noise_experiment            function   Noise experiment: scores as noise columns are added
    NoiseExperiment         score_report:NoiseExperiment              record     Result of run_noise_experiment
    selection_error_rates   semi_synthetic:selection_error_rates      function   True and false positive rates of a selection
    SelectionErrorRates     findings:SelectionErrorRates              record     Result of selection_error_rates
    describe_associations   associations:describe_associations        function   Direction, size and shape of each association
    find_interactions       interactions:find_interactions            function   Pairs that matter beyond the sum of two effects
    table_remarks           remarks:table_remarks                     function   Heavy tails, drift and ordinal targets
    calibration             rate_calibration:calibration              function   Predicted against observed rates of a class
    conditional_importance  column_importance:conditional_importance  function   What each column adds to the others in a model
    ConditionalImportance   column_importance:ConditionalImportance   record     Result of conditional_importance
    find_leaks              leaks:find_leaks                          function   Columns of possible target leakage
    PossibleLeak            findings:PossibleLeak                     record     Result of find_leaks
    find_target_formulas    formulas:find_target_formulas             function   Formulas of a few columns that determine the target
    TargetFormula           formulas:TargetFormula                    record     Result of find_target_formulas
    find_linear_dependences formulas:find_linear_dependences          function   Columns that are linear functions of a few others
    LinearDependence        formulas:LinearDependence                 record     Result of find_linear_dependences
    compare_fold_designs    fold_designs:compare_fold_designs         function   Whether random folds overstate a score
    FoldDesignComparison    findings:FoldDesignComparison             record     Result of compare_fold_designs
    recommend_columns       recommendation:recommend_columns          function   Recommended one of several selections
    Recommendation          score_report:Recommendation               record     Result of recommend_columns
    """,
)

__getattr__, __dir__, __all__ = registry.lazy_module()

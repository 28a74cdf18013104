"""Criteria: relevances score single columns, merits score sets of columns."""

from tamiz.runtime.registry import Registry

registry = Registry(
    __name__,
    """
    information_gain        information_gain:InformationGain              relevance       Information gain
    gain_ratio              information_gain:GainRatio                    relevance       Gain ratio
    symmetric_uncertainty   uncertainty:SymmetricUncertainty              relevance       Symmetric uncertainty
    fisher_score            fisher:FisherScore                            relevance       Fisher score
    laplacian_score         laplacian:LaplacianScore                      relevance       Laplacian score
    mcfs                    mcfs:MCFS                                     relevance       Multi-cluster feature selection
    spec                    spec:SPEC                                     relevance       Spectral feature selection
    entropy                 shannon_entropy:Entropy                       relevance       Entropy
    variance                variance:Variance                             relevance       Variance
    completeness            completeness:Completeness                     relevance       Completeness
    tree_importance         tree_importance:TreeImportance                relevance       Tree importance
    linear_coefficient      linear_coefficient:LinearCoefficient          relevance       Linear coefficient
    permutation_importance  permutation_importance:PermutationImportance  relevance       Permutation importance
    cfs                     cfs:CFS                                       merit           CFS
    cross_validated         cross_validated:CrossValidated                wrapper         Cross-validated score
    mdl                     discretization:MDL                            discretization  Minimum description length
    equal_frequency         discretization:EqualFrequency                 discretization  Equal frequency
    equal_width             discretization:EqualWidth                     discretization  Equal width
    association             base:Association                              base            Associations of columns
    pairwise_associations   base:PairwiseAssociations                     base            Pairwise associations of columns
    cut_points_function     discretization:cut_points                     function        Cut points of numeric columns
    entropy_function        shannon_entropy:entropy                       function        Entropy of a column, in bits
    fisher_function         fisher:fisher_score                           function        Fisher scores of columns
    laplacian_function      laplacian:laplacian_score                     function        Laplacian scores of columns
    uncertainty_function    uncertainty:symmetric_uncertainty             function        Symmetric uncertainty of columns
    """,
)

__getattr__, __dir__, __all__ = registry.lazy_module()

"""Criteria: relevances score single columns, merits score sets of columns."""

from tamiz.runtime.registry import Registry

registry = Registry(
    __name__,
    """
    information_gain        information_gain:InformationGain              relevance       Information gain
    gain_ratio              information_gain:GainRatio                    relevance       Gain ratio
    symmetric_uncertainty   uncertainty:SymmetricUncertainty              relevance       Symmetric uncertainty
    fisher_score            fisher:FisherScore                            relevance       Fisher score
    independence_test       independence_test:IndependenceTest            relevance       Independence test
    laplacian_score         laplacian:LaplacianScore                      relevance       Laplacian score
    mcfs                    mcfs:MCFS                                     relevance       Multi-cluster feature selection
    spec                    spec:SPEC                                     relevance       Spectral feature selection
    mutual_information      neighbor_information:MutualInformation        relevance       Mutual information
    entropy                 shannon_entropy:Entropy                       relevance       Entropy
    variance                variance:Variance                             relevance       Variance
    completeness            completeness:Completeness                     relevance       Completeness
    tree_importance         tree_importance:TreeImportance                relevance       Tree importance
    linear_coefficient      linear_coefficient:LinearCoefficient          relevance       Linear coefficient
    permutation_importance  cross_validated:PermutationImportance         relevance       Permutation importance
    relieff                 relief:ReliefF                                relevance       ReliefF
    multisurf               relief:MultiSURF                              relevance       MultiSURF
    cfs                     cfs:CFS                                       merit           CFS
    mrmr                    mrmr:MRMR                                     merit           MRMR
    jmi                     conditional_redundancy:JMI                    merit           JMI
    cmim                    conditional_redundancy:CMIM                   merit           CMIM
    disr                    conditional_redundancy:DISR                   merit           DISR
    icap                    conditional_redundancy:ICAP                   merit           ICAP
    cife                    conditional_redundancy:CIFE                   merit           CIFE
    mifs                    mifs:MIFS                                     merit           MIFS
    mim                     mifs:MIM                                      merit           MIM
    cross_validated         cross_validated:CrossValidated                wrapper         Cross-validated score
    mdl                     discretization:MDL                            discretization  Minimum description length
    equal_frequency         discretization:EqualFrequency                 discretization  Equal frequency
    equal_width             discretization:EqualWidth                     discretization  Equal width
    association             base:Association                              base            Associations of columns
    pairwise_associations   base:PairwiseAssociations                     base            Pairwise associations of columns
    adjust_function         independence_test:adjust_p_values             function        Adjusted p-values
    cut_points_function     discretization:cut_points                     function        Cut points of numeric columns
    entropy_function        shannon_entropy:entropy                       function        Entropy of a column, in bits
    fisher_function         fisher:fisher_score                           function        Fisher scores of columns
    information_function    neighbor_information:mutual_information       function        Mutual information, in bits
    conditional_function    neighbor_information:conditional_mutual_information function Conditional mutual information, in bits
    laplacian_function      laplacian:laplacian_score                     function        Laplacian scores of columns
    uncertainty_function    uncertainty:symmetric_uncertainty             function        Symmetric uncertainty of columns
    """,
)

__getattr__, __dir__, __all__ = registry.lazy_module()

"""Criteria: relevances score single columns, merits score sets of columns."""

from tamiz.runtime.registry import Registry

registry = Registry(
    __name__,
    """
    information_gain        entropies:InformationGain                              relevance       Information gain
    gain_ratio              entropies:GainRatio                                    relevance       Gain ratio
    symmetric_uncertainty   entropies:SymmetricUncertainty                         relevance       Symmetric uncertainty
    fisher_score            variance:FisherScore                                   relevance       Fisher score
    independence_test       independence_test:IndependenceTest                     relevance       Independence test
    laplacian_score         graph_relevances:LaplacianScore                        relevance       Laplacian score
    mcfs                    graph_relevances:MCFS                                  relevance       Multi-cluster feature selection
    spec                    graph_relevances:SPEC                                  relevance       Spectral feature selection
    mutual_information      neighbor_information:MutualInformation                 relevance       Mutual information
    entropy                 entropies:Entropy                                      relevance       Entropy
    variance                variance:Variance                                      relevance       Variance
    completeness            variance:Completeness                                  relevance       Completeness
    tree_importance         tree_importance:TreeImportance                         relevance       Tree importance
    linear_coefficient      linear_coefficient:LinearCoefficient                   relevance       Linear coefficient
    permutation_importance  cross_validated:PermutationImportance                  relevance       Permutation importance
    relieff                 relief:ReliefF                                         relevance       ReliefF
    multisurf               relief:MultiSURF                                       relevance       MultiSURF
    cfs                     cfs:CFS                                                merit           CFS
    mrmr                    information_merits:MRMR                                merit           MRMR
    jmi                     information_merits:JMI                                 merit           JMI
    cmim                    information_merits:CMIM                                merit           CMIM
    disr                    information_merits:DISR                                merit           DISR
    icap                    information_merits:ICAP                                merit           ICAP
    cife                    information_merits:CIFE                                merit           CIFE
    mifs                    information_merits:MIFS                                merit           MIFS
    mim                     information_merits:MIM                                 merit           MIM
    cross_validated         cross_validated:CrossValidated                         wrapper         Cross-validated score
    mdl                     discretization:MDL                                     discretization  Minimum description length
    equal_frequency         discretization:EqualFrequency                          discretization  Equal frequency
    equal_width             discretization:EqualWidth                              discretization  Equal width
    association             base:Association                                       base            Associations of columns
    pairwise_associations   base:PairwiseAssociations                              base            Pairwise associations of columns
    adjust_function         independence_test:adjust_p_values                      function        Adjusted p-values
    cut_points_function     discretization:cut_points                              function        Cut points of numeric columns
    entropy_function        entropies:entropy                                      function        Entropy of a column, in bits
    fisher_function         variance:fisher_score                                  function        Fisher scores of columns
    information_function    neighbor_information:mutual_information                function        Mutual information, in bits
    conditional_function    neighbor_information:conditional_mutual_information    function        Conditional mutual information
    laplacian_function      graph_relevances:laplacian_score                       function        Laplacian scores of columns
    uncertainty_function    entropies:symmetric_uncertainty                        function        Symmetric uncertainty of columns
    """,
)

__getattr__, __dir__, __all__ = registry.lazy_module()

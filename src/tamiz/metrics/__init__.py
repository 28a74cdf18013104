"""Quality measures of a map: how well it preserves the distances and the neighbours of the data."""

from tamiz.runtime.registry import Registry

registry = Registry(
    __name__,
    """
    quality                    evaluation:quality                       function  Map quality
    normalized_stress          stress:normalized_stress                 function  Normalised stress
    kruskal_stress             stress:kruskal_stress                    function  Kruskal's stress
    shepard                    stress:shepard                           function  Shepard diagram
    trustworthiness            neighborhoods:trustworthiness            function  Trustworthiness
    continuity                 neighborhoods:continuity                 function  Continuity
    neighborhood_recall        neighborhoods:neighborhood_recall        function  Neighbourhood recall
    mean_relative_rank_errors  neighborhoods:mean_relative_rank_errors  function  Mean relative rank errors
    rank_agreement             neighborhoods:rank_agreement             function  Rank agreement (Q_NX, LCMC, R_NX)
    co_ranking                 neighborhoods:co_ranking                 function  Co-ranking matrix
    label_accuracy             neighborhoods:label_accuracy             function  Label accuracy of nearest neighbours
    """,
)

__getattr__, __dir__, __all__ = registry.lazy_module()

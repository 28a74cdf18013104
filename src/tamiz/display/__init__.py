"""Plots of fitted estimators, drawn with matplotlib."""

from tamiz.runtime.registry import Registry

registry = Registry(
    __name__,
    """
    embedding       embedding:EmbeddingDisplay              display  Embedding
    eigenvalues     quality:EigenvalueDisplay               display  Eigenvalues
    images          embedding:ImageDisplay                  display  Images
    stress          quality:StressDisplay                   display  Stress
    point_stress    quality:PointStressDisplay              display  Stress of points
    shepard         quality:ShepardDisplay                  display  Shepard diagram
    quality         quality:QualityDisplay                  display  Curves of preserved neighbours
    ranking         column_selection:RankingDisplay         display  Ranking
    search          column_selection:SearchDisplay          display  Search
    recommendation  column_selection:RecommendationDisplay  display  Recommended columns
    """,
)

__getattr__, __dir__, __all__ = registry.lazy_module()

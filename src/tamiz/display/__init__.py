"""Pictures of what was fitted, by matplotlib."""

from tamiz.registry import Registry

registry = Registry(
    __name__,
    """
    embedding     embedding:EmbeddingDisplay       display  Embedding
    eigenvalues   eigenvalues:EigenvalueDisplay    display  Eigenvalues
    images        images:ImageDisplay              display  Images
    stress        stress:StressDisplay             display  Stress
    point_stress  point_stress:PointStressDisplay  display  Stress of points
    shepard       shepard:ShepardDisplay           display  Shepard diagram
    quality       quality:QualityDisplay           display  Curves of kept neighbours
    ranking       ranking:RankingDisplay           display  Ranking
    search        search:SearchDisplay             display  Search
    """,
)

__getattr__, __dir__, __all__ = registry.lazy_module()

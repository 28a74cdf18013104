from tamiz.runtime.registry import Registry
from tamiz.display.column_selection import RankingDisplay as RankingDisplay
from tamiz.display.column_selection import RecommendationDisplay as RecommendationDisplay
from tamiz.display.column_selection import SearchDisplay as SearchDisplay
from tamiz.display.embedding import EmbeddingDisplay as EmbeddingDisplay
from tamiz.display.embedding import ImageDisplay as ImageDisplay
from tamiz.display.quality import EigenvalueDisplay as EigenvalueDisplay
from tamiz.display.quality import PointStressDisplay as PointStressDisplay
from tamiz.display.quality import QualityDisplay as QualityDisplay
from tamiz.display.quality import ShepardDisplay as ShepardDisplay
from tamiz.display.quality import StressDisplay as StressDisplay

registry: Registry

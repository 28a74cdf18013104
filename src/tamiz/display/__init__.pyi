from tamiz.registry import Registry
from tamiz.display.eigenvalues import EigenvalueDisplay as EigenvalueDisplay
from tamiz.display.embedding import EmbeddingDisplay as EmbeddingDisplay
from tamiz.display.images import ImageDisplay as ImageDisplay

registry: Registry

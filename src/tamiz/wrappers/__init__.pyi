from tamiz.registry import Registry
from tamiz.wrappers.gaussian_nb import GaussianNBWay as GaussianNBWay

registry: Registry

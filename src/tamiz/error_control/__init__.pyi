from tamiz.runtime.registry import Registry
from tamiz.error_control.boruta import BorutaSelector as BorutaSelector
from tamiz.error_control.stability import StabilitySelector as StabilitySelector

registry: Registry

from tamiz.runtime.registry import Registry
from tamiz.error_control.boruta import BorutaSelector as BorutaSelector
from tamiz.error_control.gaussian_knockoffs import knockoffs as knockoffs
from tamiz.error_control.knockoff_selector import KnockoffSelector as KnockoffSelector
from tamiz.error_control.stability import StabilitySelector as StabilitySelector

registry: Registry

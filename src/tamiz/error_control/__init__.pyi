from tamiz.runtime.registry import Registry
from tamiz.error_control.gaussian_knockoffs import knockoffs as knockoffs
from tamiz.error_control.knockoff_selector import KnockoffSelector as KnockoffSelector

registry: Registry

from tamiz.runtime.registry import Registry
from tamiz.graphs.graph import Graph as Graph
from tamiz.graphs.k_nearest import KNearest as KNearest
from tamiz.graphs.radius import ConnectedRadius as ConnectedRadius
from tamiz.graphs.radius import Radius as Radius
from tamiz.graphs.same_class import SameClass as SameClass
from tamiz.graphs.weights import Binary as Binary
from tamiz.graphs.weights import HeatKernel as HeatKernel
from tamiz.graphs.weights import InverseClassSize as InverseClassSize

registry: Registry

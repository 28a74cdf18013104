from tamiz.runtime.registry import Registry
from tamiz.graphs.builders import ConnectedRadius as ConnectedRadius
from tamiz.graphs.builders import KNearest as KNearest
from tamiz.graphs.builders import Radius as Radius
from tamiz.graphs.builders import SameClass as SameClass
from tamiz.graphs.edges import Binary as Binary
from tamiz.graphs.edges import HeatKernel as HeatKernel
from tamiz.graphs.edges import InverseClassSize as InverseClassSize
from tamiz.graphs.graph import Graph as Graph

registry: Registry

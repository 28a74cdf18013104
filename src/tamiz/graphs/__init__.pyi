from tamiz.registry import Registry
from tamiz.graphs.connected_radius import ConnectedRadius as ConnectedRadius
from tamiz.graphs.graph import Graph as Graph
from tamiz.graphs.k_nearest import KNearest as KNearest
from tamiz.graphs.radius import Radius as Radius
from tamiz.graphs.same_class import SameClass as SameClass
from tamiz.graphs.search.descent import Descent as Descent
from tamiz.graphs.search.exact import Exact as Exact
from tamiz.graphs.search.tree import Tree as Tree
from tamiz.graphs.weights import Binary as Binary
from tamiz.graphs.weights import ClassShare as ClassShare
from tamiz.graphs.weights import HeatKernel as HeatKernel

registry: Registry

from tamiz.runtime.registry import Registry
from tamiz.search.best_first import BestFirst as BestFirst
from tamiz.search.branch_and_bound import BranchAndBound as BranchAndBound
from tamiz.search.exhaustive import Exhaustive as Exhaustive
from tamiz.search.greedy import Backward as Backward
from tamiz.search.greedy import Beam as Beam
from tamiz.search.greedy import Bidirectional as Bidirectional
from tamiz.search.greedy import Forward as Forward
from tamiz.search.greedy import RecursiveElimination as RecursiveElimination
from tamiz.search.stochastic import Genetic as Genetic
from tamiz.search.stochastic import RandomSubsets as RandomSubsets
from tamiz.search.stopping import Evaluations as Evaluations
from tamiz.search.stopping import MinGain as MinGain
from tamiz.search.stopping import Patience as Patience
from tamiz.search.stopping import Seconds as Seconds
from tamiz.search.stopping import TargetMerit as TargetMerit

registry: Registry

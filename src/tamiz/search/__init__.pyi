from tamiz.registry import Registry
from tamiz.search.backward import Backward as Backward
from tamiz.search.best_first import BestFirst as BestFirst
from tamiz.search.forward import Forward as Forward
from tamiz.search.stopping import Evaluations as Evaluations
from tamiz.search.stopping import MinGain as MinGain
from tamiz.search.stopping import Seconds as Seconds
from tamiz.search.stopping import Stale as Stale
from tamiz.search.stopping import Target as Target

registry: Registry

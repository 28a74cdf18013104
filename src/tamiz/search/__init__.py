"""Searches over sets of columns. A search proposes sets; `runner` evaluates them, applies stopping rules and records them."""

from tamiz.runtime.registry import Registry

registry = Registry(
    __name__,
    """
    forward                greedy:Forward                   search    Forward selection
    backward               greedy:Backward                  search    Backward elimination
    recursive_elimination  greedy:RecursiveElimination      search    Recursive elimination
    bidirectional          greedy:Bidirectional             search    Floating search
    best_first             best_first:BestFirst             search    Best-first search
    beam                   greedy:Beam                      search    Beam search
    genetic                stochastic:Genetic               search    Genetic search
    random_subsets         stochastic:RandomSubsets         search    Random subsets
    exhaustive             exhaustive:Exhaustive            search    Exhaustive search
    branch_and_bound       branch_and_bound:BranchAndBound  search    Branch and bound
    evaluations            stopping:Evaluations             stopping  Maximum number of evaluations
    seconds                stopping:Seconds                 stopping  Time limit
    patience               stopping:Patience                stopping  Steps without improvement
    min_gain               stopping:MinGain                 stopping  Minimum gain
    target_merit           stopping:TargetMerit             stopping  Target merit
    """,
)

__getattr__, __dir__, __all__ = registry.lazy_module()

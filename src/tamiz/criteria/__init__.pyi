from tamiz.runtime.registry import Registry
from tamiz.criteria.base import Association as Association
from tamiz.criteria.base import PairwiseAssociations as PairwiseAssociations
from tamiz.criteria.cfs import CFS as CFS
from tamiz.criteria.completeness import Completeness as Completeness
from tamiz.criteria.cross_validated import CrossValidated as CrossValidated
from tamiz.criteria.discretization import EqualFrequency as EqualFrequency
from tamiz.criteria.discretization import EqualWidth as EqualWidth
from tamiz.criteria.discretization import MDL as MDL
from tamiz.criteria.discretization import cut_points as cut_points
from tamiz.criteria.fisher import FisherScore as FisherScore
from tamiz.criteria.fisher import fisher_score as fisher_score
from tamiz.criteria.information_gain import GainRatio as GainRatio
from tamiz.criteria.information_gain import InformationGain as InformationGain
from tamiz.criteria.laplacian import LaplacianScore as LaplacianScore
from tamiz.criteria.laplacian import laplacian_score as laplacian_score
from tamiz.criteria.linear_coefficient import LinearCoefficient as LinearCoefficient
from tamiz.criteria.mcfs import MCFS as MCFS
from tamiz.criteria.permutation_importance import PermutationImportance as PermutationImportance
from tamiz.criteria.shannon_entropy import Entropy as Entropy
from tamiz.criteria.shannon_entropy import entropy as entropy
from tamiz.criteria.spec import SPEC as SPEC
from tamiz.criteria.tree_importance import TreeImportance as TreeImportance
from tamiz.criteria.uncertainty import SymmetricUncertainty as SymmetricUncertainty
from tamiz.criteria.uncertainty import symmetric_uncertainty as symmetric_uncertainty
from tamiz.criteria.variance import Variance as Variance

registry: Registry

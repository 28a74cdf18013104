from tamiz.registry import Registry
from tamiz.wrappers.bernoulli_nb import BernoulliNBWay as BernoulliNBWay
from tamiz.wrappers.categorical_nb import CategoricalNBWay as CategoricalNBWay
from tamiz.wrappers.discriminant import DiscriminantWay as DiscriminantWay
from tamiz.wrappers.gaussian_nb import GaussianNBWay as GaussianNBWay
from tamiz.wrappers.linear import LinearRegressionWay as LinearRegressionWay
from tamiz.wrappers.linear import RidgeWay as RidgeWay
from tamiz.wrappers.mixed_nb import MixedNB as MixedNB
from tamiz.wrappers.mixed_nb import MixedNBWay as MixedNBWay
from tamiz.wrappers.models import make_gaussian_nb as make_gaussian_nb
from tamiz.wrappers.models import make_knn as make_knn
from tamiz.wrappers.models import make_linear as make_linear
from tamiz.wrappers.models import make_logistic as make_logistic
from tamiz.wrappers.models import make_mixed_nb as make_mixed_nb
from tamiz.wrappers.models import make_ridge as make_ridge
from tamiz.wrappers.models import make_tree as make_tree
from tamiz.wrappers.multinomial_nb import MultinomialNBWay as MultinomialNBWay
from tamiz.wrappers.neighbors import KNeighborsClassifierWay as KNeighborsClassifierWay
from tamiz.wrappers.neighbors import KNeighborsRegressorWay as KNeighborsRegressorWay

registry: Registry

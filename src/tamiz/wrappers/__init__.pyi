from tamiz.registry import Registry
from tamiz.wrappers.bernoulli_nb import BernoulliNBBackend as BernoulliNBBackend
from tamiz.wrappers.categorical_nb import CategoricalNBBackend as CategoricalNBBackend
from tamiz.wrappers.discriminant import LinearDiscriminantBackend as LinearDiscriminantBackend
from tamiz.wrappers.gaussian_nb import GaussianNBBackend as GaussianNBBackend
from tamiz.wrappers.linear import LinearRegressionBackend as LinearRegressionBackend
from tamiz.wrappers.linear import RidgeBackend as RidgeBackend
from tamiz.wrappers.mixed_nb import MixedNB as MixedNB
from tamiz.wrappers.mixed_nb import MixedNBBackend as MixedNBBackend
from tamiz.wrappers.models import make_gaussian_nb as make_gaussian_nb
from tamiz.wrappers.models import make_knn as make_knn
from tamiz.wrappers.models import make_linear as make_linear
from tamiz.wrappers.models import make_logistic as make_logistic
from tamiz.wrappers.models import make_mixed_nb as make_mixed_nb
from tamiz.wrappers.models import make_ridge as make_ridge
from tamiz.wrappers.models import make_tree as make_tree
from tamiz.wrappers.multinomial_nb import MultinomialNBBackend as MultinomialNBBackend
from tamiz.wrappers.neighbors import KNeighborsClassifierBackend as KNeighborsClassifierBackend
from tamiz.wrappers.neighbors import KNeighborsRegressorBackend as KNeighborsRegressorBackend

registry: Registry

from tamiz.runtime.registry import Registry
from tamiz.models.knn import KNeighborsClassifierBackend as KNeighborsClassifierBackend
from tamiz.models.knn import KNeighborsRegressorBackend as KNeighborsRegressorBackend
from tamiz.models.linear import LinearDiscriminantBackend as LinearDiscriminantBackend
from tamiz.models.linear import LinearRegressionBackend as LinearRegressionBackend
from tamiz.models.linear import RidgeBackend as RidgeBackend
from tamiz.models.mixed_nb import MixedNB as MixedNB
from tamiz.models.naive_bayes import BernoulliNBBackend as BernoulliNBBackend
from tamiz.models.naive_bayes import CategoricalNBBackend as CategoricalNBBackend
from tamiz.models.naive_bayes import GaussianNBBackend as GaussianNBBackend
from tamiz.models.naive_bayes import MixedNBBackend as MixedNBBackend
from tamiz.models.naive_bayes import MultinomialNBBackend as MultinomialNBBackend
from tamiz.models.named_models import make_forest as make_forest
from tamiz.models.named_models import make_gaussian_nb as make_gaussian_nb
from tamiz.models.named_models import make_gradient_boosting as make_gradient_boosting
from tamiz.models.named_models import make_knn as make_knn
from tamiz.models.named_models import make_linear as make_linear
from tamiz.models.named_models import make_logistic as make_logistic
from tamiz.models.named_models import make_naive_bayes as make_naive_bayes
from tamiz.models.named_models import make_ridge as make_ridge
from tamiz.models.named_models import make_tree as make_tree

registry: Registry

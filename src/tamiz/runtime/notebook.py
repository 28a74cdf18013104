"""Pictures of fitted estimators in a notebook, below scikit-learn's diagram."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted


class PictureMixin(BaseEstimator):
    """Shows what a fitted estimator found below its diagram."""

    def _repr_html_inner(self) -> str:
        html: str = super()._repr_html_inner()
        return html + self._picture()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] += self._picture()
        return bundle

    def _picture(self) -> str:
        try:
            check_is_fitted(self)
        except NotFittedError:
            return ""
        # By its name, as in a registry: displays import estimators.
        picture: str = import_module("tamiz.display.estimator_pictures").draw_estimator(self)
        return picture

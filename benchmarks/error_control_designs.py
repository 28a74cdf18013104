"""The tables on which `error_control.py` counts false selections: simulated targets, of simulated and of real columns.

The list was fixed before the first run. A design draws a table, a target that is a linear function of `relevant` columns plus
noise (or classes with that log-odds), and two truths, because the procedures make different statements:

- *marginally false*: the target is independent of the column. This is what a test of single columns can reject.
- *conditionally false*: the target is independent of the column given all other columns: no column outside `relevant`
  is in the formula. This is what knockoffs are about.

Where columns are correlated, a column beside a relevant one is conditionally false but not marginally. Columns are therefore
correlated only within blocks, and the blocks without a relevant column are marginally false. Real columns get a second copy with
the rows in random order: its columns have the same distribution and correlations, and are independent of the target.
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
import pandas as pd
from scipy.special import expit, ndtr
from scipy.stats import t as student
from sklearn.datasets import load_breast_cancer, load_digits

SEED = 20240
DATA = Path(__file__).parents[2] / "shared" / "data"
N_ROWS, N_COLUMNS, N_RELEVANT = 500, 80, 20
# Standard deviation of the linear predictor, where the noise of a numeric target has 1.
NUMBER_EFFECT, CLASS_EFFECT = 1.5, 3.0


class Truth(NamedTuple):
    """Which columns are in the formula of the target, and which are independent of the target."""

    relevant: np.ndarray
    marginally_false: np.ndarray


class Sample(NamedTuple):
    """One table of a design."""

    X: Any
    y: np.ndarray
    truth: Truth


class Design(NamedTuple):
    """A named distribution of tables.

    Attributes
    ----------
    name, text : str
    draw : function of a generator
        Returns a sample.
    normal : bool
        Whether the columns have a Gaussian copula, as Gaussian knockoffs assume.
    """

    name: str
    text: str
    draw: Callable[[np.random.Generator], Sample]
    normal: bool = True

    def sample(self, number: int) -> Sample:
        """Return the table of a draw: the same one for the same number, whichever other designs there are."""
        return self.draw(np.random.default_rng([SEED, crc32(self.name.encode()), number]))


def normal_blocks(rng: np.random.Generator, correlation: np.ndarray, n_rows: int = N_ROWS) -> np.ndarray:
    """Return independent blocks of normal columns with one correlation matrix."""
    size = len(correlation)
    root = np.linalg.cholesky(correlation)
    blocks = rng.standard_normal((N_COLUMNS // size, n_rows, size)) @ root.T
    return np.hstack(list(blocks))


def autoregressive(rho: float, size: int = 10) -> np.ndarray:
    places = np.arange(size)
    return rho ** np.abs(np.subtract.outer(places, places))


def exchangeable(rho: float, size: int = 10) -> np.ndarray:
    return np.where(np.eye(size, dtype=bool), 1.0, rho)


def factor_columns(rng: np.random.Generator) -> np.ndarray:
    """Return four blocks of 20 columns; a block has two factors, random loadings, and noise of half the variance."""
    blocks = []
    for _ in range(4):
        loadings = rng.normal(size=(2, 20))
        loadings /= np.sqrt((loadings**2).sum(axis=0))
        common = rng.normal(size=(N_ROWS, 2)) @ loadings
        blocks.append(np.sqrt(0.5) * common + np.sqrt(0.5) * rng.normal(size=(N_ROWS, 20)))
    return np.hstack(blocks)


def block_truth(rng: np.random.Generator, n_relevant: int = N_RELEVANT) -> Truth:
    """Draw the relevant columns from the first half of the blocks; the other half is independent of the target."""
    columns = np.arange(N_COLUMNS)
    chosen = rng.choice(N_COLUMNS // 2, n_relevant, replace=False)
    nothing = n_relevant == 0
    return Truth(np.isin(columns, chosen), nothing | (columns >= N_COLUMNS // 2))


def predictor(rng: np.random.Generator, columns: np.ndarray) -> np.ndarray:
    """Return a linear function of standardised columns, scaled to variance 1, with coefficients of random signs."""
    if not columns.shape[1]:
        return np.zeros(len(columns))
    scale = columns.std(axis=0)
    coefficients = rng.choice([-1.0, 1.0], columns.shape[1]) * rng.uniform(0.5, 1.0, columns.shape[1])
    linear = (columns - columns.mean(axis=0)) / np.where(scale > 0, scale, 1.0) @ coefficients
    return linear / linear.std()


def numeric_target(rng: np.random.Generator, linear: np.ndarray) -> np.ndarray:
    return NUMBER_EFFECT * linear + rng.standard_normal(len(linear))


def class_target(rng: np.random.Generator, linear: np.ndarray, share: float = 0.5) -> np.ndarray:
    """Return classes 0 and 1 with log-odds of the linear predictor, plus a constant for the mean probability `share` of 1."""
    low, high = -30.0, 30.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if expit(CLASS_EFFECT * linear + middle).mean() < share else (low, middle)
    return (rng.random(len(linear)) < expit(CLASS_EFFECT * linear + low)).astype(int)


def simulated(columns: Callable[[np.random.Generator], np.ndarray], **options: Any) -> Callable[..., Sample]:
    """Return the draw of a numeric target from columns in blocks."""

    def draw(rng: np.random.Generator) -> Sample:
        X = columns(rng)
        truth = block_truth(rng, **options)
        return Sample(X, numeric_target(rng, predictor(rng, X[:, truth.relevant])), truth)

    return draw


def heavy_columns(rng: np.random.Generator) -> np.ndarray:
    """Return log-normal columns and columns of Student's t with 3 degrees of freedom, in turn, of one Gaussian copula."""
    scores = normal_blocks(rng, autoregressive(0.5))
    scores[:, ::2] = np.exp(scores[:, ::2])
    scores[:, 1::2] = student.ppf(ndtr(scores[:, 1::2]), 3)
    return scores


def imbalanced(rng: np.random.Generator) -> Sample:
    X = normal_blocks(rng, autoregressive(0.5))
    truth = block_truth(rng)
    return Sample(X, class_target(rng, predictor(rng, X[:, truth.relevant]), 0.1), truth)


def mixed(rng: np.random.Generator) -> Sample:
    """Return classes of numbers and of ordered categories of 2 to 5 levels, which are intervals of normal columns."""
    scores = normal_blocks(rng, autoregressive(0.5))
    truth = block_truth(rng)
    frame, values = {}, scores.copy()
    for j in range(N_COLUMNS):
        frame[f"x{j}"] = scores[:, j]
        if j % 2:
            cuts = np.sort(rng.normal(size=rng.integers(1, 5)))
            values[:, j] = np.searchsorted(cuts, scores[:, j])
            levels = [f"level {k}" for k in range(len(cuts) + 1)]
            frame[f"x{j}"] = pd.Categorical.from_codes(values[:, j].astype(int), levels, ordered=True)
    return Sample(pd.DataFrame(frame), class_target(rng, predictor(rng, values[:, truth.relevant])), truth)


def beside_shuffled(
    rng: np.random.Generator, frame: pd.DataFrame, codes: np.ndarray, target: Callable[..., Any]
) -> Sample:
    """Return real columns and their copy with the rows in random order, with a target of 10 of the real ones."""
    rows = rng.permutation(len(frame))
    shuffled = frame.iloc[rows].reset_index(drop=True).add_suffix(" shuffled")
    p = frame.shape[1]
    relevant = np.isin(np.arange(2 * p), rng.choice(p, 10, replace=False))
    y = target(rng, predictor(rng, codes[:, relevant[:p]]))
    return Sample(pd.concat([frame, shuffled], axis=1), y, Truth(relevant, np.arange(2 * p) >= p))


def breast_cancer(rng: np.random.Generator) -> Sample:
    X = load_breast_cancer(as_frame=True).data
    return beside_shuffled(rng, X, X.to_numpy(), numeric_target)


def digits(rng: np.random.Generator) -> Sample:
    """Return 600 images; pixels that are constant or nearly so are left out."""
    X = load_digits(as_frame=True).data
    X = X.loc[:, (X.mode().iloc[0] != X).mean() > 0.05]
    X = X.iloc[rng.choice(len(X), 600, replace=False)].reset_index(drop=True)
    return beside_shuffled(rng, X, X.to_numpy(), class_target)


@cache
def read_credit() -> tuple[pd.DataFrame, np.ndarray]:
    from tamiz import open_table

    frame = open_table(DATA / "credit-g.arff", target="class").frame()
    frame = frame if isinstance(frame, pd.DataFrame) else frame.to_pandas()
    codes = [
        column if column.dtype.kind in "fiu" else pd.factorize(column, sort=True)[0] for _, column in frame.items()
    ]
    return frame, np.column_stack([np.asarray(column, dtype=float) for column in codes])


def credit(rng: np.random.Generator) -> Sample:
    """Return credit-g: 7 numbers and 13 categories, most without an order; the effect of a category is random for each level."""
    frame, codes = read_credit()
    codes = codes.copy()
    for j, (_, column) in enumerate(frame.items()):
        if column.dtype.kind not in "fiu":
            effects = rng.normal(size=int(codes[:, j].max()) + 1)
            codes[:, j] = effects[codes[:, j].astype(int)]
    return beside_shuffled(rng, frame, codes, class_target)


def few_rows(rng: np.random.Generator) -> np.ndarray:
    return normal_blocks(rng, autoregressive(0.5), n_rows=2 * N_COLUMNS)


DESIGNS = [
    Design("independent", "independent normal columns", simulated(lambda rng: normal_blocks(rng, np.eye(10)))),
    Design("ar-0.5", "AR(1) 0.5", simulated(lambda rng: normal_blocks(rng, autoregressive(0.5)))),
    Design("ar-0.8", "AR(1) 0.8", simulated(lambda rng: normal_blocks(rng, autoregressive(0.8)))),
    Design("exchangeable", "exchangeable 0.5", simulated(lambda rng: normal_blocks(rng, exchangeable(0.5)))),
    Design("factors", "two factors in each block of 20", simulated(factor_columns)),
    Design("heavy-tailed", "log-normal and t(3) columns, AR(1) 0.5", simulated(heavy_columns)),
    Design("mixed", "numbers and ordered categories, classes", mixed),
    Design("imbalanced", "classes 1:9, AR(1) 0.5", imbalanced),
    Design("few-rows", "160 rows, AR(1) 0.5", simulated(few_rows)),
    Design("breast-cancer", "breast cancer's 30 columns", breast_cancer, normal=False),
    Design("digits", "pixels of digits, classes", digits, normal=False),
    Design("credit-g", "credit-g's 20 columns, classes", credit, normal=False),
    Design(
        "null",
        "no relevant column, AR(1) 0.5",
        simulated(lambda rng: normal_blocks(rng, autoregressive(0.5)), n_relevant=0),
    ),
]


def available() -> list[Design]:
    """Return the designs whose data are on this machine."""
    return [design for design in DESIGNS if design.name != "credit-g" or (DATA / "credit-g.arff").exists()]

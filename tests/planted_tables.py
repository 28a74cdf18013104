"""Tables of which the truth is known: planted leaks, copies, ids, groups and sorted columns, and honest tables that look like them.

`KINDS` has a maker for each kind. Kinds whose name begins with "honest" have nothing to find. A table depends only on its kind and
its seed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from zlib import crc32

import numpy as np
import pandas as pd


@dataclass
class PlantedTable:
    """Columns, a target (text for classes), and what is planted.

    Attributes
    ----------
    leaks : list of set of str
        Columns that determine the target together.
    copies : list of set of str
        Pairs of columns of equal information.
    sums : list of set of str
        Columns of which one is the sum of the others, up to noise.
    ids : set of str
        Columns that identify rows, persons or texts, and that no method is to use.
    groups : str or None
        A column whose values are the groups of rows.
    sorted_by : str or None
    dependent : str or None
        The groups or the time of rows whose targets are alike beyond what the columns explain.
    """

    X: pd.DataFrame
    y: np.ndarray
    leaks: list[set[str]] = field(default_factory=list)
    copies: list[set[str]] = field(default_factory=list)
    sums: list[set[str]] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)
    groups: str | None = None
    sorted_by: str | None = None
    dependent: str | None = None


Rng = np.random.Generator
KINDS: dict[str, Callable[[Rng], PlantedTable]] = {}
# Names that say nothing.
NAMES = ["code", "ref", "number", "entry", "field7", "v12", "tag", "item"]


def planted_table(kind: str, seed: int) -> PlantedTable:
    return KINDS[kind](np.random.default_rng([seed, crc32(kind.encode())]))


def plant(kind: str) -> Callable[[Callable[[Rng], PlantedTable]], Callable[[Rng], PlantedTable]]:
    def register(make: Callable[[Rng], PlantedTable]) -> Callable[[Rng], PlantedTable]:
        KINDS[kind] = make
        return make

    return register


def honest_columns(rng: Rng, n: int | None = None) -> pd.DataFrame:
    """Return 8 to 18 columns of several distributions, some of them correlated: numbers, whole numbers, and categories."""
    n = int(rng.integers(300, 2001)) if n is None else n
    common = rng.normal(size=n)
    columns = {}
    for k in range(int(rng.integers(8, 19))):
        z = rng.normal(size=n)
        if rng.random() < 0.4:
            z = 0.6 * common + 0.8 * z
        make = rng.integers(0, 6)
        if make == 0:
            columns[f"x{k}"] = np.exp(0.7 * z + 3)
        elif make == 1:
            columns[f"count{k}"] = rng.poisson(np.exp(0.4 * z + 1.5))
        elif make == 2:
            columns[f"amount{k}"] = np.round(np.exp(0.5 * z + rng.uniform(6, 11))).astype(int)
        elif make == 3:
            levels = int(rng.integers(2, 9))
            codes = np.clip(np.floor((z + 2) / 4 * levels), 0, levels - 1).astype(int)
            columns[f"word{k}"] = np.array([f"{'abcdefgh'[j]}{k}" for j in range(levels)])[codes]
        else:
            columns[f"x{k}"] = z * rng.uniform(0.1, 30) + rng.uniform(-50, 50)
    # Two numbers in every table.
    columns["size"], columns["depth"] = rng.normal(20, 5, n), rng.normal(size=n)
    return pd.DataFrame(columns)


def latent(rng: Rng, X: pd.DataFrame, share: float | None = None) -> np.ndarray:
    """Return a number of which 30 to 80 % (or `share`) of the variance is a linear function of three to five columns."""
    numbers = X.select_dtypes("number")
    used = rng.choice(numbers.columns, min(len(numbers.columns), int(rng.integers(3, 6))), replace=False)
    Z = numbers[used].rank().to_numpy() / len(X) - 0.5
    signal = Z @ rng.uniform(0.5, 1.5, len(used))
    return add_noise(rng, signal, rng.uniform(0.3, 0.8) if share is None else share)


def add_noise(rng: Rng, signal: np.ndarray, share: float) -> np.ndarray:
    """Return the signal and noise that is uncorrelated with it, of which the signal is `share` of the variance."""
    signal = (signal - signal.mean()) / signal.std()
    noise = rng.normal(size=len(signal))
    noise -= noise.mean()
    noise -= signal * (noise @ signal) / len(signal)
    return np.sqrt(share) * signal + np.sqrt(1 - share) * noise / noise.std()


def classes_of(rng: Rng, values: np.ndarray, n_classes: int | None = None) -> np.ndarray:
    """Return codes of two to four classes of at least 15 % each: intervals of the values."""
    n_classes = int(rng.integers(2, 5)) if n_classes is None else n_classes
    shares = 0.15 + (1 - 0.15 * n_classes) * rng.dirichlet(np.ones(n_classes))
    return np.searchsorted(np.quantile(values, np.cumsum(shares)[:-1]), values)


def text(codes: np.ndarray) -> np.ndarray:
    return np.char.add("class ", codes.astype(str))


def flip(rng: Rng, codes: np.ndarray, share: float) -> np.ndarray:
    """Return codes of which `share` in every class are those of another class."""
    flipped, k = codes.copy(), int(codes.max()) + 1
    for code in range(k):
        rows = np.flatnonzero(codes == code)
        rows = rng.choice(rows, int(share * len(rows)), replace=False)
        flipped[rows] = (code + rng.integers(1, k, len(rows))) % k
    return flipped


def put(rng: Rng, X: pd.DataFrame, **columns: np.ndarray) -> pd.DataFrame:
    """Return the table with more columns, in random order of the columns."""
    whole = X.assign(**columns)
    return whole[rng.permutation(whole.columns.to_numpy())]


def with_classes(rng: Rng) -> tuple[pd.DataFrame, np.ndarray]:
    X = honest_columns(rng)
    return X, classes_of(rng, latent(rng, X))


def with_number(rng: Rng) -> tuple[pd.DataFrame, np.ndarray]:
    X = honest_columns(rng)
    return X, latent(rng, X) * rng.uniform(1, 100) + rng.uniform(-100, 100)


# Leaks of one column.


@plant("leak: another name of the class")
def _(rng):
    X, y = with_classes(rng)
    return PlantedTable(
        put(rng, X, status=np.array(["p", "q", "r", "s"])[rng.permutation(4)][y]), text(y), [{"status"}]
    )


@plant("leak: class with 1 to 2.2 % errors")
def _(rng):
    X, y = with_classes(rng)
    y[: 2 * 5] = np.arange(10) % (y.max() + 1)
    return PlantedTable(put(rng, X, status=flip(rng, y, rng.uniform(0.01, 0.022)) * 3 + 1), text(y), [{"status"}])


@plant("leak: monotone function of the number")
def _(rng):
    X, y = with_number(rng)
    z = (y - y.mean()) / y.std()
    leak = [np.exp(z), 2 * y + 1, np.arctan(z), -(z**3) - z][rng.integers(4)]
    return PlantedTable(put(rng, X, paid=leak), y, [{"paid"}])


@plant("leak: number with R2 of .978 to .995")
def _(rng):
    X, y = with_number(rng)
    return PlantedTable(put(rng, X, paid=add_noise(rng, y, rng.uniform(0.978, 0.995)) * 7), y, [{"paid"}])


@plant("leak: finer code of the class")
def _(rng):
    X, y = with_classes(rng)
    n_codes = int(rng.integers(20, max(41, len(y) // 8)))
    owner = np.concatenate([np.arange(y.max() + 1), rng.integers(0, y.max() + 1, n_codes)])
    weight = 1 / (1 + np.arange(len(owner))) ** rng.uniform(0, 1)
    code = np.empty(len(y), dtype=int)
    for k in range(y.max() + 1):
        mine = np.flatnonzero(owner == k)
        code[y == k] = rng.choice(mine, int((y == k).sum()), p=weight[mine] / weight[mine].sum())
    code = rng.permutation(9 * len(owner))[: len(owner)][code] + 100
    values = code if rng.random() < 0.5 else np.char.add("D", code.astype(str))
    return PlantedTable(put(rng, X, diagnosis=values), text(y), [{"diagnosis"}])


@plant("leak: all but a small class")
def _(rng):
    X = honest_columns(rng)
    y = classes_of(rng, latent(rng, X), int(rng.integers(2, 4)))
    k = int(y.max()) + 1
    result = y.copy()
    small = rng.choice(len(y), max(8, int(rng.uniform(0.01, 0.03) * len(y))), replace=False)
    y[small], result[small] = k, rng.integers(0, k, len(small))
    return PlantedTable(put(rng, X, test=np.array(["neg", "pos", "weak"])[result]), text(y), [{"test"}])


@plant("leak: missing values")
def _(rng):
    X = honest_columns(rng)
    y = classes_of(rng, latent(rng, X), 2)
    gone = flip(rng, y, rng.choice([0.0, 0.01, 0.022])).astype(bool)
    value = rng.normal(size=len(y)) if rng.random() < 0.5 else rng.choice(["home", "work", "other"], len(y))
    return PlantedTable(put(rng, X, closed=pd.Series(value).where(~gone)), text(y), [{"closed"}])


# Leaks of several columns.


def positive(rng: Rng, n: int, spread: float = 0.8) -> np.ndarray:
    return np.exp(spread * rng.normal(size=n) + rng.uniform(0, 6))


@plant("leak: sum of counts")
def _(rng):
    X = honest_columns(rng)
    k = int(rng.integers(2, 4))
    parts = {f"part{j}": np.round(positive(rng, len(X)) + 3 * np.exp(latent(rng, X))).astype(int) for j in range(k)}
    # No part is nearly the sum.
    scale = {name: 50.0 / values.std() for name, values in parts.items()}
    parts = {name: np.round(values * scale[name]).astype(int) for name, values in parts.items()}
    return PlantedTable(put(rng, X, **parts), sum(parts.values()) * 1.0 + 0.5, [set(parts)])


@plant("leak: mean of three")
def _(rng):
    X = honest_columns(rng)
    parts = {f"mark{j}": np.round(60 + 12 * latent(rng, X, 0.4), 1) for j in range(3)}
    return PlantedTable(put(rng, X, **parts), np.round(sum(parts.values()) / 3, 1), [set(parts)])


@plant("leak: difference")
def _(rng):
    X = honest_columns(rng)
    before = 100 + 20 * rng.normal(size=len(X))
    after = before + 8 * latent(rng, X)
    return PlantedTable(put(rng, X, before=before, after=after), after - before, [{"before", "after"}])


@plant("leak: product, rounded")
def _(rng):
    X = honest_columns(rng)
    rate, people = 8 * positive(rng, len(X), 0.5) / 10, positive(rng, len(X), 0.7) * 100
    y = rate * people * rng.choice([1.0, 0.01])
    return PlantedTable(put(rng, X, rate=rate, people=people), np.round(y, 1), [{"rate", "people"}])


@plant("leak: product of signed columns")
def _(rng):
    X = honest_columns(rng)
    a, b = rng.normal(size=len(X)), rng.normal(1, 1, len(X))
    return PlantedTable(put(rng, X, a=a, b=b), 10 * a * b, [{"a", "b"}])


@plant("leak: ratio")
def _(rng):
    X = honest_columns(rng)
    events, people = positive(rng, len(X)), positive(rng, len(X), 0.6)
    return PlantedTable(put(rng, X, events=events, people=people), 1000 * events / people, [{"events", "people"}])


@plant("leak: share of a sum")
def _(rng):
    X = honest_columns(rng)
    yes, no = (values / values.mean() for values in (positive(rng, len(X)), positive(rng, len(X))))
    return PlantedTable(put(rng, X, yes=yes, no=no), yes / (yes + no), [{"yes", "no"}])


@plant("leak: sum over a column")
def _(rng):
    X = honest_columns(rng)
    a, b, people = positive(rng, len(X), 0.6), positive(rng, len(X), 0.6), positive(rng, len(X), 0.5)
    a, b = a / a.mean(), b / b.mean()
    return PlantedTable(put(rng, X, a=a, b=b, people=people), (a + b) / people, [{"a", "b", "people"}])


@plant("leak: power of two columns")
def _(rng):
    X = honest_columns(rng)
    weight, height = 70 * np.exp(0.2 * rng.normal(size=len(X))), 1.7 * np.exp(0.08 * rng.normal(size=len(X)))
    return PlantedTable(
        put(rng, X, weight=weight, height=height), np.round(weight / height**2, 1), [{"weight", "height"}]
    )


@plant("leak: rating of vote shares")
def _(rng):
    X = honest_columns(rng)
    votes = rng.dirichlet(np.array([1, 2, 3, 4, 2.0]), len(X))
    shares = {f"stars{k + 1}": np.round(100 * votes[:, k], 1) for k in range(5)}
    # One share follows from the others, so that several sets of four determine the rating.
    y = np.round(votes @ np.arange(1, 6), 2)
    return PlantedTable(put(rng, X, **shares), y, [set(shares)])


@plant("leak: class by the sign of a difference")
def _(rng):
    X = honest_columns(rng)
    home, away = rng.normal(50, 10, len(X)), rng.normal(50, 10, len(X))
    return PlantedTable(put(rng, X, home=home, away=away), text((home > away).astype(int)), [{"home", "away"}])


@plant("leak: class by a limit of a sum")
def _(rng):
    X = honest_columns(rng)
    a, b = rng.normal(0, 1, len(X)), rng.normal(0, rng.uniform(1, 2), len(X))
    return PlantedTable(put(rng, X, a=a, b=b), text(classes_of(rng, a + b, int(rng.integers(2, 4)))), [{"a", "b"}])


@plant("leak: class by a weighted sum")
def _(rng):
    X = honest_columns(rng)
    a, b = rng.normal(3, 1, len(X)), rng.normal(0, 10, len(X))
    score = a * rng.uniform(0.5, 2) + b * rng.uniform(0.05, 0.2)
    return PlantedTable(put(rng, X, a=a, b=b), text(classes_of(rng, score, 2)), [{"a", "b"}])


@plant("leak: class by a limit of a ratio")
def _(rng):
    X = honest_columns(rng)
    debt, income = positive(rng, len(X)), positive(rng, len(X), 0.6)
    return PlantedTable(
        put(rng, X, debt=debt, income=income), text(classes_of(rng, debt / income, 2)), [{"debt", "income"}]
    )


# Copies: of each kind with and without missing values in other rows.


def _with_target(rng):
    X, y = with_classes(rng) if rng.random() < 0.5 else with_number(rng)
    return X, text(y) if y.dtype.kind == "i" else y


def _incomplete(rng, values, share):
    return pd.Series(values).where(rng.random(len(values)) >= share)


def _copy(rng, make, share):
    X, y = _with_target(rng)
    x = np.exp(rng.normal(size=len(X))) if rng.random() < 0.3 else 10 * rng.normal(size=len(X))
    twin = make(rng, x)
    return PlantedTable(
        put(rng, X, x=_incomplete(rng, x, share), twin=_incomplete(rng, twin, share)), y, copies=[{"x", "twin"}]
    )


def _category(rng, make, share):
    X, y = _with_target(rng)
    k = int(rng.integers(2, 20))
    code = rng.choice(k, len(X), p=rng.dirichlet(np.full(k, 2.0)))
    twin = make(rng, code)
    town = np.char.add("town ", code.astype(str)).astype(object)
    return PlantedTable(
        put(rng, X, town=_incomplete(rng, town, share), twin=_incomplete(rng, twin, share)),
        y,
        copies=[{"town", "twin"}],
    )


def _recode(rng, code):
    return np.char.add("t", rng.permutation(code.max() + 1)[code].astype(str)).astype(object)


for _share, _words in ((0.0, ""), (0.2, ", 20 % missing")):
    for _name, _make in {
        "equal": lambda rng, x: x.copy(),
        "2 x + 1": lambda rng, x: 2 * x + 1,
        "monotone": lambda rng, x: np.exp(x / x.std()) + x.mean(),
        "r = .995": lambda rng, x: add_noise(rng, x, 0.995**2),
    }.items():
        plant(f"copy: {_name}{_words}")(lambda rng, make=_make, share=_share: _copy(rng, make, share))
    plant(f"copy: recoded category{_words}")(lambda rng, share=_share: _category(rng, _recode, share))
    plant(f"copy: category as a number{_words}")(
        lambda rng, share=_share: _category(rng, lambda rng, code: rng.permutation(code.max() + 1)[code] + 1.0, share)
    )
COPY_KINDS = [kind for kind in KINDS if kind.startswith("copy: ")]


# Sums.


def _sum(rng, k, noise, share):
    X, y = _with_target(rng)
    parts = {f"part{j}": 10 * rng.normal(size=len(X)) + rng.uniform(0, 50) for j in range(k)}
    # No part is nearly the sum.
    whole = sum(
        rng.choice([1.0, -1.0]) * rng.uniform(0.8, 1.2) ** rng.integers(2) * values for values in parts.values()
    )
    parts["whole"] = add_noise(rng, whole, 1 - noise) * whole.std() + 7 if noise else whole
    columns = {name: _incomplete(rng, values, share) for name, values in parts.items()}
    return PlantedTable(put(rng, X, **columns), y, sums=[set(parts)])


for _k in (2, 3):
    plant(f"sum: of {_k}")(lambda rng, k=_k: _sum(rng, k, 0.0, 0.0))
    plant(f"sum: of {_k}, 15 % missing")(lambda rng, k=_k: _sum(rng, k, 0.0, 0.15))
    plant(f"sum: of {_k}, R2 .99")(lambda rng, k=_k: _sum(rng, k, 0.01, 0.0))


# Ids.


def _with_id(rng, make, n=None):
    X = honest_columns(rng, n)
    values = latent(rng, X)
    y = text(classes_of(rng, values)) if rng.random() < 0.5 else values
    name = str(rng.choice(NAMES))
    return PlantedTable(put(rng, X, **{name: make(len(X))}), y, ids={name})


def _hashes(rng, n):
    size = int(rng.choice([8, 12, 32, 40]))
    return ["".join(rng.choice(list("0123456789abcdef"), size)) for _ in range(n)]


def _words(rng, n):
    """Return n different words of two or three syllables, with a capital."""
    syllables = [a + b for a in "bdfgklmnprstv" for b in "aeiou"]
    words = {"".join(rng.choice(syllables, rng.integers(2, 4))).capitalize() for _ in range(3 * n)}
    return rng.permutation(sorted(words))[:n]


def _first_names(rng, n):
    weight = 1 / (10 + np.arange(400))
    return _words(rng, 400)[rng.choice(400, n, p=weight / weight.sum())]


def _job_titles(rng, n):
    ranks, areas, roles = (_words(rng, size) for size in (10, 15, 16))
    titles = rng.permutation([f"{rank} {area} {role}" for rank in ranks for area in areas for role in roles])
    weight = 1 / (20 + np.arange(len(titles)))
    return titles[rng.choice(len(titles), n, p=weight / weight.sum())]


plant("id: distinct whole numbers")(
    lambda rng: _with_id(rng, lambda n: rng.choice(int(n * rng.uniform(1, 4)), n, replace=False) + rng.choice([1, 1000, 20_000]))
)  # fmt: skip
plant("id: ascending whole numbers with gaps")(
    lambda rng: _with_id(rng, lambda n: 1000 + np.cumsum(rng.integers(1, 5, n)))
)
plant("id: numbers of 8 digits")(
    lambda rng: _with_id(rng, lambda n: rng.choice(90_000_000, n, replace=False) + 10_000_000)
)
plant("id: hashes")(lambda rng: _with_id(rng, lambda n: _hashes(rng, n)))
plant("id: repeated hashes")(
    lambda rng: _with_id(rng, lambda n: np.array(_hashes(rng, n // 5))[rng.integers(0, n // 5, n)])
)
plant("id: first names")(lambda rng: _with_id(rng, lambda n: _first_names(rng, n)))
plant("id: job titles")(lambda rng: _with_id(rng, lambda n: _job_titles(rng, n), n=int(rng.integers(5000, 12_000))))
plant("id: row number")(lambda rng: _with_id(rng, lambda n: np.arange(1, n + 1)))


# Groups and time.


@plant("groups: repeated number")
def _(rng):
    X = honest_columns(rng)
    size = int(rng.integers(2, 9))
    group = rng.permutation(np.repeat(np.arange(len(X) // size + 1), size)[: len(X)])
    k = group.max() + 1
    X = X.assign(
        age=rng.integers(20, 80, k)[group], sex=rng.choice(["f", "m"], k)[group], height=rng.normal(170, 9, k)[group]
    )
    y = latent(rng, X) + rng.normal(size=k)[group]
    number = rng.permutation(10 * k)[:k][group] + 100
    values = number if rng.random() < 0.5 else np.char.add("P", number.astype(str))
    name = str(rng.choice(NAMES))
    return PlantedTable(put(rng, X, **{name: values}), y, groups=name, dependent=name)


@plant("time: ascending column")
def _(rng):
    X = honest_columns(rng)
    y = latent(rng, X) + np.cumsum(rng.normal(size=len(X))) / 10
    return PlantedTable(
        put(rng, X, hour=np.cumsum(rng.exponential(size=len(X)))), y, sorted_by="hour", dependent="hour"
    )


def of_patients(rng: Rng, n_columns: int = 3) -> tuple[pd.DataFrame, np.ndarray]:
    """Return columns of visits and of patients, and the patient of each row."""
    patient = rng.permutation(np.repeat(np.arange(int(rng.integers(60, 400))), int(rng.integers(3, 9))))
    k = patient.max() + 1
    own = {f"own{j}": rng.normal(size=k)[patient] * rng.uniform(1, 20) for j in range(n_columns)}
    visits = {f"visit{j}": rng.normal(size=len(patient)) for j in range(3)}
    number = rng.permutation(10 * k)[:k][patient] + 100
    return pd.DataFrame({"number": number, **own, **visits}), patient


@plant("groups: target constant in patients")
def _(rng):
    X, patient = of_patients(rng)
    return PlantedTable(X, text(rng.integers(0, 2, patient.max() + 1)[patient]), groups="number", dependent="number")


@plant("groups: a column of the patients decides")
def _(rng):
    X, _ = of_patients(rng)
    y = (X["own0"] / X["own0"].std() + X["visit0"] + rng.normal(size=len(X)) * rng.uniform(0.5, 2)).to_numpy()
    y = y if rng.random() < 0.5 else text((y > np.median(y)).astype(int))
    return PlantedTable(X, y, groups="number", dependent="number")


def panel(rng: Rng) -> tuple[pd.DataFrame, np.ndarray]:
    """Return columns of units in periods, of which a tenth of the rows are missing, and the unit of each row."""
    k, n_periods = int(rng.integers(30, 200)), int(rng.integers(4, 13))
    unit = np.repeat(np.arange(k), n_periods)
    X = pd.DataFrame({"unit": rng.permutation(10 * k)[unit] + 100, "year": np.tile(np.arange(n_periods) + 1990, k)})
    own = rng.normal(size=(k, 3))[unit] + rng.uniform(0.1, 1) * rng.normal(size=(len(unit), 3))
    X = X.assign(**{f"own{j}": own[:, j] for j in range(3)}, here=rng.normal(size=len(unit)))
    kept = np.sort(rng.permutation(len(unit))[: int(0.9 * len(unit))])
    return X.iloc[kept].reset_index(drop=True), unit[kept]


@plant("groups: units of a panel")
def _(rng):
    X, unit = panel(rng)
    y = rng.normal(size=unit.max() + 1)[unit] + rng.uniform(0.1, 0.5) * rng.normal(size=len(unit))
    y = y if rng.random() < 0.5 else text((y > np.median(y)).astype(int))
    return PlantedTable(X, y, groups="unit", dependent="unit")


@plant("time: drift by date")
def _(rng):
    X = honest_columns(rng)
    walk = np.cumsum(rng.normal(size=len(X)))
    day = pd.Timestamp("2019-03-04") + pd.to_timedelta(np.cumsum(rng.integers(0, 3, len(X))), unit="D")
    level = walk / walk.std() + 0.1 * rng.normal(size=len(X))
    y = walk / walk.std() + 0.5 * rng.normal(size=len(X))
    return PlantedTable(put(rng, X, day=day, level=level), y, dependent="day", sorted_by="day")


# Honest tables.


@plant("honest: classes")
def _(rng):
    X, y = with_classes(rng)
    return PlantedTable(X, text(y))


@plant("honest: number")
def _(rng):
    return PlantedTable(*with_number(rng))


@plant("honest: patients without an effect")
def _(rng):
    X, _ = of_patients(rng)
    y = rng.choice([0.0, 1.0]) * X["visit0"].to_numpy() + rng.normal(size=len(X)) * rng.uniform(0.5, 2)
    return PlantedTable(X, y if rng.random() < 0.5 else text((y > np.median(y)).astype(int)), groups="number")


@plant("honest: a panel without an effect")
def _(rng):
    X, unit = panel(rng)
    y = rng.choice([0.0, 1.0]) * X["here"].to_numpy() + rng.normal(size=len(unit)) * rng.uniform(0.5, 2)
    return PlantedTable(X, y if rng.random() < 0.5 else text((y > np.median(y)).astype(int)), groups="unit")


@plant("honest: sorted by a feature")
def _(rng):
    X = honest_columns(rng)
    X = X.assign(age=rng.gamma(6, 7, len(X)), weight=0.0).sort_values("age", ignore_index=True)
    X["weight"] = 40 + X["age"] / 3 + 8 * rng.normal(size=len(X))
    y = (X["age"] / 10 + X["weight"] / 10 + rng.normal(size=len(X)) * rng.uniform(0.5, 3)).to_numpy()
    return PlantedTable(X, y if rng.random() < 0.5 else text((y > np.median(y)).astype(int)), sorted_by="age")


@plant("honest: dates without drift")
def _(rng):
    X, y = with_classes(rng) if rng.random() < 0.5 else with_number(rng)
    days = rng.integers(0, 900, len(X))
    days = np.sort(days) if rng.random() < 0.5 else days
    X = X.assign(day=pd.Timestamp("2019-03-04") + pd.to_timedelta(days, unit="D"))
    return PlantedTable(
        X, text(y) if y.dtype.kind == "i" else y, sorted_by="day" if np.all(np.diff(days) >= 0) else None
    )


@plant("honest: noise")
def _(rng):
    X = honest_columns(rng)
    return PlantedTable(X, text(rng.integers(0, 3, len(X))) if rng.random() < 0.5 else rng.normal(size=len(X)))


@plant("honest: a column of AUC .97")
def _(rng):
    X = honest_columns(rng)
    y = classes_of(rng, latent(rng, X), 2)
    # Two normal distributions at a distance of 2.66 standard deviations.
    return PlantedTable(put(rng, X, marker=rng.normal(size=len(X)) + 2.66 * y), text(y))


@plant("honest: a column of R2 .95")
def _(rng):
    X, y = with_number(rng)
    return PlantedTable(put(rng, X, marker=add_noise(rng, y, 0.95)), y)


@plant("honest: linear in all columns, R2 .95")
def _(rng):
    X = honest_columns(rng)
    Z = X.select_dtypes("number").to_numpy()
    Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
    return PlantedTable(X, add_noise(rng, Z @ rng.uniform(0.3, 1, Z.shape[1]), 0.95))


@plant("honest: classes by all columns, 2 % noise")
def _(rng):
    X = honest_columns(rng)
    Z = X.select_dtypes("number").rank().to_numpy()
    return PlantedTable(X, text(flip(rng, classes_of(rng, Z @ rng.uniform(0.3, 1, Z.shape[1]), 2), 0.02)))


@plant("honest: two columns of R2 .95 together")
def _(rng):
    X = honest_columns(rng)
    a, b = rng.normal(size=len(X)), rng.normal(size=len(X))
    return PlantedTable(put(rng, X, a=a, b=b), add_noise(rng, a + b, 0.95))


@plant("honest: two columns of AUC .97 together")
def _(rng):
    X = honest_columns(rng)
    y = classes_of(rng, latent(rng, X), 2)
    a, b = (rng.normal(size=len(X)) + 1.88 * y for _ in range(2))
    return PlantedTable(put(rng, X, a=a, b=b), text(y))


@plant("honest: product with noise")
def _(rng):
    X = honest_columns(rng)
    a, b = rng.normal(size=len(X)), rng.normal(size=len(X))
    y = add_noise(rng, a * b, rng.uniform(0.5, 0.95))
    return PlantedTable(put(rng, X, a=a, b=b), y if rng.random() < 0.5 else text((y > 0).astype(int)))


@plant("honest: nearly as many columns as rows")
def _(rng):
    n = int(rng.integers(40, 80))
    X = pd.DataFrame(rng.normal(size=(n, n - 8))).add_prefix("x")
    y = add_noise(rng, X.to_numpy() @ rng.normal(size=n - 8), 0.95)
    return PlantedTable(X, y if rng.random() < 0.5 else text((y > 0).astype(int)))


@plant("honest: two columns of r = .8")
def _(rng):
    X, y = with_classes(rng)
    a = rng.normal(size=len(X))
    return PlantedTable(put(rng, X, a=a, b=add_noise(rng, a, 0.64)), text(y))


@plant("honest: two columns of r = .8, 20 % missing")
def _(rng):
    X, y = with_classes(rng)
    a = rng.normal(size=len(X))
    b = add_noise(rng, a, 0.64)
    return PlantedTable(put(rng, X, a=_incomplete(rng, a, 0.2), b=_incomplete(rng, b, 0.2)), text(y))


@plant("honest: categories of many levels")
def _(rng):
    X, y = _with_target(rng)
    many = {}
    for name in ("town", "shop", "street", "brand"):
        k = int(rng.integers(15, max(16, len(X) // 8)))
        weight = 1 / (1 + np.arange(k)) ** rng.uniform(0, 1)
        many[name] = np.char.add(f"{name} ", rng.choice(k, len(X), p=weight / weight.sum()).astype(str))
    return PlantedTable(put(rng, X, **many), y)


@plant("honest: few rows")
def _(rng):
    n = int(rng.integers(12, 40))
    X = pd.DataFrame(rng.normal(size=(n, 20))).add_prefix("x")
    for k in range(10):
        X[f"word{k}"] = np.char.add("w", rng.integers(0, int(rng.integers(2, 7)), n).astype(str))
        X[f"count{k}"] = rng.poisson(2, n)
    return PlantedTable(X, rng.normal(size=n))


@plant("honest: whole numbers of many values")
def _(rng):
    X, y = with_number(rng)
    z = (y - y.mean()) / y.std()
    made = {
        "income": np.round(np.exp(0.3 * z + 0.5 * rng.normal(size=len(X)) + 10.5)),
        "steps": np.round(rng.uniform(0, 100_000, len(X))),
        "grams": np.round(rng.normal(3300, 500, len(X))),
        "people": np.round(np.exp(rng.normal(13, 1.5, len(X)))),
    }
    return PlantedTable(put(rng, X, **{name: values.astype(int) for name, values in made.items()}), y)


@plant("honest: a category of 60 levels")
def _(rng):
    X, y = with_classes(rng)
    weight = 1 / (1 + np.arange(60)) ** rng.uniform(0, 1)
    rng.shuffle(weight)
    town = rng.choice(60, len(X), p=weight / weight.sum())
    kept = rng.normal(size=60)[town] > 0
    y = np.where(kept & (rng.random(len(X)) < 0.4), 0, y)
    return PlantedTable(put(rng, X, town=np.char.add("town ", town.astype(str))), text(y))


@plant("honest: values missing by class")
def _(rng):
    X, y = with_classes(rng)
    value = pd.Series(rng.normal(size=len(X))).where(rng.random(len(X)) < np.where(y == 0, 0.85, 0.1))
    return PlantedTable(put(rng, X, lab=value), text(y))

"""The law of every statistic: updating parts and merging them equals updating with all rows."""

import numpy as np
import pytest

import tamiz.criteria
import tamiz.reduction
from tamiz.arrays import is_missing
from tamiz.models.design_matrix import DesignEncoder, FoldProductSums, PredictionCounts, RowRoles, TrainingSums
from tamiz.runtime import parallel
from tamiz.statistics.base import Block, Statistic
from tamiz.statistics.contingency import CodedRows, Coding, ContingencyTables, LevelCounts
from tamiz.statistics.cross_products import CommonRows, LevelIndicators, ScatterMatrix
from tamiz.statistics.cuts import MDL, CutPoints, EqualFrequency, EqualWidth
from tamiz.statistics.moments import ClassMoments, LevelMoments, Moments, TargetCovariances
from tamiz.statistics.target_ranks import TargetRanks
from tamiz.table.schema import Column, Schema

# Columns 0 and 1 are numeric, 2 and 3 categorical; 4 is the target, with three classes.
N_COLUMNS, N_CLASSES, TARGET = 4, 3, 4
SIZES = {0: 3, 1: 4, 2: 3, 3: 5, TARGET: N_CLASSES}
EDGES = {0: np.array([-0.5, 0.5]), 1: np.array([-1.0, 0.0, 1.0])}
CODING = Coding(SIZES, EDGES)


def cut_values(statistic):
    return [statistic.edges[column] for column in statistic.columns]


# Three folds of the 150 rows: the last trains on the rows before its own, and leaves out the others.
FOLD_OF = np.arange(150) % 3
ROLES = RowRoles(
    tuple(np.where(fold == FOLD_OF, 2, 1 if fold < 2 else FOLD_OF == 0).astype(np.int8) for fold in range(3)),
    ((np.arange(150) * 7 % N_CLASSES).astype(np.int8), np.cos(np.arange(150.0))),
)
ENCODER = DesignEncoder(
    Schema(
        columns=(
            *(Column(name, "numeric") for name in "ab"),
            Column("c", "categorical", tuple("xyz")),
            Column("d", "categorical", tuple("vwxyz")),
        ),
        n_rows=150,
    ),
    "codes",
)


def predict_by_sign(block, test_rows, codes, counts, doubtful):
    """Predict class 1 for positive values of column 0, and 0 for others."""
    for fold, rows in enumerate(test_rows):
        predicted = (block.values[0][rows] > 0).astype(int)
        np.add.at(counts[0, fold], (codes[rows], predicted), block.weight_or_ones[rows])
        doubtful[0, fold] |= bool((predicted == 0).all())


def predict_nothing(block, test_rows, codes, counts, doubtful):
    pass


# For each statistic: functions that make it with different keys, its values, and whether they are sums of whole numbers, which
# are exact in any grouping.
MAKERS = {
    ContingencyTables: (
        [
            lambda: ContingencyTables([(0, TARGET), (2, TARGET), (2, 3), (1, 2)], CODING),
            lambda: ContingencyTables([(2, TARGET)], CODING),
            lambda: ContingencyTables([(0, TARGET)], Coding(SIZES, {**EDGES, 0: np.array([-0.5, 0.6])})),
        ],
        lambda s: s.tables,
        True,
    ),
    LevelCounts: (
        [
            lambda: LevelCounts((0, 2, 3, TARGET), CODING),
            lambda: LevelCounts((2, 3), CODING),
            lambda: LevelCounts((2, 3), Coding({2: 3, 3: 6}, {})),
        ],
        lambda s: s.counts,
        True,
    ),
    CodedRows: (
        [
            lambda: CodedRows((0, 2, 3, TARGET), CODING),
            lambda: CodedRows((2, 3), CODING),
            lambda: CodedRows((2, 3), Coding({2: 3, 3: 300}, {})),
        ],
        lambda s: [s.codes, s.weight],
        True,
    ),
    CommonRows: ([lambda: CommonRows((0, 2, 3)), lambda: CommonRows((2, 3))], lambda s: [s.counts], True),
    CutPoints: (
        [
            lambda: CutPoints((0, 1), MDL(), N_CLASSES),
            lambda: CutPoints((0,), MDL(), N_CLASSES),
            lambda: CutPoints((0, 1), EqualFrequency(4), N_CLASSES),
            lambda: CutPoints((0, 1), EqualFrequency(5), N_CLASSES),
            lambda: CutPoints((0, 1), EqualWidth(4), N_CLASSES),
        ],
        cut_values,
        True,
    ),
    ClassMoments: (
        [lambda: ClassMoments((0, 1), N_CLASSES), lambda: ClassMoments((1,), N_CLASSES)],
        lambda s: [s.weight, s.mean, s.squared_deviations, s.minimum, s.maximum],
        False,
    ),
    Moments: (
        [lambda: Moments((0, 1)), lambda: Moments((1,))],
        lambda s: [s.weight, s.mean, s.squared_deviations, s.minimum, s.maximum],
        False,
    ),
    LevelMoments: (
        [
            lambda: LevelMoments((2,), 3, False),
            lambda: LevelMoments((2,), 4, True),
            lambda: LevelMoments((3,), 6, True),
        ],
        lambda s: [s.weight, s.mean, s.squared_deviations, s.minimum, s.maximum],
        False,
    ),
    TargetCovariances: (
        [lambda: TargetCovariances((0, 1)), lambda: TargetCovariances((1,))],
        lambda s: [s.weight, s.column_squares, s.target_squares, s.products],
        False,
    ),
    TrainingSums: (
        [
            lambda: TrainingSums((Moments((0, 1)), LevelCounts((2, 3), CODING)), ROLES),
            lambda: TrainingSums((Moments((1,)),), ROLES),
        ],
        lambda s: [value for fold in s.folds for one in fold for value in MAKERS[type(one)][1](one)],
        False,
    ),
    FoldProductSums: (
        [
            lambda: FoldProductSums(ENCODER, ROLES, N_CLASSES, centred=True),
            lambda: FoldProductSums(ENCODER, ROLES, N_CLASSES, centred=False),
        ],
        lambda s: [value for one in (*s.train, *s.test) for value in vars(one).values()],
        False,
    ),
    PredictionCounts: (
        [
            lambda: PredictionCounts((0, 1), ROLES, predict_by_sign, (1, 3, N_CLASSES, N_CLASSES)),
            lambda: PredictionCounts((0,), ROLES, predict_nothing, (1, 3, N_CLASSES, N_CLASSES)),
        ],
        lambda s: [s.counts],
        True,
    ),
    TargetRanks: (
        [
            lambda: TargetRanks((0, 1), {}, N_CLASSES, missing_is_level=False),
            lambda: TargetRanks((0, 1, 2, 3), {2: 3, 3: 5}, 0, missing_is_level=False),
            lambda: TargetRanks((0, 1, 2, 3), {2: 3, 3: 5}, 0, missing_is_level=True),
        ],
        lambda s: [np.hstack(list(vars(s.ranks[column]).values())) for column in s.columns],
        True,
    ),
    ScatterMatrix: (
        [
            lambda: ScatterMatrix((0, 1), (LevelIndicators(2, 3), LevelIndicators(3, 5)), (0, 2, 3)),
            lambda: ScatterMatrix((0, 1), (LevelIndicators(2, 3, 1), LevelIndicators(3, 5, 0)), (0,)),
            lambda: ScatterMatrix((1, TARGET), ()),
            lambda: ScatterMatrix((0, 1), (), (0,)),
            lambda: ScatterMatrix((0, 1), (), (0, 1)),
            lambda: ScatterMatrix((0, 1), (LevelIndicators(2, 3),), (0, 2), with_squares=True),
        ],
        lambda s: [
            s.mean,
            s.matrix,
            *s.pairwise_covariance(),
            np.array([s.total_weight]),
            s.correlations() if s.with_squares else s.imputed_correlations(),
        ],
        False,
    ),
}
CASES = [
    pytest.param(cls, make, id=f"{cls.__name__}-{k}")
    for cls, entry in MAKERS.items()
    for k, make in enumerate(entry[0])
]


def all_subclasses(cls):
    return {cls, *(below for child in cls.__subclasses__() for below in all_subclasses(child))}


def make_block(seed, n=150, *, weighted=False):
    rng = np.random.default_rng(seed)
    values = {
        0: rng.normal(size=n).round(1),
        1: rng.normal(size=n).round(1),
        2: rng.integers(-1, SIZES[2], n).astype(np.int8),
        3: rng.integers(-1, SIZES[3], n).astype(np.int16),
    }
    values[0][rng.random(n) < 0.1] = np.nan
    y = rng.integers(0, N_CLASSES, n).astype(np.int32)
    values[0] = (values[0] + y).round(1)
    return Block(range(n), values, y, rng.integers(0, 4, n).astype(float) if weighted else None)


def repeated(block):
    times = block.weight.astype(int)
    values = {j: column.repeat(times) for j, column in block.values.items()}
    return Block(range(int(times.sum())), values, block.y.repeat(times), None)


def counted(statistic):
    statistic.finish()
    return [np.asarray(part) for part in MAKERS[type(statistic)][1](statistic)]


def assert_counted_alike(ours, theirs, *, exact):
    for a, b in zip(counted(ours), counted(theirs), strict=True):
        assert a.shape == b.shape
        if exact:
            np.testing.assert_array_equal(a, b)
        else:
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-11)
    assert ours.n_samples == theirs.n_samples


def random_parts(block, rng):
    """The block split at random rows; some parts have one row and some none."""
    n = len(block.rows)
    cuts = np.sort(rng.integers(0, n + 1, rng.integers(1, 12)))
    first = int(rng.integers(0, n - 1))
    cuts = np.sort([*cuts, first, first, first + 1])
    return [block.slice_rows(int(a), int(b)) for a, b in zip([0, *cuts], [*cuts, n], strict=True)]


def merged(make, parts, rng):
    """The statistics of the parts, merged in a random binary tree in their order; some are updated with an empty block too."""
    filled = []
    for part in parts:
        filled.append(make().update(part))
        if rng.random() >= 0.9:
            filled[-1].update(part.slice_rows(part.rows.stop, part.rows.stop))
    while len(filled) > 1:
        k = int(rng.integers(0, len(filled) - 1))
        filled[k : k + 2] = [filled[k].merge(filled[k + 1])]
    return filled[0]


def test_every_statistic_has_an_entry_here():
    for package in (tamiz.criteria, tamiz.reduction):
        for entry in package.registry:
            entry.load()
    concrete = {cls for cls in all_subclasses(Statistic) if not getattr(cls, "__abstractmethods__", None)}
    ours = {cls for cls in concrete if cls.__module__.startswith("tamiz.")}
    assert ours == set(MAKERS)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("cls", "make"), CASES)
def test_parts_merged_in_any_grouping_are_the_whole(cls, make, weighted):
    for seed in range(12):
        rng = np.random.default_rng(seed)
        block = make_block(seed, weighted=weighted)
        assert_counted_alike(merged(make, random_parts(block, rng), rng), make().update(block), exact=MAKERS[cls][2])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("cls", "make"), CASES)
def test_parts_that_one_statistic_takes_in_one_after_another_are_the_whole(cls, make, weighted):
    for seed in range(12):
        block = make_block(seed, weighted=weighted)
        one = make()
        for part in random_parts(block, np.random.default_rng(seed)):
            one.update(part)
        assert_counted_alike(one, make().update(block), exact=MAKERS[cls][2])


# Rows that are kept, counted without weights, or have a role by their number.
BY_ROW = ("CodedRows", "CommonRows", "TrainingSums", "FoldProductSums", "PredictionCounts")


@pytest.mark.parametrize(("cls", "make"), [case for case in CASES if not case.id.startswith(BY_ROW)])
def test_integer_weights_are_repeated_rows(cls, make):
    for seed in range(12):
        block = make_block(seed, weighted=True)
        ours, theirs = make().update(block), make().update(repeated(block))
        for a, b in zip(counted(ours), counted(theirs), strict=True):
            if MAKERS[cls][2]:
                np.testing.assert_array_equal(a, b)
            else:
                np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-11)


def test_common_rows_are_counted_without_their_weights():
    block = make_block(0, weighted=True)
    present = np.array([~is_missing(block.values[j]) for j in (0, 2, 3)], dtype=int)
    np.testing.assert_array_equal(CommonRows((0, 2, 3)).update(block).counts, present @ present.T)


def test_coded_rows_keep_each_row_once_with_its_weight():
    block = make_block(3, weighted=True)
    rows = CodedRows((2, 3), CODING).update(block)
    rows.finish()
    np.testing.assert_array_equal(rows.weight, block.weight)
    for k, j in enumerate((2, 3)):
        np.testing.assert_array_equal(rows.codes[k], np.where(block.values[j] < 0, SIZES[j], block.values[j]))


@pytest.mark.parametrize(("cls", "make"), CASES)
def test_an_empty_copy_has_seen_nothing(cls, make):
    filled = make().update(make_block(0))
    fresh = filled.empty()
    assert type(fresh) is cls
    assert fresh.n_samples == 0
    assert fresh.key == filled.key
    assert_counted_alike(fresh, make(), exact=True)


@pytest.mark.parametrize(("cls", "make"), CASES)
def test_merging_nothing_changes_nothing(cls, make):
    block = make_block(1)
    whole = make().update(block)
    assert_counted_alike(make().merge(make().update(block)), whole, exact=True)
    assert_counted_alike(make().update(block).merge(make()), make().update(block), exact=True)


@pytest.mark.parametrize(("cls", "make"), CASES)
def test_a_block_of_no_rows_changes_nothing(cls, make):
    block = make_block(1)
    assert_counted_alike(make().update(block).update(block.slice_rows(0, 0)), make().update(block), exact=True)


@pytest.mark.parametrize(("cls", "make"), CASES)
def test_updating_and_merging_return_the_statistic_itself(cls, make):
    one = make()
    assert one.update(make_block(0)) is one
    assert one.merge(make()) is one


@pytest.mark.parametrize(("cls", "make"), CASES)
def test_merging_leaves_what_the_other_has_seen(cls, make):
    block = make_block(2)
    other = make().update(block)
    make().update(make_block(3)).merge(other)
    assert_counted_alike(other, make().update(block), exact=True)


def test_keys_are_equal_just_when_the_same_is_counted():
    made = [(case.values[1], case.values[1]()) for case in CASES]
    for make, one in made:
        assert make().key == one.key
        assert hash(make().key) == hash(one.key)
    keys = [one.key for _, one in made]
    assert len(set(keys)) == len(keys)


def test_cut_points_of_rules_without_classes_do_not_depend_on_how_many_classes_there_are():
    assert CutPoints((0,), EqualWidth(), 2).key == CutPoints((0,), EqualWidth(), 3).key
    assert CutPoints((0,), MDL(), 2).key != CutPoints((0,), MDL(), 3).key


@pytest.mark.parametrize(("cls", "make"), CASES)
def test_threads_do_not_change_a_bit(cls, make):
    block = make_block(4, weighted=True)
    parts = list(block.split_rows(16))
    results = []
    for n_jobs in (1, 2):
        with parallel.thread_session(n_jobs):
            total = make()
            for part in parallel.map_blocks(lambda piece: make().update(piece), parts):
                total.merge(part)
            results.append(total)
            total.finish()
    for a, b in zip(*(MAKERS[cls][1](total) for total in results), strict=True):
        np.testing.assert_array_equal(a, b)

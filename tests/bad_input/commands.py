"""Command lines with something wrong in them: a line each, with the exit status and what is said.

Status 1 is bad data, 2 a wrong command line.
"""

from __future__ import annotations

from .files import GOOD, ROWS, table

_CLASS = [row[3] for row in ROWS]
_DISTANCES = [[str(abs(i - j)) for j in range(6)] for i in range(6)]


def _columns(**columns: list[str]) -> str:
    return table(names=tuple(columns), rows=list(zip(*columns.values(), strict=True)))


def _matrix(*rows: str) -> str:
    return "\n".join(["a,b,c", *rows]) + "\n"


def _beside(name: str, values: list[str]) -> str:
    """Return a table of a number, another column and a target."""
    return _columns(**{"u": [row[0] for row in ROWS], name: values, "y": _CLASS})


_LINES = [str(i) for i in range(24)]
_ONES = ["1"] * 24

# The files of the folder in which every command runs.
FILES = {
    "t.csv": GOOD,
    "ids.csv": _columns(id=_LINES, name=[f"k{i}" for i in _LINES], y=_CLASS),
    "one.csv": "u,y\n1,a\n",
    "target.csv": _columns(y=_CLASS),
    "constant.csv": _columns(u=_LINES, y=["a"] * 24),
    "missing.csv": _columns(u=_LINES, y=[""] * 24),
    "upper.csv": _columns(u=_LINES, TARGET=_CLASS),
    "weight.csv": _beside("w", ["1", "1", "1", "-1", *_ONES[4:]]),
    "zero.csv": _beside("w", ["0"] * 24),
    "nothing.csv": _beside("w", ["1", "1", "1", "", *_ONES[4:]]),
    "group.csv": _beside("p", ["1", "1", "1", "", *_ONES[4:]]),
    "time.csv": _beside("p", ["2020-01-01", "2020-01-02", "2020-01-03", "soon", *["2020-01-05"] * 20]),
    "times.csv": _beside("p", ["2020-01-01", "2020-01-02", "2020-01-03", "", *["2020-01-05"] * 20]),
    "infinite.csv": _beside("v", ["1", "2", "3", "inf", *_ONES[4:]]),
    "large.csv": _beside("v", ["1", "2", "3", "1e200", *_ONES[4:]]),
    "wide.csv": table(
        names=(*(f"v{j}" for j in range(40)), "y"),
        rows=[(*(f"{(i * j + i * i * (j + 3)) % 101}.5" for j in range(40)), "ab"[i % 2]) for i in range(24)],
    ),
    "d.csv": table(names=tuple("abcdef"), rows=[tuple(row) for row in _DISTANCES]),
    "negative.csv": _matrix("0,-1,2", "-1,0,3", "2,3,0"),
    "asymmetric.csv": _matrix("0,1,2", "5,0,3", "2,3,0"),
    "diagonal.csv": _matrix("1,1,2", "1,0,3", "2,3,0"),
    "hole.csv": _matrix("0,1,2", "1,0,", "2,,0"),
    "text.csv": _matrix("0,x,2", "x,0,3", "2,3,0"),
    "junk.tamiz": "nonsense",
    "old.journal": "nonsense",
    "bad.toml": "target = \n",
    "unknown.toml": "tarquet = 'y'\n",
    "section.toml": "[study]\ntarget = 'y'\n",
    "array.json": "[1,2",
    "object.json": "{}",
}

COMMANDS: list[tuple[str, int, str]] = [
    # The command line.
    ("ranke t.csv", 2, r"There is no command 'ranke' \(did you mean 'rank'\?\)"),
    ("rank", 2, r"Missing argument 'TABLE'"),
    ("rank t.csv d.csv", 2, r"unexpected extra argument \(d\.csv\)"),
    ("rank t.csv --target", 2, r"Option '--target' requires an argument"),
    ("rank t.csv --nonsense", 2, r"No such option '--nonsense'"),
    ("demo nonsense", 2, r"unexpected extra argument \(nonsense\)"),
    ("explain TZ999", 1, r"There is no code 'TZ999' \(did you mean 'TZ\d+'\?\)"),
    ("methods nonsense", 2, r"unexpected extra argument"),
    ("rank t.csv -t y --top 0", 2, r"0 is not in the range x>=1"),
    ("rank t.csv -t y --top x", 2, r"'x' is not a valid integer"),
    ("rank t.csv -t y --workers 0", 2, r"0 is not in the range x>=1"),
    ("rank t.csv -t y --workers 2", 1, r"Workers read Parquet files only, and t\.csv is none\. Convert it: pyarrow"),
    ("rank t.csv -t y --memory lots", 2, r"memory must be a size such as 800MB.*got 'lots'"),
    ("rank t.csv -t y --memory 10MB", 1, r"10 MB of memory are too little.*at least \d+ MB"),
    ("rank t.csv -t y --relevance relief", 2, r"'relief' is no relevance \(did you mean 'relieff'\?\)"),
    ("rank t.csv -t y --relevance ''", 2, r"is no relevance"),
    ("select t.csv -t y --search beams", 2, r"'beams' is no search \(did you mean 'beam'\?\)"),
    ("select t.csv -t y --search beam:x", 2, r"--search beam: width must be a whole number of at least 1, got 'x'"),
    ("select t.csv -t y --search beam:0", 2, r"width must be a whole number of at least 1, got '0'"),
    ("select t.csv -t y --merit nonsense", 2, r"'nonsense' is no merit; there are: cfs, mrmr"),
    ("select t.csv -t y --merit wrapper", 2, r"a wrapper needs a model: wrapper:NAME with one of gaussian-nb"),
    ("select t.csv -t y --merit wrapper:nonsense", 2, r"nonsense"),
    ("select t.csv -t y --n-features 0", 2, r"'0' is not a number of columns such as 3, a share"),
    ("select t.csv -t y --n-features 3-1", 2, r"'3-1' is not a number of columns"),
    ("select t.csv -t y --n-features x", 2, r"'x' is not a number of columns"),
    ("select t.csv -t y --n-features 9", 1, r"n_features=9 exceeds the 3 columns of the table; ask for at most 3"),
    ("select t.csv -t y --max-seconds 0", 2, r"0\.0 is not in the range x>0"),
    ("select t.csv -t y --max-evaluations 0", 2, r"0 is not in the range x>=1"),
    (
        "select wide.csv -t y --search exhaustive",
        1,
        r"1\.1e\+12 sets, and at most 6\.9e\+10 can be evaluated.*branch-and-bound",
    ),
    ("reduce t.csv --method nonsense", 2, r"'nonsense' is no map; there are: pca"),
    ("reduce t.csv --method pca --components 0", 2, r"0 is not in the range x>=1"),
    ("reduce t.csv --method mds --dissimilarity nonsense", 2, r"'nonsense' is no dissimilarity; there are: euclidean"),
    ("study t.csv -t y --reduce nonsense", 2, r"'nonsense' is no map"),
    ("study t.csv -t y --max-seconds -1", 2, r"-1\.0 is not in the range x>0"),
    ("study t.csv -t y --config none.toml", 2, r"none\.toml cannot be read: no such file"),
    ("study t.csv --config bad.toml", 2, r"bad\.toml is not TOML: invalid value \(at line 1"),
    (
        "study t.csv --config unknown.toml",
        2,
        r"unknown\.toml, line 1, tarquet: there is no such key \(did you mean 'target'\?\)",
    ),
    (
        "study t.csv --config section.toml",
        2,
        r"section\.toml, line 1, study: there is no such key; there are table, target",
    ),
    # Columns and their roles.
    ("rank t.csv -t z", 1, r"There is no column 'z' for the target; columns: u, v, g, y\."),
    ("rank t.csv -t Y", 1, r"There is no column 'Y' for the target \(did you mean 'y'\?\)"),
    ("rank upper.csv -t target", 1, r"did you mean 'TARGET'\?"),
    ("rank upper.csv -t taregt", 1, r"did you mean 'TARGET'\?"),
    ("select upper.csv -t target", 1, r"did you mean 'TARGET'\?"),
    ("study upper.csv -t target", 1, r"did you mean 'TARGET'\?"),
    ("reduce upper.csv -t target --method pca", 1, r"did you mean 'TARGET'\?"),
    ("compare upper.csv -t target", 1, r"did you mean 'TARGET'\?"),
    ("compare-tables upper.csv upper.csv -t target", 1, r"did you mean 'TARGET'\?"),
    ("rank t.csv -t y --weight z", 1, r"There is no column 'z' for the weight"),
    ("rank t.csv -t y --weight y", 1, r"Column 'y' cannot be both the target and the weight"),
    ("rank t.csv -t y --weight g", 1, r"line 2, column g: 'p' is not a number"),
    ("rank weight.csv -t y --weight w", 1, r"line 5: the weight -1\.0 is not a number of at least 0"),
    ("rank zero.csv -t y --weight w", 1, r"Every weight is zero; at least one must be positive"),
    ("rank nothing.csv -t y --weight w", 1, r"line 5: the weight is missing, but every row needs one"),
    ("rank t.csv -t y --weight u --weights frequency", 1, r"line 2.*0\.5"),
    ("rank t.csv -t y --weights frequency", 1, r"--weights\) states what the weights are, but the rows have none"),
    ("select t.csv -t y --group z", 1, r"There is no column 'z' for the group"),
    ("select group.csv -t y --group p", 1, r"line 5: the group is missing, but every row needs one"),
    ("select time.csv -t y --time p", 1, r"line 5, column p: 'soon' is not a time in the format of the others"),
    ("select times.csv -t y --time p", 1, r"line 5: the time is missing, but every row needs one"),
    ("select t.csv -t y --fixed z", 1, r"fixed contains 'z', which is not a column"),
    ("select t.csv -t y --exclude z", 1, r"excluded contains 'z', which is not a column"),
    ("select t.csv -t y --fixed u --exclude u", 1, r"'u'"),
    ("reduce t.csv --method pca --keep z", 1, r"There is no column 'z' to keep"),
    ("rank t.csv -t y --kinds u", 2, r"'u' is not of the form column=kind"),
    ("rank t.csv -t y --kinds u=number", 2, r"did you mean 'numeric'\?"),
    ("rank t.csv -t y --kinds z=numeric", 1, r"kinds contains 'z', which is not a column"),
    ("rank t.csv -t y --kinds g=numeric", 1, r"line 2, column g: 'p' is not a number"),
    ("rank t.csv -t y --kinds g=date", 1, r"line 2, column g: 'p' is not a date"),
    ("rank t.csv -t y --kinds v=boolean", 1, r"Column v has 5 distinct values, and a boolean has 2"),
    # Tables.
    ("rank one.csv -t y", 1, r"The table has 1 sample"),
    ("rank target.csv -t y", 1, r"The table has no column beside the target"),
    ("rank constant.csv -t y", 1, r"Target 'y' is constant: 1 class, 'a' in all 24 rows"),
    ("rank missing.csv -t y", 1, r"Target 'y' is missing in every row"),
    ("rank infinite.csv -t y", 1, r"line 5, column v: inf is infinite"),
    ("rank large.csv -t y", 1, r"line 5, column v: 1e\+200 is too large to be squared"),
    ("rank t.csv -t g --no-header", 1, r"There is no column 'g' for the target; columns: x0, x1, x2, x3"),
    ("rank t.csv::x -t y", 1, r"t\.csv is one table of separated values; omit ::x"),
    ("rank t.csv -t y --sep ;", 1, r"There is no column 'y' for the target; columns: 'u,v,g,y'"),
    ("rank t.csv -t y --encoding klingon", 1, r"'klingon' is not an encoding; examples are utf-8"),
    ("rank t.csv -t y --encoding utf-16", 1, r"t\.csv is not in utf-16"),
    ("rank none.csv -t y", 1, r"There is no file none\.csv"),
    ("rank . -t y", 1, r"is a folder without Parquet files"),
    ("study missing.csv -t y", 1, r"Target 'y' is missing in every row"),
    ("study one.csv -t y", 1, r"The table has 1 sample"),
    ("study constant.csv -t y", 1, r"Target 'y' is constant"),
    ("reduce one.csv --method pca", 1, r"The table has 1 sample \(row\); at least 2 are needed"),
    ("compare-tables t.csv none.csv", 1, r"There is no file none\.csv"),
    ("compare-tables t.csv d.csv", 1, r"The tables have no column in common"),
    # Distances.
    (
        "reduce negative.csv --method mds --dissimilarity precomputed",
        1,
        r"row 1 \(a\), column b is -1; a distance is at least 0",
    ),
    (
        "reduce asymmetric.csv --method mds --dissimilarity precomputed",
        1,
        r"row 2 \(b\), column a is 5; the matrix must be symmetric",
    ),
    (
        "reduce diagonal.csv --method mds --dissimilarity precomputed",
        1,
        r"row 1 \(a\), column a is 1; a row is at distance 0 from itself",
    ),
    ("reduce t.csv --method mds --dissimilarity precomputed", 1, r"as many columns as rows.*24 rows and 4 columns"),
    ("reduce hole.csv --method classical-mds --dissimilarity precomputed", 1, r"Row 1, column 2 is nan"),
    ("reduce text.csv --method mds --dissimilarity precomputed", 1, r"'x'"),
    # Outputs.
    ("select t.csv -t y -o none/x.csv", 1, r"There is no folder none; create it, or write x\.csv elsewhere"),
    ("select t.csv -t y -o t.csv/x.csv", 1, r"t\.csv is a file, not a folder"),
    ("select t.csv -t y -o t.csv", 1, r"t\.csv is the table itself; write to a file of another name"),
    ("select t.csv -t y -o x.xyz", 2, r"x\.xyz: the extension of a table must be one of csv, tsv"),
    ("select t.csv -t y --journal none/j", 1, r"There is no folder none"),
    ("select t.csv -t y --journal old.journal", 1, r"old\.journal is the journal of another search, table or merit"),
    ("select t.csv -t y --model none/m.tamiz", 1, r"There is no folder none"),
    ("reduce t.csv --method pca -o t.csv", 1, r"t\.csv is the table itself"),
    ("reduce t.csv --method pca -o .", 2, r"\.: the extension of a table must be one of"),
    ("study t.csv -t y -o none/r.html", 1, r"There is no folder none"),
    ("study t.csv -t y -o t.csv", 1, r"t\.csv is the table itself"),
    ("study t.csv -t y -o x.html --json x.html", 1, r"x\.html is already the name of another output"),
    # Models and results.
    ("apply junk.tamiz t.csv", 1, r"junk\.tamiz is not a tamiz file"),
    ("apply none.tamiz t.csv", 1, r"none\.tamiz cannot be read: No such file"),
    ("apply t.csv t.csv", 1, r"t\.csv is not a tamiz file"),
    ("apply . t.csv", 1, r"cannot be read: Is a directory"),
    ("report object.json", 1, r"object\.json is not a tamiz result"),
    ("report array.json", 1, r"array\.json is not a tamiz result: it is not JSON"),
    ("report none.json", 1, r"none\.json cannot be read: No such file"),
    ("report t.csv", 1, r"t\.csv is not a tamiz result"),
]

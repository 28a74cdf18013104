"""Files that people have: each with what is said of it."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import zipfile

import numpy as np

# Two numbers, a category and a target, in 24 rows.
ROWS = [(f"{i % 7}.5", str(i % 5), "pq"[i % 2], "ab"[(i // 2) % 2]) for i in range(24)]
NAMES = ("u", "v", "g", "y")


def table(
    sep: str = ",", end: str = "\n", names: tuple[str, ...] = NAMES, rows: list[tuple[str, ...]] | None = None
) -> str:
    return "".join(sep.join(row) + end for row in [names, *(ROWS if rows is None else rows)])


GOOD = table()
CSV = GOOD.encode()


def zipped(**members: bytes) -> bytes:
    """Return an archive of files by their names without ".csv"; "mac" is what macOS adds."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        for name, content in members.items():
            archive.writestr({"mac": "__MACOSX/._t.csv", "packed": "t.gz"}.get(name, f"{name}.csv"), content)
    return written.getvalue()


def saved(array: np.ndarray) -> bytes:
    written = io.BytesIO()
    np.save(written, array)
    return written.getvalue()


RECORDS = [dict(zip(NAMES, (float(u), int(v), g, y), strict=True)) for u, v, g, y in ROWS]

# What is read as it is: the name of the file, its content, and the kinds of its columns.
READ: dict[str, tuple[str, bytes | str, str]] = {
    "gzip": ("t.csv.gz", gzip.compress(CSV), "nncc"),
    "gzip of two parts": ("t.gz", gzip.compress(CSV[:100]) + gzip.compress(CSV[100:]), "nncc"),
    "gzip under another name": ("t.csv", gzip.compress(CSV), "nncc"),
    "bzip2": ("t.csv.bz2", bz2.compress(CSV), "nncc"),
    "xz": ("t.csv.xz", lzma.compress(CSV), "nncc"),
    "zip of one file": ("t.zip", zipped(t=CSV), "nncc"),
    "zip with the files of macOS": ("t.zip", zipped(t=CSV, mac=b"x"), "nncc"),
    "a file in a zip": ("t.zip::b.csv", zipped(a=b"x", b=CSV), "nncc"),
    "gzip in a zip": ("t.zip", zipped(packed=gzip.compress(CSV)), "nncc"),
    "JSON records": ("t.json", json.dumps(RECORDS), "nncc"),
    "JSON lines": ("t.jsonl", "".join(json.dumps(one) + "\n" for one in RECORDS), "nncc"),
    "JSON under another name": ("t.txt", json.dumps(RECORDS), "nncc"),
    "semicolons": ("t.csv", table(";"), "nncc"),
    "tabs": ("t.csv", table("\t"), "nncc"),
    "bars": ("t.csv", table("|"), "nncc"),
    "carets": ("t.csv", table("^"), "nncc"),
    "tildes": ("t.csv", table("~"), "nncc"),
    "double colons": ("t.csv", table("::"), "nncc"),
    "blanks": ("t.data", table("   "), "nncc"),
    "carriage returns": ("t.csv", table(end="\r"), "nncc"),
    "line ends of both kinds": ("t.csv", GOOD.replace("\n", "\r\n", 9), "nncc"),
    "no line end at the end": ("t.csv", GOOD.rstrip("\n"), "nncc"),
    "a byte order mark": ("t.csv", b"\xef\xbb\xbf" + CSV, "nncc"),
    "UTF-16": ("t.csv", GOOD.encode("utf-16"), "nncc"),
    "sep= in the first line": ("t.csv", "sep=;\n" + table(";"), "nncc"),
    "blank lines": ("t.csv", "\n\n" + GOOD.replace("\n", "\n\n", 5), "nncc"),
    "a delimiter at the end of every row": ("t.csv", table(end=",\n"), "nncc-"),
    "empty rows at the end": ("t.csv", GOOD + ",,,\n,,,\n", "nncc"),
    "row names of R": (
        "t.csv",
        table(names=NAMES, rows=[(f"r{i}", *row) for i, row in enumerate(ROWS)]),
        "innc"[:1] + "nncc",
    ),
    "quoted names with a line break after a mark": ("t.csv", "\ufeff" + GOOD.replace("u,", '"u\nu",', 1), "nncc"),
    "names like options": ("t.csv", table(names=("--target", "-o", "a=b", "y")), "nncc"),
}

# What is read with a note.
NOTED: dict[str, tuple[str, bytes | str, str]] = {
    "a title above the header": ("t.csv", "Report of 2020\n\n" + GOOD, r"first 2 lines of t\.csv \(Report of 2020\)"),
    "a title with commas": ("t.csv", "Report of 2020,,,\n,,,\n" + GOOD, r"first 2 lines of t\.csv"),
    "comments above the header": (
        "t.csv",
        "# made\n# on Monday\n" + GOOD,
        r"first 2 lines of t\.csv \(# made, # on Monday\)",
    ),
    "a source below the table": (
        "t.csv",
        GOOD + "\nSource: WHO\n",
        r"last line of t\.csv \(Source: WHO\) is not a row",
    ),
    "a total without numbers, and a source": (
        "t.csv",
        GOOD + "Total,,,\n\nSource: WHO\n",
        r"last 2 lines of t\.csv \('Total,,,', Source: WHO\) are not rows",
    ),
    "a row of totals": ("t.csv", GOOD + "Total,49,,\n", r"last line of t\.csv \('Total,49,,'\) is not a row"),
    "Windows-1252": (
        "t.csv",
        GOOD.replace("p", "größe").encode("cp1252"),
        r"not in UTF-8; it was read as cp1252.*größe",
    ),
    "Windows-1251": (
        "t.csv",
        GOOD.replace("p", "красный").replace("q", "зелёный").encode("cp1251"),
        r"was read as cp1251.*красный",
    ),
    "Shift-JIS": (
        "t.csv",
        GOOD.replace("p", "東京都です").replace("q", "大阪府です").encode("cp932"),
        r"was read as cp932",
    ),
    "percentages": ("t.csv", GOOD.replace(".5,", ".5%,"), r"Column u: '0\.5%' was read as the number 0\.5 in %"),
    "a currency": ("t.csv", GOOD.replace(".5,", ".5 USD,"), r"Column u: '0\.5 USD' was read as the number 0\.5 in USD"),
    "a unit": ("t.csv", GOOD.replace(".5,", ".5 kg,"), r"Column u: '0\.5 kg' was read as the number 0\.5 in kg"),
    "words for missing beside numbers": (
        "t.csv",
        GOOD + "-,1,p,a\n#DIV/0!,1,q,b\n",
        r"Column u: '-' in 1 row was read as missing",
    ),
    "clock times": ("t.csv", GOOD.replace(".5,", ":30,"), r"Column u: '0:30' was read as the time 00:30:00"),
}

# What is refused, and the sentence.
REFUSED: dict[str, tuple[str, bytes | str, str]] = {
    "an HTML page": ("t.csv", "<!DOCTYPE html><html></html>", r"t\.csv is an HTML page"),
    "XML": ("t.csv", "<?xml version='1.0'?><a/>", r"t\.csv is an XML document"),
    "a PDF": ("t.csv", b"%PDF-1.7\n...", r"t\.csv is a PDF document"),
    "a picture": ("t.csv", b"\x89PNG\r\n\x1a\n....", r"t\.csv is a PNG image"),
    "a zip of several files": (
        "t.zip",
        zipped(a=CSV, b=CSV),
        r"zip archive with 2 files \(a\.csv, b\.csv\).*t\.zip::a\.csv",
    ),
    "a zip of nothing": ("t.zip", zipped(), r"zip archive without files"),
    "a file that is not in the zip": ("t.zip::c.csv", zipped(a=CSV), r"t\.zip has no file 'c\.csv'; it has a\.csv"),
    "a damaged zip": ("t.zip", b"PK\x03\x04" + bytes(50), r"t\.zip is a zip archive that cannot be read"),
    "gzip that is cut off": ("t.csv.gz", gzip.compress(CSV)[:60], r"t\.csv\.gz is damaged or not complete"),
    "gzip of an HTML page": ("t.gz", gzip.compress(b"<html>"), r"t\.gz is an HTML page"),
    "an array of objects": ("t.npy", saved(np.array([{}])), r"t\.npy contains Python objects"),
    "an array of three dimensions": ("t.npy", saved(np.zeros((2, 2, 2))), r"an array of 3 dimensions"),
    "an npy that is cut off": ("t.npy", saved(np.zeros((9, 9)))[:150], r"t\.npy"),
    "JSON of another table": ("t.json", '{"a": 1, "b": 2}', r"There is no column 'y' for the target; columns: a, b"),
    "damaged JSON": ("t.json", '[{"a": 1, ', r"t\.json cannot be read as JSON records"),
    "NUL bytes": ("t.csv", b"a,b\n1,\0\n", r"t\.csv is not a text file: it contains NUL bytes"),
    "nothing": ("t.csv", b"", r"t\.csv is empty"),
    "blanks": ("t.csv", b"  \n \n", r"t\.csv is empty"),
    "a header alone": ("t.csv", "u,v,g,y\n", r"has a header and no rows"),
    "a short row": (
        "t.csv",
        GOOD + "1,2\n",
        r"line 26 has 2 fields, but the header has 4\. Correct them, or .*--on-bad-rows drop",
    ),
    "several bad rows": (
        "t.csv",
        GOOD + "1,2\n1\n" + GOOD[8:],
        r"line 26 has 2 fields, line 27 has 1 field, but the header has 4",
    ),
    "a quote that is not closed": ("t.csv", GOOD + '1,"2,p,a\n', r"line 26: a quote is not closed"),
    "names that occur twice": ("t.csv", table(names=("u", "u", "g", "y")), r"Column 'u' occurs twice"),
    "a stray word among numbers": (
        "t.csv",
        GOOD + "<0.1,1,p,a\n",
        r"line 26, column u: '<0\.1' is not a number, .*--na '<0\.1'",
    ),
    "an infinite number": ("t.csv", GOOD + "inf,1,p,a\n", r"line 26, column u: inf is infinite"),
    "a workspace of R": ("t.rda", b"RDX3\nX\n", r"t\.rda is an R workspace"),
    "an HDF5 file": ("t.h5", b"\x89HDF\r\n\x1a\n", r"t\.h5 is an HDF5 file"),
    "a 7-Zip archive": ("t.7z", b"7z\xbc\xaf\x27\x1c", r"t\.7z is a 7-Zip archive"),
}

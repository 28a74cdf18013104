"""Models, graphs and selections in one file, written and read without running any code from it.

A file is a zip archive of `tamiz.json` and of one .npy for every array. The JSON holds the format, the version of tamiz that wrote
it, and the thing itself as a tree: numbers, text and lists as they are, everything else as an object of one key that says what it
is (`tree`, `kinds`). Its objects are those of classes of this package that can be made again from what they hold (`records`).
"""

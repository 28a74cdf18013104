"""Saving and loading of models, graphs and selections in one file, without running any code from the file.

A file is a zip archive with `tamiz.json` and one .npy file for every array. The JSON has the format, the version of tamiz that
wrote the file, and the object as a tree: numbers, text and lists as they are, every other value as an object with one key, its
type (`records`). Only objects of certain classes of this package can be stored and restored.
"""

"""Selectors, which combine criteria and searches as scikit-learn transformers."""

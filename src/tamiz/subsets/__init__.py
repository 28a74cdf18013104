"""Candidate subsets and their evaluators: the contract between merits and searches."""

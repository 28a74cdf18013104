"""Pages are doctested; what builds them, and the examples that they run, is not collected."""

collect_ignore_glob = ["*.py", "_build", "examples", "methods"]

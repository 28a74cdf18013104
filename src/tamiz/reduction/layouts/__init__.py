"""t-SNE: affinities of neighbours, repulsion, and the optimisation of a layout."""

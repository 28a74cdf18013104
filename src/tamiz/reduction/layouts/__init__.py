"""t-SNE and UMAP: affinities of neighbours, repulsion, and the optimisation of a layout."""

"""The shortest edges that connect rows: the minimum spanning tree, and what joins the components of a graph."""

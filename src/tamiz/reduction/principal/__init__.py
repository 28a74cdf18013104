"""Parts of principal component analysis: rows about their mean, their decomposition, gaps, and what chance would give."""

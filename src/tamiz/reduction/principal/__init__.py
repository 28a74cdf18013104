"""Principal component analysis: centred rows, decomposition, missing values, likelihood and parallel analysis."""

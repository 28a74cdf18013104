"""Branch and bound in compiled kernels, and merits of the form c'x / sqrt(x'Ax), which exact searches evaluate in blocks."""

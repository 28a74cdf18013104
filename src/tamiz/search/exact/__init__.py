"""What the searches of all sets are made of: sums by units, counts of sets, and proposals that a kernel works through."""

"""A table to try things on: 344 penguins of three species near Palmer Station, Antarctica (Gorman 2014; CC0)."""

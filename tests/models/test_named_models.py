"""Models that are named: which of the default ones suit a table."""

from tamiz.models.named_models import resolve_models
from tamiz.table.schema import Column, Schema


def test_gradient_boosting_of_very_many_columns_is_left_out_with_a_note():
    def resolved(n_columns, names=None):
        schema = Schema(
            tuple(Column(f"x{j}", "numeric") for j in range(n_columns)), 50, Column("y", "categorical", ("a", "b"))
        )
        models, notes = resolve_models(names, schema)
        return "gradient_boosting" in models, [(note.code, str(note)) for note in notes]

    assert resolved(2_000) == (True, [])
    assert resolved(2_001) == (
        False,
        [("TZ503", "Gradient boosting of 2,001 columns takes too long, and is left out.")],
    )
    assert resolved(2_001, ["gradient_boosting"]) == (True, [])

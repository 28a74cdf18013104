"""Text as numbers of its distinct values, piece by piece."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from tamiz.validation import check_memory

# Words of fewer bytes are not worth a question how much memory there is.
_UNCHECKED_BYTES = 2**24


def encode_dictionary(name: str, pieces: Iterable[pa.ChunkedArray]) -> pa.DictionaryArray:
    """Return a column of text by the numbers of its distinct values, in the order in which they are first met."""
    parts: list[pa.Array] = []
    held = 0
    for piece in pieces:
        chunks = piece.dictionary_encode().unify_dictionaries().chunks
        parts += chunks
        held += chunks[-1].dictionary.nbytes if chunks else 0
        if held > _UNCHECKED_BYTES:
            # The words of the pieces, those of the whole, and where each is found.
            check_memory(
                4.0 * held,
                f"Telling the values of column {name} apart",
                f"If it is text that takes no part, say so: kinds={{{name!r}: 'text'}}.",
            )
    encoded = pa.chunked_array(parts, None if parts else pa.dictionary(pa.int32(), pa.string())).unify_dictionaries()
    whole = encoded.combine_chunks()
    return whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole

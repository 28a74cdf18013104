"""Records compared with the dictionaries of the public results that they are made from."""

import json


def shared(full, like):
    """Return the part of a dictionary that a record in JSON types has as well, as JSON."""
    if isinstance(like, dict):
        return {name: shared(full[name], part) for name, part in like.items()}
    if isinstance(like, list):
        return [shared(*pair) for pair in zip(full, like, strict=True)]
    return json.loads(json.dumps(full))

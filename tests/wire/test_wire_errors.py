"""WireError: what it carries, and that it survives the way from worker to driver."""

import pickle

from udfs.wire.errors import WireError


def test_carries_reason_and_detail() -> None:
    error = WireError("unknown_version", "value version 9, expected 0 or 1")
    assert error.reason == "unknown_version"
    assert str(error) == "unknown_version: value version 9, expected 0 or 1"


def test_survives_pickling() -> None:
    copy = pickle.loads(pickle.dumps(WireError("tag_order", "tag 1 after tag 2")))
    assert (copy.reason, copy.detail) == ("tag_order", "tag 1 after tag 2")

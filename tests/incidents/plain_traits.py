"""Traits of a finding made by hand: what a signature may ask, answered without Spark."""

from dataclasses import dataclass

import numpy as np

from jobs.incidents.catalogue import SIGNATURES
from jobs.incidents.signature import PARTS, UNEXPLAINED

CODE_OF = {label: code for code, label in PARTS.items()}


@dataclass(frozen=True)
class PlainTraits:
    """`code` of the finding; codes in its topic partition and of its producer id."""

    code: str
    here: frozenset[str] = frozenset()
    producer: frozenset[str] = frozenset()

    def one_of(self, *codes: str) -> np.bool_:
        return np.bool_(bool({self.code, CODE_OF.get(self.code)} & set(codes)))

    def beside(self, *codes: str) -> np.bool_:
        return self._any(self.here, codes)

    def behind(self, *codes: str) -> np.bool_:
        return self._any(self.here, codes)

    def at_marker(self, *codes: str) -> np.bool_:
        return self._any(self.here, codes)

    def beside_without(self, code: str, others: tuple[str, ...]) -> np.bool_:
        return self._any(self.here, (code,)) & ~self._any(self.here, others)

    def same_producer(self, chosen: np.bool_) -> np.bool_:
        return chosen

    def of_producer(self, *codes: str) -> np.bool_:
        return self._any(self.producer, codes)

    def of_both(self, *codes: str) -> np.bool_:
        return self.beside(*codes) & self.of_producer(*codes)

    def contains(self, *codes: str) -> np.bool_:
        return self.of_both(*codes)

    def of_moment(self, *codes: str) -> np.bool_:
        return self._any(self.producer, codes)

    def _any(self, known: frozenset[str], codes: tuple[str, ...]) -> np.bool_:
        own = known | {self.code}
        plain = {CODE_OF.get(one, one) for one in own}
        return np.bool_(bool((own | plain) & set(codes)))


def kind_of(code: str, here: set[str] | None = None, producer: set[str] | None = None) -> str:
    """The name of the signature that takes a finding."""
    traits = PlainTraits(code, frozenset(here or ()), frozenset(producer or ()))
    return next((one.name for one in SIGNATURES if one.explains(traits)), UNEXPLAINED)

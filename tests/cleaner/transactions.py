"""What the cleaner knows of transactions while it walks a log (`CleanedTransactionMetadata`)."""

from collections.abc import Iterable

from laws.log_batches import Batch

from udfs.wire.side_files.txn_index import AbortedTxnEntry


class Transactions:
    """`kept`: entries of the segment that is written, those of which data were met."""

    def __init__(self, entries: Iterable[AbortedTxnEntry] = ()) -> None:
        self._ahead: list[AbortedTxnEntry] = []
        self._aborting: dict[int, tuple[AbortedTxnEntry, bool]] = {}
        self._committing: set[int] = set()
        self.kept: list[AbortedTxnEntry] = []
        self.add(entries)

    def add(self, entries: Iterable[AbortedTxnEntry]) -> None:
        """`addAbortedTransactions`; an entry may come several times, once a segment."""
        found = [*self._ahead, *entries]
        self._ahead = sorted(found, key=lambda one: one.first_offset, reverse=True)

    def read(self, batch: Batch) -> bool:
        """Whether the batch may go: data of an aborted transaction, a marker without data."""
        return self._marker(batch) if batch.control else self._data(batch)

    def _reach(self, offset: int) -> None:
        """`consumeAbortedTxnsUpTo`."""
        while self._ahead and self._ahead[-1].first_offset <= offset:
            entry = self._ahead.pop()
            self._aborting.setdefault(entry.producer_id, (entry, False))

    def _data(self, batch: Batch) -> bool:
        """`onBatchRead`."""
        self._reach(batch.last_offset)
        if not batch.transactional:
            return False
        if batch.producer_id not in self._aborting:
            self._committing.add(batch.producer_id)
            return False
        self._aborting[batch.producer_id] = (self._aborting[batch.producer_id][0], True)
        return True

    def _marker(self, batch: Batch) -> bool:
        """`onControlBatchRead`."""
        self._reach(batch.last_offset)
        if not batch.count:
            return True
        if batch.commit is None:
            return False
        if batch.commit:
            met = batch.producer_id in self._committing
            self._committing.discard(batch.producer_id)
            return not met
        entry, met = self._aborting.pop(batch.producer_id, (None, False))
        if entry is not None and met:
            self.kept.append(entry)
            return False
        return True

"""What coordinators said of transactional ids (ListTransactions), before the data and after."""

from collections import defaultdict
from typing import Any

from jobs.collect.told_partitions import AFTER, BEFORE, whole_number
from jobs.model.told import TransactionTold

LIST_TRANSACTIONS = "ListTransactions"
LONGEST_STATE = 40


def transactions_told(answers: list[dict[str, Any]]) -> tuple[TransactionTold, ...]:
    """Ids of which one coordinator said the same at both moments, in their order.

    Raises ValueError, KeyError, TypeError. One that moved, or that two coordinators claim, is left
    out; so is one that the ACLs hide.
    """
    told: dict[str, dict[str, set[TransactionTold]]] = defaultdict(lambda: defaultdict(set))
    for one in answers:
        if one["request"] != LIST_TRANSACTIONS or one.get("answer", {}).get("error_code", 1):
            continue
        for listed in one["answer"]["transaction_states"]:
            transaction = TransactionTold(
                str(listed["transactional_id"]),
                whole_number(one["broker"]),
                whole_number(listed["producer_id"]),
                str(listed["transaction_state"])[:LONGEST_STATE],
            )
            told[transaction.transactional_id][str(one["moment"])].add(transaction)
    return tuple(
        min(moments[BEFORE])
        for _, moments in sorted(told.items())
        if len(moments[BEFORE]) == 1 and moments[BEFORE] == moments[AFTER]
    )

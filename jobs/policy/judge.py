"""Judges the tables of an audit by an acceptance policy."""

import pandas as pd

from jobs.model.expectation_results import Judged, Result, outcome
from jobs.policy.engine import evaluate, not_evaluated
from jobs.policy.subjects import KEYS, Results, UnreadableError, rows_of
from jobs.policy.suites import Policy
from jobs.spark.threads import side_by_side

# Reading a small table is mostly waiting.
READS_AT_ONCE = 4


def judge(policy: Policy, tables: Results) -> Judged:
    """Evaluates every suite; a suite that cannot be is reported, and takes no other with it."""

    def read(subject: str) -> pd.DataFrame | str:
        try:
            return rows_of(subject, tables)
        except UnreadableError as error:
            return str(error)

    subjects = sorted({suite.subject for suite in policy.suites})
    with side_by_side(READS_AT_ONCE) as pool:
        frames = dict(zip(subjects, pool.map(read, subjects), strict=True))
    results: list[Result] = []
    for suite in policy.suites:
        rows = frames[suite.subject]
        if isinstance(rows, str):
            results += not_evaluated(suite, rows)
        else:
            results += evaluate(suite, rows, KEYS[suite.subject])
    return Judged(results, outcome(policy.digest, results, policy.problems))

-- One row is one audit, in the order of the moments of the dumps: findings, and how far and for how
-- long read_committed consumers are held back. Reads the tables audit, violation, partition_state.
-- Runs in Spark SQL, DuckDB and DataFusion as it stands; docs/history.md shows how.
SELECT
    audit.as_of_ms,
    audit.audit_id,
    audit.verdict,
    COALESCE(proven.errors, 0) AS errors,
    audit.violations,
    audit.suspects,
    audit.inconclusive,
    COALESCE(proven.errors, 0)
        - LAG(COALESCE(proven.errors, 0)) OVER (ORDER BY audit.as_of_ms, audit.audit_id)
        AS errors_more_than_before,
    state.open_transactions,
    state.lso_lag,
    audit.as_of_ms - state.oldest_open_since_ms AS oldest_open_ms
FROM audit
LEFT JOIN (
    SELECT audit_id, COUNT(*) AS errors
    FROM violation
    WHERE severity = 'error' AND verdict = 'violation'
    GROUP BY audit_id
) AS proven ON proven.audit_id = audit.audit_id
LEFT JOIN (
    SELECT
        audit_id,
        SUM(open_transactions) AS open_transactions,
        MAX(COALESCE(high_watermark, log_end_offset) - last_stable_offset) AS lso_lag,
        -- A timestamp of -1 says that there is none.
        MIN(CASE WHEN lso_since_ms >= 0 THEN lso_since_ms END) AS oldest_open_since_ms
    FROM partition_state
    GROUP BY audit_id
) AS state ON state.audit_id = audit.audit_id
ORDER BY audit.as_of_ms, audit.audit_id

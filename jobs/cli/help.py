"""Examples and exit codes that `--help` shows for each subcommand."""

EXAMPLES = """examples:
  ./spark-submit.sh audit --dump /copies/broker-1 --out /audits
      one broker's log directory
  ./spark-submit.sh audit --dump /copies --out /audits --as-of 1795236470221
      a folder of brokers, copied at that moment (ms since 1970)
  ./spark-submit.sh --master spark://host:7077 -- audit --dump /copies --out /audits
      on a cluster: all executors must see both folders
  ./spark-submit.sh audit --dump s3://copies/today --out /audits
      from an object store (also gs:// and hdfs://), with the credentials of the environment
  ./spark-submit.sh audit --dump /copies --out /audits --policy default
      also evaluate the acceptance policy in conf/policy
  ./spark-submit.sh audit --bootstrap kafka-1:9093 --command-config client.properties --out /audits
      a live cluster: fetched into /audits/fetched (the next time only what is new), then audited
"""
EXPLAIN_HELP = """examples:
  ./spark-submit.sh explain --out /audits --incident 1
      what happened, which records and groups are affected, and the steps of the repair plan
  ./spark-submit.sh explain --out /audits --topic orders --partition 3
      what blocks read_committed consumers there, and what to do about it

exit codes:
  0  told
  2  wrong arguments, or no such audit, incident, topic or partition
  3  Spark failed
"""
EXIT_CODES = """exit codes:
  0  audited, nothing wrong
  1  at least one proven violation, or the acceptance policy is not met
  2  wrong arguments, configuration or input; nothing was written
  3  the audit is incomplete: a check crashed, a file could not be read, no batch was read at all,
     the acceptance policy could not be evaluated, or Spark failed
"""
REPORT_HELP = """examples:
  ./spark-submit.sh report --out /audits
      the summary of the newest audit, on stdout
  ./spark-submit.sh report --out /audits --format html --dump /copies
      report.html again, with the bytes of the evidence read from the dump
  ./spark-submit.sh report --out /audits --audit 0123… --format sarif --format junit --to DIR
      files for a pipeline, for one audit

The files are report.html, report.json, report.sarif (SARIF 2.1.0), report.junit.xml,
repair.json, verdict.json, manifest.json (all files with their SHA-256) and SHA256SUMS. With
--sign-key there is also manifest.sig. With report.json there is also recheck.py: it checks the
findings of report.json against the dump, and needs only Python. To check the files:
  sha256sum -c SHA256SUMS
  openssl pkeyutl -verify -pubin -inkey public.pem -rawin -in manifest.json -sigfile manifest.sig

exit codes:
  0 to 3  those of the audit (`audit --help`); with --policy those of the audit under that policy
  2       also: wrong arguments, or there is no such audit
  3       also: Spark failed
"""
EXPORT_HELP = """examples:
  ./spark-submit.sh export --dump /copies/broker-1 --out /rescued
      all records that read_committed consumers would receive, in the Delta table /rescued/record
  ./spark-submit.sh export --dump /copies --out /rescued --topic orders --isolation read_uncommitted
      one topic, with the records of aborted and open transactions
  ./spark-submit.sh export --dump /copies --out /rescued --topic orders --partition 3
      one partition; of the others nothing is read but __transaction_state
  ./spark-submit.sh export --dump /copies/old-leader --out /rescued --topic orders --to-log-end
      one topic, with what an unclean leader election cut off: it lies above the high watermark

If a partition has several copies, that of the newest leader epoch is exported, and of these the
longest. Two topics of one name, or two clusters, are refused: choose with --broker or --dump.

exit codes:
  0  all records of the ranges are in the table
  2  wrong arguments, configuration or input; nothing was written
  3  some records are missing or could not be read (the output says which), or Spark failed
"""
CHECKS_HELP = """examples:
  ./spark-submit.sh checks
      all codes, one line each, by family
  ./spark-submit.sh checks producer
      the codes of one family
  ./spark-submit.sh checks hanging_transaction
      what this finding proves, and when it is legal

exit codes:
  0  told
  2  there is no such check or family
"""
DOCTOR_HELP = """examples:
  ./spark-submit.sh doctor
      this machine
  ./spark-submit.sh --master spark://host:7077 -- doctor --dump /copies --out /audits
      a cluster: checks that every executor can read the dump, and writes a test table
  ./spark-submit.sh doctor --dump s3://copies/today
      checks that the driver and all executors can read a remote dump

exit codes:
  0  nothing is missing
  2  wrong arguments
  3  something is missing; each line says what to do
"""

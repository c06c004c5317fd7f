"""Examples and exit codes that `--help` shows for each subcommand."""

EXAMPLES = """examples:
  ./spark-submit.sh audit --dump /copies/broker-1 --out /audits
      one broker's log directory
  ./spark-submit.sh audit --dump /copies --out /audits --as-of 1795236470221
      a folder of brokers, copied at that moment (ms since 1970)
  ./spark-submit.sh --master spark://host:7077 -- audit --dump /copies --out /audits
      on a cluster: all executors must see both folders
  ./spark-submit.sh audit --dump s3://copies/today --out /audits
      from a store of objects (gs:// and hdfs:// too), with the credentials of the environment
  ./spark-submit.sh audit --dump /copies --out /audits --policy default
      and judge the result by the acceptance policy in conf/policy
"""
EXPLAIN_HELP = """example:
  ./spark-submit.sh explain --out /audits --topic orders --partition 3
      what holds back read_committed consumers there, and what to do about it
"""
EXIT_CODES = """exit codes:
  0  looked, nothing wrong
  1  at least one proven violation, or the acceptance policy is not met
  2  wrong arguments, configuration or input; nothing was written
  3  the audit is incomplete: a check crashed, a file could not be read, the acceptance policy
     could not be evaluated, or Spark broke down
"""
REPORT_HELP = """examples:
  ./spark-submit.sh report --out /audits
      the summary of the newest audit, on stdout
  ./spark-submit.sh report --out /audits --format html --dump /copies
      report.html again, with the bytes of the evidence taken from the dump
  ./spark-submit.sh report --out /audits --audit 0123… --format sarif --format junit --to DIR
      files for a pipeline, of a certain audit

The files are report.html, report.json, report.sarif (SARIF 2.1.0) and report.junit.xml, beside them
verdict.json, manifest.json (what each file is, by SHA-256) and SHA256SUMS; with --sign-key also
manifest.sig. To check them:
  sha256sum -c SHA256SUMS
  openssl pkeyutl -verify -pubin -inkey public.pem -rawin -in manifest.json -sigfile manifest.sig

The exit code is that of the audit; 2 where there is no such audit.
"""
EXPORT_HELP = """examples:
  ./spark-submit.sh export --dump /copies/broker-1 --out /rescued
      all records that read_committed consumers would get, in the Delta table /rescued/record
  ./spark-submit.sh export --dump /copies --out /rescued --topic orders --isolation read_uncommitted
      one topic, with the records of aborted and open transactions

Of several copies of a partition the one that reaches furthest is taken.

exit codes:
  0  all records of the ranges are in the table
  2  wrong arguments, configuration or input; nothing was written
  3  some records could not be read (their number and where is told), or Spark broke down
"""
CHECKS_HELP = """examples:
  ./spark-submit.sh checks
      all codes, a line each, by family
  ./spark-submit.sh checks producer
      those of one family
  ./spark-submit.sh checks hanging_transaction
      what this finding proves, and when what it shows is legal
"""
DOCTOR_HELP = """examples:
  ./spark-submit.sh doctor
      this machine
  ./spark-submit.sh --master spark://host:7077 -- doctor --dump /copies --out /audits
      a cluster: every executor is asked, and must see the dump; a table is written on trial
  ./spark-submit.sh doctor --dump s3://copies/today
      whether all of them reach a remote dump

exit codes:
  0  nothing is missing
  3  something is missing; each line says what to do
"""

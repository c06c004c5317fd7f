"""What `eosaudit explain` says about one partition: pure functions of rows of the tables."""

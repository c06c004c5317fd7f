"""The small subcommands; `audit` is in main."""

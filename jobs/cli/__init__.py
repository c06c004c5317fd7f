"""The command line: arguments, help, progress, failures, generated pages, and the subcommands."""

"""Named conditions for excuses, so that all checks use the same ones: a module a question."""

"""The verbs: collect, decode, replay, verify, report; `main` composes them."""

__version__ = "0.1.0"

"""Numbers with their nouns, for a person."""


def count(number: int, noun: str, plural: str | None = None) -> str:
    """`1 record`, `2,000 records`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"

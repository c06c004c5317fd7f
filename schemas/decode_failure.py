"""Table `decode_failure`: one row is a byte range without a valid batch."""

from schemas.columns import AUDIT_ID, PLACE, boolean, long, string, table

DECODE_FAILURE = table(
    AUDIT_ID,
    *PLACE,
    string("file", "path relative to the dump"),
    long("first_byte", "first byte of the range, inclusive"),
    long("end_byte", "byte after the range, exclusive"),
    string("reason", "why they are no batch: a name that stays the same in all versions"),
    long("previous_last_offset", "last offset read before the range; null for none in the file"),
    long("next_offset", "base offset of the first batch after the range; null for none"),
    boolean("at_end", "the range reaches to the end of the file"),
)

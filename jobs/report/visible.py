"""Text that someone else chose, made safe to look at.

Topic names, transactional ids and keys are an attacker's to choose. A control character moves the
cursor of a terminal and is illegal in XML; a bidirectional override shows text that is not there.
"""

import unicodedata

# Control, format, surrogate, private use and unassigned characters; line and paragraph separators.
INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def visible(text: str) -> str:
    r"""`text` with every character that cannot be seen written as `\u202e` is."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escaped(c) if unicodedata.category(c) in INVISIBLE else c for c in text)


def _escaped(character: str) -> str:
    number = ord(character)
    if number < 0x100:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"

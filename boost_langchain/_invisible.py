"""Removes characters that a model reads and a reviewer cannot see.

Third-party text may carry instructions in Unicode tag characters, in runs of zero-width
characters or variation selectors, or reordered by bidi controls. What spelling needs stays:
the joiners of Persian, Indic scripts and emoji, directional marks, flag emoji.
"""

import re

# The three subdivision flags of Unicode's RGI set (UTS #51): England, Scotland, Wales. Any
# other tag sequence is free text in disguise.
_REGIONS = ("gbeng", "gbsct", "gbwls")
_TAGGED = "|".join("".join(chr(0xE0000 + ord(c)) for c in region) for region in _REGIONS)
_FLAG = f"\U0001f3f4(?:{_TAGGED})\U000e007f"

_JOINERS = "\u200c\u200d"
_SELECTORS = "\ufe00-\ufe0f"
_MONGOLIAN_SELECTORS = "\u180b-\u180f"

_NEVER_SHOWN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f"  # controls, but for tab and newline
    "\u00ad\u034f"  # soft hyphen, grapheme joiner
    "\u200b\u202a-\u202e\u2060-\u206f\ufeff\ufff0-\ufffb"  # zero-width space, bidi, operators
    "\u115f\u1160\u3164\uffa0"  # Hangul fillers
    "\u17b4\u17b5"  # Khmer vowels that are not written
    "\U0001bca0-\U0001bca3"  # shorthand formatting
    "\U0001d173-\U0001d17a"  # musical formatting
    # Tags, and the 240 ideographic selectors: one of them behind each Han character carries a
    # text of its own, and without it the character reads the same.
    "\U000e0000-\U000e0fff"
)
# A character of another script than ASCII that is itself seen: it is never removed, so what
# is kept beside it stays beside it, and one pass is enough.
_SEEN = f"[^\x00-\x7f{_NEVER_SHOWN}{_JOINERS}{_SELECTORS}{_MONGOLIAN_SELECTORS}]"
_HIDDEN = (
    f"(?P<flag>{_FLAG})"
    f"|[{_NEVER_SHOWN}]"
    # A joiner acts on its neighbours, and ASCII never needs one. Persian puts one between a
    # Latin word and its suffix, so one neighbour of another script is enough.
    f"|[{_JOINERS}](?=[{_JOINERS}])"
    f"|(?<!{_SEEN})[{_JOINERS}](?!{_SEEN})"
    f"|(?<!{_SEEN})(?<![0-9#*])[{_SELECTORS}]"  # keycap emoji start in ASCII
    f"|(?<![\u1820-\u18aa])[{_MONGOLIAN_SELECTORS}]"
)
_LINE_ENDS = "\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]"


def visible(text: str) -> str:
    """`text` with hidden characters removed and every line end a newline.

    Tabs stay. The other line ends that `str.splitlines` knows become newlines, so that no
    reader disagrees about where a line begins; lone surrogates become question marks.
    """
    text = text.encode("utf-8", "replace").decode("utf-8")
    # Compiled on first use: compiling costs more than the rest of the package's import.
    return re.sub(_HIDDEN, lambda match: match["flag"] or "", re.sub(_LINE_ENDS, "\n", text))

"""Regular expressions in the syntax of RE2, which Kubernetes uses, translated to Python's.

Much looks the same and means something else: ``$`` and ``\\s`` differ, ``a++`` and ``(?=x)`` are errors in RE2,
``\\z``, ``\\pL`` and ``[[:alpha:]]`` are unknown to Python. So every atom is read and written anew, with the flags
that hold for it. Messages are those of Go's ``regexp/syntax``.
"""

from __future__ import annotations

import functools
import re
import sys
import unicodedata
from dataclasses import dataclass

_MAX_REPEAT = 1000
_POSIX = {
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "ascii": "\\x00-\\x7F", "blank": "\\t ", "cntrl": "\\x00-\\x1F\\x7F",
    "digit": "0-9", "graph": "!-~", "lower": "a-z", "print": " -~", "punct": "!-/:-@\\[-`{-~",
    "space": "\\t\\n\\v\\f\\r ", "upper": "A-Z", "word": "0-9A-Za-z_", "xdigit": "0-9A-Fa-f",
}  # fmt: skip
_PERL = {"d": "0-9", "s": "\\t\\n\\f\\r ", "w": "0-9A-Za-z_"}
_CONTROL = {"a": "\\x07", "f": "\\x0c", "t": "\\t", "n": "\\n", "r": "\\r", "v": "\\x0b"}
_COUNT = re.compile(r"\{([0-9]+)(?:(,)([0-9]*))?\}")
_NAME = re.compile(r"\(\?P?<([A-Za-z0-9_]+)>")
_BAD_NAME = re.compile(r"\(\?(?:P<|<)")
_ANY = r"[\s\S]"


class Re2Error(ValueError):
    """The pattern is no RE2 regular expression."""

    def __init__(self, code: str, fragment: str) -> None:
        super().__init__(f"error parsing regexp: {code}: `{fragment}`")


@dataclass(slots=True)
class _Flags:
    ignore_case: bool = False
    multi_line: bool = False
    dot_all: bool = False
    ungreedy: bool = False


def translate(pattern: str) -> str:
    """The same regular expression for ``re.compile``. Raises ``Re2Error``."""
    return _Translator(pattern).run()


class _Translator:
    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._position = 0
        self._flags = _Flags()
        self._groups: list[_Flags] = []
        self._output: list[str] = []
        self._repeats = [1]  # per open group: how often its most repeated part is repeated
        self._atom_repeats = 1
        self._atom: int | None = None  # where the atom that a quantifier would repeat begins in the output
        self._quantifier = -1  # where the last quantifier began in the pattern, if nothing came after it

    def run(self) -> str:
        while self._position < len(self._pattern):
            self._step()
        if self._groups:
            raise Re2Error("missing closing )", self._pattern)
        return "".join(self._output)

    def _step(self) -> None:
        character = self._pattern[self._position]
        if character in "*+?" or (character == "{" and _COUNT.match(self._pattern, self._position)):
            self._repeat()
            return
        self._quantifier = -1
        match character:
            case "(":
                self._open()
            case ")":
                self._close()
            case "|":
                self._output.append("|")
                self._position += 1
                self._atom = None
            case "[":
                self._emit(self._folded(self._bracket()))
            case "\\":
                self._escape()
            case _:
                self._position += 1
                self._emit(self._plain(character))

    def _emit(self, text: str, repeats: int = 1) -> None:
        self._atom = len(self._output)
        self._atom_repeats = repeats
        self._output.append(text)

    def _folded(self, text: str) -> str:
        return f"(?i:{text})" if self._flags.ignore_case else text

    def _plain(self, character: str) -> str:
        flags = self._flags
        match character:
            case ".":
                return _ANY if flags.dot_all else r"[^\n]"
            case "^":
                return "(?m:^)" if flags.multi_line else r"(?:\A)"
            case "$":
                return "(?m:$)" if flags.multi_line else r"(?:\Z)"
        return self._folded(re.escape(character))

    def _repeat(self) -> None:
        start = self._position
        match = _COUNT.match(self._pattern, start)
        text = match.group() if match and self._pattern[start] == "{" else self._pattern[start]
        self._position += len(text)
        if self._atom is None:
            raise Re2Error("missing argument to repetition operator", text)
        lazy = self._pattern.startswith("?", self._position)
        self._position += lazy
        if self._quantifier >= 0:
            raise Re2Error("invalid nested repetition operator", self._pattern[self._quantifier : self._position])
        if match and text[0] == "{":
            low, high = int(match.group(1)), int(match.group(3) or match.group(1))
            self._atom_repeats *= max(low, high, 1)
            if self._atom_repeats > _MAX_REPEAT or low > high:
                raise Re2Error("invalid repeat count", text)
            self._repeats[-1] = max(self._repeats[-1], self._atom_repeats)
        self._output.append(text + ("?" if lazy != self._flags.ungreedy else ""))
        self._quantifier = start

    def _open(self) -> None:
        if not self._pattern.startswith("(?", self._position):
            self._enter("(")
            return
        named = _NAME.match(self._pattern, self._position)
        if named is not None:
            self._position += len(named.group()) - 1
            self._enter("(")
            return
        if _BAD_NAME.match(self._pattern, self._position):
            end = self._pattern.find(">", self._position)
            raise Re2Error("invalid named capture", self._pattern[self._position : end + 1 if end >= 0 else None])
        self._set_flags()

    def _enter(self, text: str) -> None:
        self._groups.append(_Flags(**{name: getattr(self._flags, name) for name in _FLAG_NAMES.values()}))
        self._position += 1
        self._output.append("\0" + text)
        self._repeats.append(1)
        self._atom = None

    def _set_flags(self) -> None:
        start, position, value, seen = self._position, self._position + 2, True, False
        flags = _Flags(**{name: getattr(self._flags, name) for name in _FLAG_NAMES.values()})
        while position < len(self._pattern):
            letter = self._pattern[position]
            position += 1
            if letter in _FLAG_NAMES:
                setattr(flags, _FLAG_NAMES[letter], value)
                seen = True
            elif letter == "-" and value:
                value, seen = False, False
            elif letter in ":)" and (seen or value):
                self._position = position - 1
                if letter == ":":
                    self._enter("(?:")
                else:
                    self._position += 1
                self._flags = flags
                return
            else:
                break
        raise Re2Error("invalid or unsupported Perl syntax", self._pattern[start:position])

    def _close(self) -> None:
        if not self._groups:
            raise Re2Error("unexpected )", self._pattern)
        self._flags = self._groups.pop()
        self._position += 1
        opening = max(index for index, text in enumerate(self._output) if text.startswith("\0"))
        inside = "".join([self._output[opening][1:], *self._output[opening + 1 :], ")"])
        del self._output[opening:]
        repeats = self._repeats.pop()
        self._repeats[-1] = max(self._repeats[-1], repeats)
        self._emit(inside, repeats)

    def _escape(self) -> None:
        following = self._pattern[self._position + 1 : self._position + 2]
        if following == "Q":
            literal, _, _ = self._pattern[self._position + 2 :].partition("\\E")
            self._position = min(len(self._pattern), self._position + len(literal) + 4)
            for character in literal:
                self._emit(self._folded(re.escape(character)))
        elif following in ("A", "b", "B", "z") and following:
            self._position += 2
            self._emit({"z": r"(?:\Z)"}.get(following, f"(?a:\\{following})"))
        else:
            members = self._class_escape()
            self._emit(self._folded(f"[{members}]" if members is not None else self._character(r"\.^$*+?{}[]|()-&~#")))

    def _class_escape(self) -> str | None:
        """The members of ``\\d``, ``\\W`` or ``\\pL``; None if there is no such class here."""
        letter = self._pattern[self._position + 1 : self._position + 2]
        if letter and letter.lower() in _PERL:
            self._position += 2
            members = _PERL[letter.lower()]
            return members if letter.islower() else _complement(members)
        if letter not in ("p", "P") or not letter:
            return None
        match = re.compile(r"\\[pP](?:\{(\^?)([^}]*)\}|(.))", re.DOTALL).match(self._pattern, self._position)
        if match is None:
            raise Re2Error("invalid character class range", self._pattern[self._position :])
        category = _category(match.group(2) or match.group(3) or "")
        if category is None:
            raise Re2Error("invalid character class range", match.group())
        self._position = match.end()
        return _complement(category) if (letter == "P") != bool(match.group(1)) else category

    def _character(self, special: str) -> str:
        """One character, escaped or not, written for Python."""
        start = self._position
        character = self._pattern[start]
        self._position += 1
        if character != "\\":
            return "\\" + character if character in special else character
        if self._position >= len(self._pattern):
            raise Re2Error("trailing backslash at end of expression", "")
        letter = self._pattern[self._position]
        self._position += 1
        if letter in _CONTROL:
            return _CONTROL[letter]
        match = re.compile(r"x([0-9A-Fa-f]{2})|x\{([0-9A-Fa-f]+)\}|(0[0-7]{0,2}|[1-7][0-7]{1,2})").match(
            self._pattern, start + 1
        )
        if match is not None:
            self._position = match.end()
            code = int(match.group(3), 8) if match.group(3) else int(match.group(1) or match.group(2), 16)
            if code <= 0x10FFFF:
                return f"\\U{code:08x}"
        elif letter.isascii() and not letter.isalnum():
            return re.escape(letter)
        raise Re2Error("invalid escape sequence", self._pattern[start : self._position])

    def _bracket(self) -> str:
        start = self._position
        self._position += 1
        negated = self._pattern.startswith("^", self._position)
        self._position += negated
        members: list[str] = []
        first = True
        while first or not self._pattern.startswith("]", self._position):
            if self._position >= len(self._pattern):
                raise Re2Error("missing closing ]", self._pattern[start:])
            members.append(self._member(start))
            first = False
        self._position += 1
        content = "".join(members)
        return f"[{'^' if negated else ''}{content}]"

    def _member(self, start: int) -> str:
        posix = re.compile(r"\[:(\^?)(\w+):\]").match(self._pattern, self._position)
        if posix is not None:
            if posix.group(2) not in _POSIX:
                raise Re2Error("invalid character class range", posix.group())
            self._position = posix.end()
            members = _POSIX[posix.group(2)]
            return _complement(members) if posix.group(1) else members
        if self._pattern[self._position] == "\\" and (escaped := self._class_escape()) is not None:
            return escaped
        begin = self._position
        low = self._character(r"\[]^-&~|#")
        if not self._pattern.startswith("-", self._position) or self._pattern.startswith("-]", self._position):
            return low
        self._position += 1
        if self._position >= len(self._pattern):
            raise Re2Error("missing closing ]", self._pattern[start:])
        high = self._character(r"\[]^-&~|#")
        if _code(high) < _code(low):
            raise Re2Error("invalid character class range", self._pattern[begin : self._position])
        return f"{low}-{high}"


_FLAG_NAMES = {"i": "ignore_case", "m": "multi_line", "s": "dot_all", "U": "ungreedy"}


def _code(written: str) -> int:
    """The code point of a character as written for Python."""
    match = re.compile(f"[{written}]").match
    if len(written) == 1:
        return ord(written)
    if written[1] == "U":
        return int(written[2:], 16)
    return next(code for code in range(0x80) if match(chr(code)))


@functools.cache
def _complement(members: str) -> str:
    """The members of the opposite class, for use inside of a larger one."""
    inside = re.compile(f"[{members}]", re.ASCII).match
    return _ranges([code for code in range(sys.maxunicode + 1) if not inside(chr(code))])


@functools.cache
def _category(name: str) -> str | None:
    """All characters of a Unicode general category; None for an unknown name. Scripts are not known to Python."""
    if name == "Any":
        return "\\U00000000-\\U0010ffff"
    codes = [code for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)).startswith(name)]
    return _ranges(codes) if name and codes else None


def _ranges(codes: list[int]) -> str:
    """A sorted list of code points as ranges of a class."""
    result, begin = [], 0
    for index, code in enumerate(codes):
        if index + 1 == len(codes) or codes[index + 1] != code + 1:
            result.append(f"\\U{codes[begin]:08x}-\\U{code:08x}")
            begin = index + 1
    return "".join(result)

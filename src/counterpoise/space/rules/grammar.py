"""The grammar of rules: text in, a syntax tree out. Nothing of the user's text is ever executed.

The text is cut into tokens; each name, quoted name and piece of text becomes a plain placeholder, so that Python's own
`ast` can read the rest. Whatever is not listed here is refused, with a mark under the character where it stands.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, NoReturn

from counterpoise.errors import ConstraintError

RULE_REQUIREMENT = "a rule must be a comparison of features, or an implication between comparisons"
TOKEN_PATTERN = re.compile(
    r"(?P<space>\s+)|(?P<text>'[^']*'|\"[^\"]*\")|(?P<quoted>`[^`]+`)"
    r"|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>[^\W\d]\w*)"
    r"|(?P<sign>\*\*|<=|>=|==|!=|[-+*/<>(),.\[\]])"
)
HINT_BY_CHARACTER = {
    "=": "write == for equality",
    "&": "write and",
    "|": "write or",
    "!": "write not",
    "^": "write ** for a power",
}
HINT_BY_CHARACTER |= {
    "≤": "write <=",
    "≥": "write >=",
    "≠": "write !=",
    "`": "close the backquote",
    "'": "close the quote",
}
PYTHON_KEYWORDS = ("and", "or", "not", "in", "True", "False")  # what `ast` may see as it is
FUNCTIONS = ("min", "max", "abs", "round")
ALLOWED_NODES = (
    *(ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.USub, ast.UAdd),
    *(ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow),
    *(ast.Compare, ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.In, ast.NotIn),
    *(ast.Name, ast.Attribute, ast.Call, ast.Constant, ast.List, ast.Tuple, ast.Load),
)


SPLITTING_HINT = "write several rules, or give a part of it a column of its own with Derived"


@dataclass(frozen=True)
class RuleLimits:
    """How long and how deep a rule may be; what is longer is refused before Python reads it."""

    characters: int = 5000
    """The length of the text."""
    levels: int = 200
    """Operations inside operations, of which a sum of n terms has n; brackets may be half as deep."""
    implications: int = 20
    """The words "implies" and "then"."""
    nested_choices: int = 3
    """Alternatives inside alternatives, each of which a repair tries in turn."""
    comparisons: int = 100
    """Comparisons of a rule; ``max(a, b) <= min(c, d)`` stands for four."""
    decimals: int = 15
    """What ``round(a, decimals)`` may keep."""


DEFAULT_RULE_LIMITS = RuleLimits()


class Token(NamedTuple):
    """A token of a rule: its kind, its text and its position."""

    kind: str
    text: str
    start: int


class Implication(NamedTuple):
    """If the first then the second."""

    condition: Tree
    consequence: Tree


Tree = ast.expr | Implication


@dataclass(frozen=True)
class Syntax:
    """A rule that has been read but not yet met a schema. Nodes know where they start: ``col_offset``."""

    text: str
    tree: Tree
    tokens: tuple[Token, ...]
    inner_implications: dict[int, Implication]  # implications in parentheses, by the number of their placeholder

    def token(self, node: ast.expr) -> Token | None:
        """The token behind a placeholder."""
        return self.tokens[int(node.id.strip("_"))] if isinstance(node, ast.Name) else None

    def implication(self, node: ast.expr) -> Implication | None:
        """The implication behind a placeholder."""
        return self.inner_implications.get(int(node.id.strip("_"))) if isinstance(node, ast.Name) else None


def refuse(text: str, place: int, given: str, todo: str, must: str = RULE_REQUIREMENT) -> NoReturn:
    """Refuse a rule, with a mark under the character where it goes wrong."""
    line = re.sub(r"\s", " ", text)
    marked = f"{given} at character {place + 1}:\n    {line}\n    {' ' * place}^\n"
    raise ConstraintError(must, marked, todo, text=text, position=place)


def parse_syntax(text: str, limits: RuleLimits = DEFAULT_RULE_LIMITS) -> Syntax:
    """The syntax of a rule.

    >>> parse_syntax("fwd + bwd == total").text
    'fwd + bwd == total'
    >>> parse_syntax("fwd + * bwd == total")
    Traceback (most recent call last):
    counterpoise.errors.ConstraintError: a rule must be a comparison ... it cannot be read at character 7:
        fwd + * bwd == total
              ^
    ; correct what is marked
    """
    if not isinstance(text, str) or not text.strip() or len(text) > limits.characters:
        raise ConstraintError(
            f"a rule must be a text of 1 to {limits.characters} characters",
            f"{text!r:.60}",
            "for instance 'fwd + bwd == total'",
        )
    return _read_syntax(str(text), limits)


@lru_cache
def _read_syntax(text: str, limits: RuleLimits) -> Syntax:
    """The syntax of a text; a rule is read again for each batch of rows."""
    tokens = _split_tokens(text)
    _check_nesting(text, tokens, limits)
    reader = _TreeReader(text, tokens, limits)
    tree = reader.read(list(enumerate(tokens)), len(text))
    return Syntax(text, tree, tuple(tokens), reader.inner_implications)


def _split_tokens(text: str) -> list[Token]:
    out, place = [], 0
    while place < len(text):
        match = TOKEN_PATTERN.match(text, place)
        if match is None:
            refuse(
                text,
                place,
                f"{text[place]!r}, which is no part of the language,",
                HINT_BY_CHARACTER.get(text[place], "remove it"),
            )
        if match.lastgroup != "space":
            out.append(Token(str(match.lastgroup), match.group(), place))
        place = match.end()
    return out


class _TreeReader:
    """From tokens to trees: implications are cut out first, `ast` reads what is left."""

    def __init__(self, text: str, tokens: list[Token], limits: RuleLimits) -> None:
        self.text, self.tokens, self.limits = text, tokens, limits
        self.inner_implications: dict[int, Implication] = {}

    def read(self, tokens: list[tuple[int, Token]], end: int) -> Tree:
        """The tree of some tokens; ``end`` is where a mark goes if something is missing after them."""
        words = _outer_words(tokens)
        if words and words[0] == "if":
            if "then" not in words:
                refuse(self.text, tokens[0][1].start, "'if' without 'then'", "write: if a > 1 then b > 2")
            cut = words.index("then")
            return self._read_implication(tokens[1:cut], tokens[cut:], end)
        if "implies" in words:
            cut = words.index("implies")
            return self._read_implication(tokens[:cut], tokens[cut:], end)
        for word, (_, token) in zip(words, tokens, strict=True):
            if word in ("if", "then"):
                refuse(self.text, token.start, f"{word!r} in the middle", "put the implication in parentheses")
        return self._parse_python(self._fold_implications(tokens), end)

    def _read_implication(self, left: list[tuple[int, Token]], right: list[tuple[int, Token]], end: int) -> Implication:
        return Implication(self.read(left, right[0][1].start), self.read(right[1:], end))

    def _fold_implications(self, tokens: list[tuple[int, Token]]) -> list[tuple[int, Token]]:
        """The tokens with each parenthesis that holds an implication folded into one placeholder."""
        out: list[tuple[int, Token]] = []
        place = 0
        while place < len(tokens):
            number, token = tokens[place]
            close = _find_closing(tokens, place) if token.text == "(" else place
            inside = tokens[place + 1 : close]
            if {"if", "then", "implies"} & set(_outer_words(inside)):
                found = self.read(inside, tokens[close][1].start)
                assert isinstance(found, Implication)
                self.inner_implications[number] = found
                out.append((number, Token("implication", "(", token.start)))
                place = close
            else:
                out.append((number, token))
            place += 1
        return out

    def _parse_python(self, tokens: list[tuple[int, Token]], end: int) -> ast.expr:
        source, starts = _write_python(tokens)
        try:
            tree = ast.parse(source, mode="eval").body
        except SyntaxError as error:
            at = (error.offset or 0) - 1  # below 0: after the last token
            before = [start for place, start in starts.items() if place <= at]
            wrong = before[-1] if before and at < len(source) else end
            refuse(self.text, wrong, "it cannot be read", self._suggest_correction(tokens, wrong, end))
        except (RecursionError, MemoryError):
            refuse(self.text, 0, "it is nested too deeply", SPLITTING_HINT)
        if _count_levels(tree) > self.limits.levels:
            refuse(
                self.text, starts[0], f"more than {self.limits.levels} operations inside one another,", SPLITTING_HINT
            )
        nodes = [node for node in ast.walk(tree) if isinstance(node, ast.expr)]
        for node in nodes:
            node.col_offset = starts.get(node.col_offset, 0)
        for node in sorted(nodes, key=lambda each: each.col_offset):  # the first thing that is wrong is marked
            self._check_allowed(node)
        return tree

    def _suggest_correction(self, tokens: list[tuple[int, Token]], wrong: int, end: int) -> str:
        """What to do about a text that cannot be read at a place; two names in a row are one with a space in it."""
        plain = [token.kind == "name" and token.text not in PYTHON_KEYWORDS for _, token in tokens]
        for place, (_, token) in enumerate(tokens[1:], start=1):
            before = tokens[place - 1][1]
            if plain[place - 1] and plain[place] and wrong in (before.start, token.start):
                name = self.text[before.start : token.start + len(token.text)]
                return f"write a name with a space in it in backquotes: `{name}`"
        return "correct what is marked" if wrong < end else "complete it"

    def _check_allowed(self, node: ast.expr) -> None:
        def text_of(part: ast.expr) -> str:
            return self.tokens[int(part.id.strip("_"))].text if isinstance(part, ast.Name) else ""

        if not isinstance(node, ALLOWED_NODES):
            refuse(
                self.text,
                node.col_offset,
                "something else",
                "use comparisons, + - * / **, min, max, abs, round, and, or, not",
            )
        if isinstance(node, ast.Attribute) and text_of(node.value) != "x0":
            refuse(
                self.text, node.col_offset, "a dot", "only x0.name has one; write names with dots in backquotes: `a.b`"
            )
        if isinstance(node, ast.Call) and (text_of(node.func) not in FUNCTIONS or node.keywords or not node.args):
            refuse(self.text, node.col_offset, "a call", f"the functions are {', '.join(FUNCTIONS)}")


def _write_python(tokens: list[tuple[int, Token]]) -> tuple[str, dict[int, int]]:
    """Tokens as Python text for `ast`, with placeholders for names; and the position of each in both texts."""
    source, starts = "", {}
    for number, token in tokens:
        starts[len(source)] = token.start
        kept = token.kind in ("number", "sign") or (token.kind == "name" and token.text in PYTHON_KEYWORDS)
        source += (token.text if kept else f"_{number}_") + " "
    return source.rstrip(), starts


def _check_nesting(text: str, tokens: list[Token], limits: RuleLimits) -> None:
    """What Python reads by calling itself again and again has a limit, said before it is met."""
    depth = implications = 0
    for token in tokens:
        depth += (token.text in ("(", "[")) - (token.text in (")", "]"))
        implications += token.kind == "name" and token.text in ("implies", "then")
        if depth > limits.levels // 2:
            refuse(text, token.start, f"more than {limits.levels // 2} brackets inside one another,", SPLITTING_HINT)
        if implications > limits.implications:
            refuse(text, token.start, f"more than {limits.implications} implications", "write several rules")


def _count_levels(tree: ast.expr) -> int:
    """How many operations of a tree are inside one another."""
    deepest, todo = 0, [(tree, 1)]
    while todo:
        node, level = todo.pop()
        deepest = max(deepest, level)
        todo.extend((each, level + 1) for each in ast.iter_child_nodes(node) if isinstance(each, ast.expr))
    return deepest


def _outer_words(tokens: list[tuple[int, Token]]) -> list[str]:
    """For each token the word it is, if it is a name outside all brackets, or nothing."""
    depth, out = 0, []
    for _, token in tokens:
        depth -= token.text in (")", "]")
        out.append(token.text if token.kind == "name" and depth == 0 else "")
        depth += token.text in ("(", "[")
    return out


def _find_closing(tokens: list[tuple[int, Token]], start: int) -> int:
    """Where the bracket that opens at ``start`` is closed, or the end."""
    depth = 0
    for place in range(start, len(tokens)):
        depth += (tokens[place][1].text in ("(", "[")) - (tokens[place][1].text in (")", "]"))
        if depth == 0:
            return place
    return len(tokens) - 1

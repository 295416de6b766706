"""Rules: the text of a relation between features, as a formula over encoded columns.

a + b == c       min <= mean <= max       abs(a - x0.a) < 5       `name with spaces` in ['u', 'v']
mean == round(bytes / packets)
if a > x0.a then b >= x0.b + 2             proto == 'udp' implies flags == 0       not (a > 1 and b > 1)
"""

from __future__ import annotations

import ast
from math import isfinite
from typing import Any, Literal, NamedTuple, NoReturn

from counterpoise.space.rules.expressions import (
    AbsoluteValue,
    BinaryOperation,
    Column,
    Expression,
    Extremum,
    Number,
    Operator,
    RowColumn,
    negate_expression,
)
from counterpoise.space.rules.formulas import Combination, Compare, Membership, RuleFormula
from counterpoise.space.rules.grammar import (
    DEFAULT_RULE_LIMITS,
    Implication,
    RuleLimits,
    Syntax,
    Tree,
    parse_syntax,
    refuse,
)
from counterpoise.space.rules.rounded import RoundedEquation
from counterpoise.space.schema.schema import Feature, Schema
from counterpoise.types import is_number

OPERATORS: dict[type[ast.operator], Operator] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Pow: "**",
}
NUMERIC_CATEGORIES = ((0, 1), (False, True))  # categories whose codes are their values


class NamedFeature(NamedTuple):
    """A feature that a rule names, in the point or in the row itself."""

    feature: Feature
    number: int
    is_in_row: bool

    @property
    def expression(self) -> Expression:
        return RowColumn(self.number) if self.is_in_row else Column(self.number)

    @property
    def has_number_codes(self) -> bool:
        """Whether its encoded values are the numbers they stand for."""
        return self.feature.is_numeric or tuple(self.feature.categories) in NUMERIC_CATEGORIES


def parse_formula(
    text: str, schema: Schema, tolerance: float = 0.0, limits: RuleLimits = DEFAULT_RULE_LIMITS
) -> RuleFormula:
    """The formula of a rule over the columns of a schema.

    >>> import numpy as np, pandas as pd
    >>> schema = Schema.infer(pd.DataFrame({"a": [1, 2], "proto": ["tcp", "udp"]}))
    >>> formula = parse_formula("proto == 'udp' implies a == 0", schema)
    >>> formula.holds(np.array([[0.0, 2.0], [1.0, 1.0]]), np.zeros((2, 2)))
    array([ True, False])
    """
    syntax = parse_syntax(text, limits)
    translator = _Translator(syntax, schema, tolerance, limits)
    found = translator.translate_formula(syntax.tree)
    if _count_choices(found) > limits.nested_choices:
        given = f"more than {limits.nested_choices} alternatives inside one another,"
        translator.refuse(None, given, "write several rules")
    return found


def parse_expression(text: str, schema: Schema) -> Expression:
    """The expression of a derived feature over the columns of a schema.

    >>> import pandas as pd
    >>> schema = Schema.infer(pd.DataFrame({"bytes": [1, 2], "duration": [0.5, 1.5]}))
    >>> parse_expression("bytes / duration", schema)
    BinaryOperation(operator='/', left=Column(number=0), right=Column(number=1))
    """
    syntax = parse_syntax(text)
    meaning = _Translator(syntax, schema, 0.0, DEFAULT_RULE_LIMITS)
    if isinstance(syntax.tree, Implication):
        meaning.refuse(None, "an implication", "give an expression such as 'bytes / duration'")
    return meaning.translate_number(syntax.tree)


def backquote_name(name: Any) -> str:
    """A feature's name as a rule writes it.

    >>> backquote_name("rate"), backquote_name("Protocol Type")
    ('rate', '`Protocol Type`')
    """
    text = str(name)
    reserved = {"if", "then", "implies", "and", "or", "not", "in", "True", "False", "x0"}
    return text if text.isidentifier() and text not in reserved else f"`{text}`"


class _Translator:
    """Translates a syntax tree, node by node."""

    def __init__(self, syntax: Syntax, schema: Schema, tolerance: float, limits: RuleLimits) -> None:
        self.syntax, self.schema, self.tolerance, self.limits = syntax, schema, tolerance, limits
        self.comparison_count = 0
        self.column_by_name = {str(name): number for number, name in enumerate(schema.names)}

    def refuse(self, node: ast.expr | None, given: str, todo: str) -> NoReturn:
        refuse(self.syntax.text, node.col_offset if node is not None else 0, given, todo)

    def translate_formula(self, tree: Tree) -> RuleFormula:
        if isinstance(tree, Implication):
            parts = [self.translate_formula(tree.condition).negate(), self.translate_formula(tree.consequence)]
            return _combine("any", parts)
        inner = self.syntax.implication(tree)
        if inner is not None:
            return self.translate_formula(inner)
        if isinstance(tree, ast.BoolOp):
            how: Literal["all", "any"] = "all" if isinstance(tree.op, ast.And) else "any"
            return _combine(how, [self.translate_formula(part) for part in tree.values])
        if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.Not):
            return self.translate_formula(tree.operand).negate()
        if isinstance(tree, ast.Compare):
            sides = [tree.left, *tree.comparators]
            links = [self.translate_link(sides[place], op, sides[place + 1]) for place, op in enumerate(tree.ops)]
            return links[0] if len(links) == 1 else _combine("all", links)
        cell = self.find_feature(tree)
        if cell is not None and cell.feature.kind == "boolean":
            return Compare("==", cell.expression, Number(1.0))
        self.refuse(tree, "a number where a comparison should be", "compare it with something")

    def translate_link(self, left: ast.expr, op: ast.cmpop, right: ast.expr) -> RuleFormula:
        """One comparison of a chain."""
        if isinstance(op, (ast.In, ast.NotIn)):
            return self.translate_membership(left, right, none=isinstance(op, ast.NotIn))
        if isinstance(op, ast.Eq):
            for column, call in ((left, right), (right, left)):
                if isinstance(call, ast.Call) and self.function_name(call) == "round":
                    return self.translate_rounding(column, call)
        sides = self.translate_sides(left, op, right)
        options = [len(side.options) if isinstance(side, Extremum) else 1 for side in sides]
        self.comparison_count += options[0] * options[1]
        if self.comparison_count > self.limits.comparisons:
            self.refuse(left, f"more than {self.limits.comparisons} comparisons in one rule,", "write several rules")
        if isinstance(op, (ast.Gt, ast.GtE)):
            sides = sides[1], sides[0]
        if isinstance(op, (ast.Lt, ast.Gt)):
            return Compare("<", *sides)
        if isinstance(op, (ast.LtE, ast.GtE)):
            return Compare("<=", *sides, self.tolerance)
        return Compare("==" if isinstance(op, ast.Eq) else "!=", *sides, self.tolerance)

    def translate_sides(self, left: ast.expr, op: ast.cmpop, right: ast.expr) -> tuple[Expression, Expression]:
        cells = self.find_feature(left), self.find_feature(right)
        for mine, other, node in ((*cells, right), (cells[1], cells[0], left)):
            if mine is None or mine.has_number_codes:
                continue
            if mine.feature.kind != "ordinal" and not isinstance(op, (ast.Eq, ast.NotEq)):
                self.refuse(left, f"{mine.feature.name!r}, whose values have no order,", "compare it with ==, != or in")
            if other is None:
                literal = Number(self.category_code(mine.feature, node))
                return (mine.expression, literal) if node is right else (literal, mine.expression)
            if other.feature.categories != mine.feature.categories:
                self.refuse(node, f"{other.feature.name!r}, which has other categories,", "compare it with its own")
            return (mine.expression, other.expression) if node is right else (other.expression, mine.expression)
        return self.translate_number(left), self.translate_number(right)

    def translate_membership(self, left: ast.expr, right: ast.expr, *, none: bool) -> RuleFormula:
        if not isinstance(right, (ast.List, ast.Tuple)) or not right.elts:
            self.refuse(right, "'in' without a list", "write for instance: proto in ['tcp', 'udp']")
        cell = self.find_feature(left)
        if cell is not None and not cell.has_number_codes:
            return Membership(
                cell.expression, tuple(self.category_code(cell.feature, item) for item in right.elts), none
            )
        values = [self.translate_number(item) for item in right.elts]
        if not all(isinstance(value, Number) for value in values):
            self.refuse(right, "a list with something other than numbers", "list numbers, or use == and or")
        return Membership(
            self.translate_number(left), tuple(value.number for value in values if isinstance(value, Number)), none
        )

    def translate_number(self, node: ast.expr) -> Expression:
        if isinstance(node, ast.BinOp):
            return BinaryOperation(
                OPERATORS[type(node.op)], self.translate_number(node.left), self.translate_number(node.right)
            )
        if isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.Not):
            inner = self.translate_number(node.operand)
            return negate_expression(inner) if isinstance(node.op, ast.USub) else inner
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
            if not isinstance(node.value, bool) and not (is_number(node.value) and isfinite(node.value)):
                self.refuse(node, "a number too large for double precision", "write a smaller one")
            return Number(float(node.value))
        if isinstance(node, ast.Call):
            return self.translate_call(node)
        cell = self.find_feature(node)
        if cell is not None and cell.has_number_codes:
            return cell.expression
        if cell is not None:
            self.refuse(
                node, f"{cell.feature.name!r}, which is {cell.feature.kind},", "compare it with one of its values"
            )
        if self.literal_text(node) is not None:
            self.refuse(node, "a text where a number should be", "texts are compared with categorical features")
        self.refuse(node, "a statement where a number should be", "put only numbers and features here")

    def translate_rounding(self, written: ast.expr, call: ast.Call) -> RuleFormula:
        """A feature that is written rounded: ``mean == round(bytes / packets)``, or ``round(bytes / packets, 2)``."""
        cell = self.find_feature(written)
        if cell is None or not isinstance(cell.expression, Column) or not cell.has_number_codes:
            self.refuse(written, "round beside something else than a feature", "write mean == round(bytes / packets)")
        decimals = call.args[1] if len(call.args) == 2 else ast.Constant(0)
        kept = decimals.value if isinstance(decimals, ast.Constant) else None
        if len(call.args) > 2 or not isinstance(kept, int) or isinstance(kept, bool) or kept > self.limits.decimals:
            todo = f"write round(expression, decimals) with decimals from 0 to {self.limits.decimals}"
            self.refuse(call, "round with a wrong number of decimals", todo)
        return RoundedEquation.of(cell.expression, self.translate_number(call.args[0]), kept, self.tolerance)

    def translate_call(self, node: ast.Call) -> Expression:
        name = self.function_name(node)
        if name == "round":
            self.refuse(node, "round inside something else", "write mean == round(bytes / packets)")
        parts = tuple(self.translate_number(part) for part in node.args)
        if name == "abs":
            if len(parts) != 1:
                self.refuse(node, f"abs of {len(parts)} numbers", "abs takes one")
            return AbsoluteValue(parts[0])
        return Extremum("min" if name == "min" else "max", parts)

    def function_name(self, call: ast.Call) -> str:
        token = self.syntax.token(call.func)
        return "" if token is None else token.text

    def find_feature(self, node: ast.expr) -> NamedFeature | None:
        """The feature named by a node, or None."""
        origin = isinstance(node, ast.Attribute)
        if isinstance(node, ast.Attribute):
            written = self.attribute_name(node)
        else:
            token = self.syntax.token(node)
            if token is None or token.kind not in ("name", "quoted"):
                return None
            written = token.text
            if written == "x0":
                self.refuse(node, "x0 without a name", "write x0.name")
        name = written.strip("`")
        if name not in self.column_by_name:
            whole = self.find_unquoted_name(node)
            if whole:
                self.refuse(node, f"{name!r}, which is no feature,", f"write {whole} in backquotes: `{whole}`")
            close = ", ".join(list(self.column_by_name)[:8]) + (" …" if len(self.column_by_name) > 8 else "")
            self.refuse(node, f"{name!r}, which is no feature,", f"there are {close}")
        number = self.column_by_name[name]
        if self.schema.features[number].has_large_integers:
            self.refuse(node, f"{name!r}, whose whole numbers reach 2**53 and lose digits,", "leave it out of rules")
        return NamedFeature(self.schema.features[number], number, origin)

    def find_unquoted_name(self, node: ast.expr) -> str:
        """The feature that the text at a node spells without the backquotes that its name needs; empty if none."""
        text, place = self.syntax.text, node.col_offset
        if isinstance(node, ast.Attribute):  # x0.name begins where x0 does
            place = self.syntax.tokens[int(node.attr.strip("_"))].start
        for name in sorted(self.column_by_name, key=len, reverse=True):
            first = max(place - len(name) + 1, 0)
            if backquote_name(name) != name and text.find(name, first, place + len(name)) >= 0:
                return name
        return ""

    def attribute_name(self, node: ast.Attribute) -> str:
        return self.syntax.tokens[int(node.attr.strip("_"))].text

    def literal_text(self, node: ast.expr) -> str | None:
        token = self.syntax.token(node)
        return token.text[1:-1] if token is not None and token.kind == "text" else None

    def category_code(self, feature: Feature, node: ast.expr) -> float:
        """The code of the category that a literal names."""
        literal = self.literal_text(node)
        value: Any = literal if literal is not None else node.value if isinstance(node, ast.Constant) else None
        codes = [code for code, known in enumerate(feature.categories) if value in (known, str(known))]
        if value is None or not codes:
            known = ", ".join(repr(each) for each in feature.categories[:8])
            todo = f"its values are {known}" + (" …" if len(feature.categories) > 8 else "")
            self.refuse(node, f"what {feature.name!r} cannot be", todo)
        return float(codes[0])


def _combine(how: Literal["all", "any"], parts: list[RuleFormula]) -> RuleFormula:
    """Formulas joined by all or any; a part that is joined in the same way is flattened into the whole."""
    flat = [part.parts if isinstance(part, Combination) and part.quantifier == how else (part,) for part in parts]
    return Combination(how, tuple(each for part in flat for each in part))


def _count_choices(formula: RuleFormula) -> int:
    """How deep alternatives ("any") of a formula are nested in one another."""
    if not isinstance(formula, Combination):
        return 0
    return (formula.quantifier == "any") + max(map(_count_choices, formula.parts), default=0)

"""The changes that make mutants of a module, see ``mutants.py``."""

import ast
import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

SPEED = re.compile(r"TILE|BLOCK|CHUNK|THREAD|BATCH|CACHE|WORKER|BUFFER|threads|workers|cache")
UNSEEN = re.compile(
    r"strict|encoding|flush|copy|check_finite|overwrite_\w+|stacklevel"
    r"|markersize|markeredgewidth|e?linewidth|fontsize|zorder|capsize"
)
SAID = re.compile(r"(print|.*\.(say|show))$")
MOVED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">"}
TURNED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="} | {
    "is": "is not", "is not": "is", "in": "not in", "not in": "in",
}  # fmt: skip
EXCHANGED = {"+": "-", "-": "+", "*": "/", "/": "*", "//": "*", "%": "*", "**": "*"} | {
    "&": "|", "|": "&", "<<": ">>", ">>": "<<",
}  # fmt: skip
SIGNS = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
    ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in", ast.Add: "+",
    ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.BitAnd: "&", ast.BitOr: "|", ast.LShift: "<<", ast.RShift: ">>",
}  # fmt: skip


class Mutant(NamedTuple):
    """A change of a module: bytes ``start`` to ``end`` become ``new``.

    ``function`` has the lines of the innermost function around them.
    """

    module: str
    line: int
    change: str
    name: str
    function: tuple[int, int] | None
    start: int
    end: int
    new: str


class Changes(ast.NodeVisitor):
    """The changes that a module allows, as (node, new text)."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.function: tuple[int, int] | None = None
        self.found: list[tuple[ast.AST, str, tuple[int, int] | None]] = []
        self.visit(ast.parse(source))

    def add(self, node: ast.AST, new: str) -> None:
        self.found.append((node, new, self.function))

    def text(self, node: ast.AST) -> str:
        return f"({ast.unparse(node)})"

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        if node.name in ("__repr__", "__str__"):
            return
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                self.visit(default)
        around, first = self.function, min([node, *node.decorator_list], key=lambda n: n.lineno)
        self.function = (first.lineno, node.end_lineno or node.lineno)
        for statement in node.body:
            self.visit(statement)
        self.function = around

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for statement in node.body:
            self.visit(statement)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None and not SPEED.search(ast.unparse(node.target)):
            self.visit(node.value)

    def visit_Assign(self, node: ast.Assign) -> None:
        names = ", ".join(map(ast.unparse, node.targets))
        if SPEED.search(names):
            return
        if not all(isinstance(target, ast.Name | ast.Tuple) for target in node.targets):
            self.add(node, "pass")
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.add(node, "pass")
        sign = SIGNS.get(type(node.op))
        if sign in EXCHANGED and not self.is_text(node.value):
            target, value = ast.unparse(node.target), ast.unparse(node.value)
            self.add(node, f"{target} {EXCHANGED[sign]}= {value}")
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call) and not self.is_said(node.value):
            self.add(node, "pass")
        self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> None:
        self.add(node, "pass")

    def visit_Continue(self, node: ast.Continue) -> None:
        self.add(node, "pass")

    def visit_Break(self, node: ast.Break) -> None:
        self.add(node, "pass")

    def visit_Return(self, node: ast.Return) -> None:
        if node.value is not None and ast.unparse(node.value) != "None":
            self.add(node, "return None")
            self.generic_visit(node)

    def visit_If(self, node: ast.If | ast.IfExp | ast.While) -> None:
        condition = node.test
        if ast.unparse(condition).endswith("TYPE_CHECKING"):
            return
        if not isinstance(condition, ast.Compare | ast.BoolOp | ast.UnaryOp | ast.Constant):
            self.add(condition, f"(not {self.text(condition)})")
        self.generic_visit(node)

    visit_IfExp = visit_While = visit_If  # noqa: N815

    def visit_Compare(self, node: ast.Compare) -> None:
        for i, operator in enumerate(node.ops):
            sign = SIGNS[type(operator)]
            for table in (MOVED, TURNED):
                if sign in table:
                    parts = [self.text(node.left)]
                    for j, (other, right) in enumerate(
                        zip(node.ops, node.comparators, strict=True)
                    ):
                        parts.append(table[sign] if i == j else SIGNS[type(other)])
                        parts.append(self.text(right))
                    self.add(node, f"({' '.join(parts)})")
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        word = " or " if isinstance(node.op, ast.And) else " and "
        self.add(node, f"({word.join(map(self.text, node.values))})")
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        self.add(node, self.text(node.operand))
        if not isinstance(node.operand, ast.Constant):
            self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        sign = SIGNS.get(type(node.op))
        if sign in EXCHANGED and not self.is_text(node.left) and not self.is_text(node.right):
            new = f"({self.text(node.left)} {EXCHANGED[sign]} {self.text(node.right)})"
            self.add(node, new)
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self.add(node, str(not node.value))
        elif isinstance(node.value, int):
            self.add(node, str(node.value + 1))
        elif isinstance(node.value, float):
            self.add(node, repr(node.value * 2 or 1.0))

    def visit_Call(self, node: ast.Call) -> None:
        if self.is_said(node):
            return
        if isinstance(node.func, ast.Name) and node.func.id in ("cast", "TypeVar", "NewType"):
            return
        keywords = [k for k in node.keywords if not UNSEEN.fullmatch(k.arg or "")]
        for keyword in keywords:
            others = [k for k in node.keywords if k is not keyword]
            self.add(node, ast.unparse(ast.Call(node.func, node.args, others)))
        if len(node.args) > 1 and not isinstance(node.args[-1], ast.Starred):
            self.add(node, ast.unparse(ast.Call(node.func, node.args[:-1], node.keywords)))
        self.visit(node.func)
        for value in (*node.args, *(k.value for k in keywords if not SPEED.search(k.arg or ""))):
            self.visit(value)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Words."""

    def is_text(self, node: ast.AST) -> bool:
        return isinstance(node, ast.JoinedStr) or (
            isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)
        )

    def is_said(self, node: ast.Call) -> bool:
        return SAID.match(ast.unparse(node.func)) is not None


def mutants_of(path: Path, library: Path) -> Iterator[Mutant]:
    """All mutants of a module. Those of equal lines are numbered, so that each has its name."""
    module = path.relative_to(library).as_posix()
    source = path.read_text()
    lines = source.encode().splitlines(keepends=True)
    offsets = [0]
    for line in lines:
        offsets.append(offsets[-1] + len(line))
    seen: Counter[str] = Counter()
    for node, new, function in Changes(source).found:
        start = offsets[node.lineno - 1] + node.col_offset
        end = offsets[node.end_lineno - 1] + node.end_col_offset
        old = " ".join(b"".join(lines)[start:end].decode().split())
        text = f"{module}|{lines[node.lineno - 1].decode().strip()}|{old}|{new}"
        seen[text] += 1
        name = hashlib.sha256(f"{text}|{seen[text]}".encode()).hexdigest()[:12]
        change = f"{ast.unparse(node)}  ->  {new}"
        yield Mutant(module, node.lineno, change, name, function, start, end, new)

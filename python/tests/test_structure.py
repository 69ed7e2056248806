"""How the package is built: layers that import one way, no cycles, no access to private fields."""

import ast
import re
from pathlib import Path

import ide3al

ROOT = Path(ide3al.__file__).parent

#: Sub-packages and modules in the order in which they may import one another: each only what stands
#: before it. The compiled module stands before all of them.
LAYERS = [
    ("_archives", "_deprecated", "_entropy", "_equality", "_extras", "_display", "types"),
    ("_arguments", "_check", "_protocol"),
    ("encoding",),
    ("models",),
    ("solving",),
    ("datasets",),
    ("runners",),
    ("evaluation",),
    ("planning",),
    ("agents",),
    ("callbacks", "collecting"),
    ("experiments",),
    ("plotting",),
    ("registration", "wrappers", "_studio"),
    ("envs",),
    ("_explore",),
    ("__main__",),
]
#: Most lines of a file.
MAX_LINES = 400


def sources(root: Path) -> dict[str, Path]:
    """Every module below a folder by its name within the package."""
    found = {}
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(name: str, path: Path, known: dict[str, Path]) -> set[str]:
    """The modules of the package that a module imports: at its top, within functions, and for
    types."""
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level + 1]
            module = ".".join([*base, *([node.module] if node.module else [])])
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "ide3al":
            module = (node.module or "").partition(".")[2]
        else:
            continue
        for alias in node.names:
            inside = f"{module}.{alias.name}".lstrip(".")
            found |= {one for one in (inside, module) if one in known and one}
    return found - {name}


def graph(root: Path) -> dict[str, set[str]]:
    known = sources(root)
    # the package itself only says where its public names are
    return {name: imports(name, path, known) for name, path in known.items() if name}


def backward_imports(edges: dict[str, set[str]]) -> list[str]:
    place = {part: k for k, layer in enumerate(LAYERS) for part in layer}
    problems = []
    for name, targets in edges.items():
        here = name.split(".")[0]
        if here not in place:
            problems.append(f"{name}: belongs to no layer; add it to LAYERS")
            continue
        for target in sorted(targets):
            there = target.split(".")[0]
            if there != here and place.get(there, len(LAYERS)) >= place[here]:
                problems.append(f"{name} imports {target}, which stands behind it")
    return problems


def cycle(edges: dict[str, set[str]]) -> list[str]:
    """Modules that import one another in a circle; empty where there are none."""
    done: set[str] = set()

    def visit(name: str, path: list[str]) -> list[str]:
        if name in path:
            return [*path[path.index(name) :], name]
        if name not in done:
            for target in sorted(edges.get(name, ())):
                if found := visit(target, [*path, name]):
                    return found
            done.add(name)
        return []

    return next((found for name in edges if (found := visit(name, []))), [])


def private_accesses(path: Path) -> list[str]:
    """Fields with a leading underscore that are read or written on an object of another class, and
    private names imported from other modules."""
    tree = ast.parse(path.read_text())
    own: dict[int, set[str]] = {}
    for kind in (node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)):
        inside = list(ast.walk(kind))
        names = {node.name for node in kind.body if isinstance(node, ast.FunctionDef)}
        for node in inside:
            stored = isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
            if stored and isinstance(node.value, ast.Name) and node.value.id == "self":
                names.add(node.attr)
        for node in inside:
            own.setdefault(id(node), set()).update(names)
    problems = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr.startswith("_"):
            receiver = node.value.id if isinstance(node.value, ast.Name) else ""
            special = node.attr.startswith("__") and node.attr.endswith("__")
            if not special and receiver not in ("self", "cls"):
                if node.attr not in own.get(id(node), set()):
                    problems.append((node.lineno, ast.unparse(node)))
        if isinstance(node, ast.ImportFrom) and node.module != "__future__":
            for alias in node.names:
                if alias.name.startswith("_") and alias.name != "_ide3al":
                    problems.append((node.lineno, f"imports {alias.name}"))
    return [f"{path}:{line}: {what}" for line, what in sorted(problems)]


def test_layers_import_one_way():
    edges = graph(ROOT)
    assert backward_imports(edges) == []
    assert cycle(edges) == []


def test_planted_backward_imports_and_cycles_are_found(tmp_path):
    for name in ("encoding/first", "encoding/second", "agents/third"):
        path = tmp_path / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text("")
    assert cycle(graph(tmp_path)) == [] and backward_imports(graph(tmp_path)) == []
    (tmp_path / "encoding" / "first.py").write_text("from ..agents.third import x\n")
    assert len(backward_imports(graph(tmp_path))) == 1
    # within a function, where only a call would run into it
    (tmp_path / "encoding" / "first.py").write_text("from .second import x\n")
    (tmp_path / "encoding" / "second.py").write_text("def f():\n    from . import first\n")
    assert cycle(graph(tmp_path)) == ["encoding.first", "encoding.second", "encoding.first"]
    (tmp_path / "stray.py").write_text("")
    assert "belongs to no layer" in backward_imports(graph(tmp_path))[0]


def test_private_fields_stay_private(tmp_path):
    assert [found for path in sources(ROOT).values() for found in private_accesses(path)] == []
    planted = tmp_path / "planted.py"
    planted.write_text(
        "from .other import _hidden\n"
        "class A:\n"
        "    def __init__(self, other):\n"
        "        self._x = other._x\n"
        "        self._y = other._z\n"
        "def f(a):\n"
        "    return a._x\n"
    )
    assert [found.split(":", 1)[1] for found in private_accesses(planted)] == [
        "1: imports _hidden",
        "5: other._z",
        "7: a._x",
    ]


def test_files_are_short():
    long = {
        name: lines
        for name, path in sources(ROOT).items()
        if (lines := len(path.read_text().splitlines())) > MAX_LINES
    }
    assert long == {}


def test_encoders_runners_strategies_and_formats_have_one_shape():
    import gymnasium
    import numpy as np

    from ide3al.collecting.strategies.fixed import FixedStrategy
    from ide3al.datasets.formats.registry import FORMATS
    from ide3al.encoding.base import StateEncoder
    from ide3al.encoding.discrete import DiscoveredStates, state_encoder
    from ide3al.runners.single import SingleRunner

    env = gymnasium.make("FrozenLake-v1")
    for encoder in (state_encoder(env.observation_space), DiscoveredStates()):
        assert isinstance(encoder, StateEncoder) and encoder.number(0) == 0
    assert all(suffix == one.suffix for suffix, one in FORMATS.items())
    runner = SingleRunner(env, None, None)
    for method in ("episodes", "drain", "close"):
        assert callable(getattr(runner, method))
    strategy = FixedStrategy(np.full((16, 4), 0.25), runner, None)
    for method in ("next_plan", "observe", "done", "progress", "plan_info", "promise", "resume"):
        assert callable(getattr(strategy, method))


def test_words_that_only_we_knew_stay_away():
    """Names that readers of the field would not know, replaced by those that they do."""
    words = (
        "Roads|Celled|recut|Evened|Promised|Tally|errand|Lessons|thawed|frozen_key|Choices|"
        "lived|at_hand|_Watch|viewed|Moved"
    )
    found = [
        f"{name}: {match.group()}"
        for name, path in sources(ROOT).items()
        for match in re.finditer(rf"\b({words})\b", path.read_text())
    ]
    assert found == []

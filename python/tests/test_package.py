"""The package itself: names are there when asked for, and cost nothing before."""

import subprocess
import sys

import ide3al


def fresh(code):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()


def test_nothing_heavy_is_loaded_before_it_is_needed():
    loaded = fresh(
        "import sys, ide3al; print(*(m for m in ('numpy', 'ide3al.agents', 'ide3al._studio') if m in sys.modules))"
    )
    assert loaded == []
    # with Gymnasium the domains are registered, and still nothing else is loaded
    found = fresh(
        "import sys, gymnasium, ide3al; print('ide3al/DoubleChain-v0' in gymnasium.registry, 'ide3al.envs' in sys.modules)"
    )
    assert found == ["True", "False"]


def test_every_name_is_what_its_module_holds():
    assert set(ide3al._HOME) | {"__version__"} >= set(ide3al.__all__)
    for name in ide3al.__all__:
        thing = getattr(ide3al, name)
        assert callable(thing), (
            f"{name} is no class or function: a module of the same name hides it"
        )
        assert name in dir(ide3al)
    # whichever comes first, a module or one of its names
    assert fresh(
        "import ide3al.solving.frontier, ide3al; print(ide3al.frontier.__name__, ide3al.wrappers.__name__)"
    ) == ["frontier", "ide3al.wrappers"]


def test_names_that_are_not_there():
    assert not hasattr(ide3al, "nothing") and not hasattr(ide3al, "_nothing")

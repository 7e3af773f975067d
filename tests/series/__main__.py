"""Long series, by hand or weekly: ``python tests/series NAME ...``, see ``docs/scale.md``.

The names are kills, flips, surroundings, fuzz and mutants; each has ``--help``.
"""

import runpy
import sys
from pathlib import Path

if __name__ == "__main__":
    here = Path(__file__).parent
    names = ("kills", "flips", "surroundings", "fuzz", "mutants")
    if len(sys.argv) < 2 or sys.argv[1] not in names:
        sys.exit(f"usage: python tests/series {{{','.join(names)}}} ...")
    sys.path[:0] = [str(here.parent)]
    del sys.argv[0]
    sys.argv[0] = str(here / f"{sys.argv[0]}.py")
    runpy.run_path(sys.argv[0], run_name="__main__")

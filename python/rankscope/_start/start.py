"""Starts the command `rankscope` in a process of its own, for the command itself.

A script in a folder of its own, because `python -m` would look for modules in the working directory first.
"""

import sys
from pathlib import Path

# The last place to look: the package may have been found where Python does not look by itself.
sys.path.append(str(Path(__file__).parents[2]))

from rankscope.__main__ import main  # noqa: E402

sys.exit(main())

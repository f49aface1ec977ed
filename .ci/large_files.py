"""Refuse files above 2 MB: every version of one stays in the repository for good."""

import sys
from pathlib import Path

LIMIT = 2_000_000

large = [path for path in map(Path, sys.argv[1:]) if path.stat().st_size > LIMIT]
for path in large:
    print(f"{path} has {path.stat().st_size:,} bytes, {LIMIT:,} are allowed")
sys.exit(bool(large))

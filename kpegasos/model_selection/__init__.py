"""The search over C and the kernel's parameters, on shared kernel values."""

from __future__ import annotations

# SPDX-License-Identifier: MIT
"""conftest.py: PyTorch set up the same way everywhere, and the table at the end of a run."""

from __future__ import annotations

import os

# Before any of it is loaded. PyTorch and the library each bring an OpenMP runtime, and idle threads
# of one that wait in a loop would take the cores that the other computes on.
os.environ["OMP_WAIT_POLICY"] = "passive"
os.environ["HF_HUB_OFFLINE"] = "1"

import pytest
import report
import torch

# Its results shall not depend on the number of cores.
torch.set_num_threads(2)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What the comparisons found."""
    for line in ["", *report.table()]:
        terminalreporter.write_line(line)

# SPDX-License-Identifier: MIT
"""`python3 -B tests/asm`: see program.py."""

import sys

from program import main

sys.exit(main(sys.argv[1:]))

# SPDX-License-Identifier: MIT
"""program.py: what the hot loops of compiled kernels are made of, and whether rules are kept.

  python3 tests/asm report [--json] [--widest] [KERNEL...] --build DIR...
  python3 tests/asm scan RULE --objdump COMMAND OBJECT...

`report` prints the innermost loops of eight or more FMAs (of one or more in autovec kernels), for
each build directory, and the rules that they break; `./run asm-report` builds and calls it. `scan`
is what the tests call: it applies one rule to some objects. Exit codes: 0 all is well, 1 a rule is
broken, 2 wrong usage or no such kernel, 77 objdump cannot read the objects.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from difflib import get_close_matches
from fnmatch import fnmatch
from pathlib import Path
from typing import Iterable

import build
import disassembly
import report
import rules
import scans
from hot_loop import Loop, hot_loops

ROOT = Path(__file__).resolve().parent.parent.parent


def read_kernels(objdump: str, paths: Iterable[str]) -> dict[str, list[Loop]]:
    kernels = {}
    for each in sorted(disassembly.disassemble(objdump, paths), key=lambda each: each.name):
        if not any(each.instructions()):
            raise RuntimeError(f"{each.name}: no code was read with {objdump}")
        kernels[each.name] = [
            loop
            for function in each.functions
            for loop in hot_loops(each.name, function, each.arch)
        ]
    return kernels


def is_chosen(kernel: str, patterns: list[str]) -> bool:
    return not patterns or any(
        fnmatch(kernel, pattern.removeprefix("sattn_")) for pattern in patterns
    )


def commit() -> str:
    try:
        name = subprocess.run(
            ["git", "-C", str(ROOT), "describe", "--always", "--dirty"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return name.replace("-dirty", ", with changes")


def run_report(arguments: argparse.Namespace) -> int:
    builds = [build.read(Path(directory)) for directory in arguments.build]
    names = sorted({name for each in builds for name in each.objects})
    for pattern in arguments.kernels:
        if not any(is_chosen(name, [pattern]) for name in names):
            near = get_close_matches(pattern.removeprefix("sattn_"), names, n=4) or names
            raise build.UnusableBuild(f"no kernel is named {pattern}; there are {', '.join(near)}")
    reports = []
    for each in builds:
        kernels = read_kernels(each.objdump, each.objects.values())
        findings = rules.judge(kernels)  # of all, since some are compared with others
        chosen = [name for name in kernels if is_chosen(name, arguments.kernels)]
        findings = [finding for finding in findings if finding.kernel in chosen]
        loops = [loop for name in chosen for loop in kernels[name] if rules.is_shown(loop)]
        if arguments.widest:
            loops = report.widest(loops)
        if chosen:
            reports.append((each, loops, findings))
    if arguments.json:
        print(report.document(commit(), reports))
    else:
        print(f"commit {commit()}")
        for each, loops, findings in reports:
            print(f"\n{each.compiler}, {each.build_type}, {each.directory}")
            print(report.table(loops, findings))
            for finding in findings:
                print(f"broken: {finding}")
    return 1 if any(findings for _, _, findings in reports) else 0


def run_scan(arguments: argparse.Namespace) -> int:
    if arguments.rule == "hot_loops":
        kernels = read_kernels(arguments.objdump, arguments.objects)
        findings = rules.judge(kernels)
        loops = [loop for each in kernels.values() for loop in each if rules.is_shown(loop)]
        print(report.table(loops, findings))
        count = sum(rules.is_written_product(name) for name in kernels)
    elif arguments.rule in ("symbols", "exports"):
        symbols = disassembly.exported_symbols(arguments.objdump, arguments.objects)
        count, findings = scans.scan_symbols(arguments.rule, symbols)
    else:
        objects = disassembly.disassemble(arguments.objdump, arguments.objects)
        count, findings = scans.scan(arguments.rule, objects)
    if count == 0:
        findings = [*findings, "there is no object that the rule is about"]
    for finding in findings:
        print(f"FAILED: {finding}")
    print(f"{arguments.rule}: {count} objects, {len(findings)} findings")
    return 1 if findings else 0


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="asm-report", description=__doc__.partition("\n")[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    verb = verbs.add_parser("report", prog="./run asm-report")
    verb.add_argument("kernels", metavar="KERNEL", nargs="*", help="name or pattern, default: all")
    verb.add_argument("--build", metavar="DIR", nargs="+", required=True, help=argparse.SUPPRESS)
    verb.add_argument("--json", action="store_true", help="print one JSON document")
    verb.add_argument(
        "--widest", action="store_true", help="only the loop with the most FMAs of each function"
    )
    verb.set_defaults(run=run_report)
    verb = verbs.add_parser("scan")
    verb.add_argument("rule", choices=["hot_loops", "symbols", "exports", *scans.RULES])
    verb.add_argument("objects", metavar="OBJECT", nargs="+")
    verb.add_argument("--objdump", required=True)
    verb.set_defaults(run=run_scan)
    arguments = parser.parse_args(words)
    try:
        return arguments.run(arguments)
    except disassembly.WrongTool as error:
        if arguments.run is run_scan:
            print(f"skipped: {error}")
            return 77
        print(f"asm-report: {error}", file=sys.stderr)
        return 2
    except (build.UnusableBuild, RuntimeError) as error:
        print(f"asm-report: {error}", file=sys.stderr)
        return 2

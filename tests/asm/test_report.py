# SPDX-License-Identifier: MIT
"""test_report.py: objects and build directories that are read; table, JSON, exit codes."""

import contextlib
import io
import json
import tempfile
import unittest
from pathlib import Path

import build
import disassembly
import listing
import program
import report
import rules
from test_hot_loop import FOLDED

SNIPPETS = Path(__file__).parent / "snippets"


class Parsing(unittest.TestCase):
    def test_functions_and_instructions(self):
        for name in listing.SNIPPETS:
            scanned = listing.snippet(name)
            self.assertEqual(
                [each.name for each in scanned.functions],
                ["product", "product_in_memory", "polynomial", "product_with_call"],
                name,
            )
            first = scanned.functions[0].instructions[0]
            self.assertEqual(first.address, 0)
            # Comments and tabs are gone, prefixes and operands are not.
            self.assertFalse(
                any("\t" in each.text or "//" in each.text for each in scanned.instructions())
            )

    def test_relocations_belong_to_the_instruction_before(self):
        for name, symbol in (
            ("x86_gcc", "R_X86_64_PLT32 memset-0x4"),
            ("aarch64_gcc", "R_AARCH64_CALL26 memset"),
        ):
            calls = [
                each for each in listing.snippet(name).instructions() if "memset" in each.relocation
            ]
            self.assertEqual([each.relocation for each in calls], [symbol])
            self.assertTrue(calls[0].text.startswith(("call", "bl")))

    def test_several_objects(self):
        text = "".join((SNIPPETS / f"{name}.txt").read_text() for name in listing.SNIPPETS)
        self.assertEqual(
            [each.arch.__name__ for each in disassembly.parse(text)],
            ["x86", "x86", "aarch64", "aarch64"],
        )

    def test_other_architectures(self):
        with self.assertRaises(disassembly.WrongTool):
            disassembly.parse("a.o:     file format elf64-s390\n")

    def test_names_of_kernels(self):
        for path in ("a/qk_f32_avx2.c.o", "qk_f32_avx2.c.obj", "/a/qk_f32_avx2.c"):
            self.assertEqual(disassembly.kernel_of(path), "qk_f32_avx2")


class Tables(unittest.TestCase):
    def test_widest(self):
        names = [loop.function for loop in report.widest(listing.loops(listing.snippet("x86_gcc")))]
        self.assertEqual(names, ["product", "product_in_memory", "polynomial", "product_with_call"])

    def test_a_broken_rule_is_marked(self):
        loops = listing.loops(listing.x86(FOLDED, "qk_f32_avx2"))
        text = report.table(loops, rules.judge({"qk_f32_avx2": loops}))
        self.assertRegex(text.splitlines()[-1], r"f +0 +16 +8 50\.0% .*!rereads$")

    def test_names_that_compilers_change(self):
        (loop,) = listing.loops(listing.x86(FOLDED))
        loop.function = "score.constprop.0.isra.0"
        self.assertEqual(report.function_of(loop), "score")


class Program(unittest.TestCase):
    """A build directory whose objdump is a script that prints a snippet."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = Path(directory.name)
        (self.directory / "CMakeFiles/3.25.1").mkdir(parents=True)
        (self.directory / "CMakeFiles/3.25.1/CMakeCCompiler.cmake").write_text(
            'set(CMAKE_C_COMPILER_ID "GNU")\nset(CMAKE_C_COMPILER_VERSION "12.2.0")\n'
        )
        self.make("fused_f32_avx512", "x86_gcc")

    def make(self, kernel, snippet, status=0, errors=""):
        text = (SNIPPETS / f"{snippet}.txt").read_text().replace("loops.c.o", f"{kernel}.c.o")
        (self.directory / "code.txt").write_text(text)
        objdump = self.directory / "objdump"
        objdump.write_text(
            f"#!/bin/sh\necho '{errors}' >&2\ncat {self.directory}/code.txt\nexit {status}\n"
        )
        objdump.chmod(0o755)
        (self.directory / "CMakeCache.txt").write_text(
            f"CMAKE_BUILD_TYPE:STRING=Release\nCMAKE_OBJDUMP:FILEPATH={objdump}\n"
        )
        path = f"CMakeFiles/sattn_kernels_any.dir/kernels/op/{kernel}.c.o"
        (self.directory / path).parent.mkdir(parents=True, exist_ok=True)
        (self.directory / path).touch()
        (self.directory / "compile_commands.json").write_text(
            json.dumps(
                [
                    {
                        "directory": str(self.directory),
                        "file": f"/kernels/op/{kernel}.c",
                        "command": f"cc -O3 -o {path} -c {kernel}.c",
                    },
                    {
                        "directory": str(self.directory),
                        "file": "/dispatch/plan.c",
                        "command": "cc -o CMakeFiles/sattn_objects.dir/dispatch/plan.c.o -c plan.c",
                    },
                ]
            )
        )

    def run_program(self, *words):
        output, errors = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
            status = program.main(list(words))
        return status, output.getvalue(), errors.getvalue()

    def report(self, *words):
        return self.run_program("report", *words, "--build", str(self.directory))

    def test_build_directory(self):
        found = build.read(self.directory)
        self.assertEqual((found.compiler, found.build_type), ("gcc 12.2.0", "Release"))
        self.assertEqual(list(found.objects), ["fused_f32_avx512"])

    def test_table(self):
        status, output, _ = self.report()
        self.assertEqual(status, 1)  # product_with_call has a call and is on the stack
        self.assertIn("gcc 12.2.0, Release", output)
        self.assertRegex(output, r"\n  product +68 +18 +8 44\.4% ")
        self.assertRegex(
            output,
            r"\nbroken: fused_f32_avx512: loop at 398 of product_with_call: 1 calls \[calls\]",
        )

    def test_json(self):
        status, output, _ = self.report("--json", "sattn_fused_*")
        document = json.loads(output)
        self.assertEqual(status, 1)
        made = document["builds"][0]
        self.assertEqual(made["compiler"], "gcc 12.2.0")
        product = made["loops"][0]
        self.assertEqual(
            (product["function"], product["fmas"], product["share"]), ("product", 8, 0.4444)
        )
        self.assertEqual({each["rule"] for each in made["findings"]}, {"calls", "stack"})

    def test_unknown_kernel(self):
        status, output, errors = self.report("fused_f32_mmx")
        self.assertEqual((status, output), (2, ""))
        self.assertIn("fused_f32_avx512", errors)

    def test_what_was_not_built(self):
        next(self.directory.glob("CMakeFiles/*/kernels/op/*.o")).unlink()
        status, _, errors = self.report()
        self.assertEqual(status, 2)
        self.assertIn("no object of fused_f32_avx512", errors)
        self.assertEqual(self.run_program("report", "--build", str(self.directory / "other"))[0], 2)

    def scan(self, rule, objdump="objdump"):
        return self.run_program("scan", rule, "--objdump", str(self.directory / objdump), "any.o")

    def test_scans(self):
        self.assertEqual(self.scan("hot_loops")[0], 1)
        self.assertEqual(self.scan("unfused")[0], 1)
        self.make("av_f32_avx512_autovec", "x86_gcc")
        self.assertEqual(self.scan("unfused")[0], 1)

    def test_a_rule_without_objects_fails(self):
        for rule in ("autovec", "scalar"):
            status, output, _ = self.scan(rule)
            self.assertEqual(status, 1)
            self.assertIn("no object that the rule is about", output)
        self.make("av_f32_avx512_autovec", "x86_gcc")
        self.assertEqual(self.scan("hot_loops")[0], 1)

    def test_no_code_fails(self):
        (self.directory / "code.txt").write_text("qk_f32_avx2.c.o:     file format elf64-x86-64\n")
        self.assertEqual(self.scan("hot_loops")[0], 2)
        self.assertEqual(self.scan("avx2")[0], 1)

    def test_skips_where_objdump_is_missing_or_another(self):
        status, output, _ = self.scan("avx2", "no_such_objdump")
        self.assertEqual(status, 77)
        self.assertIn("skipped:", output)
        self.make(
            "qk_f32_neon",
            "x86_gcc",
            errors="objdump: can not disassemble for architecture UNKNOWN!",
        )
        self.assertEqual(self.scan("avx2")[0], 77)

    def test_an_error_of_objdump_is_no_skip(self):
        self.make("qk_f32_neon", "x86_gcc", status=1, errors="truncated")
        self.assertEqual(self.scan("avx2")[0], 2)


if __name__ == "__main__":
    unittest.main()

"""Checks that the scene reference names every field and enum value of the schema, that its complete scene is valid,
and that relative links in the documentation resolve.

docs_test.py PLIANTD
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
if len(sys.argv) != 2:
    sys.exit("usage: docs_test.py PLIANTD, the program that checks the page's scene, e.g. build/release/bin/pliantd")
PLIANTD = sys.argv.pop()


def schema_names(text):
    """Names of fields, and short names of enum values, of a .proto file."""
    text = re.sub(r"//.*", "", text)
    fields = set(re.findall(r"^\s*(?:repeated |optional )?(?:[\w.]+|map<[^>]*>) (\w+) = \d+", text, re.M))
    choices = set()
    for enum, body in re.findall(r"\benum (\w+) \{([^}]*)\}", text):
        prefix = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", enum).upper() + "_"
        choices |= {name.removeprefix(prefix) for name in re.findall(r"(\w+) = [1-9]", body)}
    return fields | choices


class Compromises(unittest.TestCase):
    """docs/methods.md says of each kind of compromise what happened and what to do."""

    def test_every_kind_is_explained_and_no_other(self):
        header = (ROOT / "physics/stepping/report/step_report.h").read_text()
        kinds = re.findall(r'"(\w+)"', re.search(r"kCompromiseNames\{([^}]*)\}", header)[1])
        self.assertGreater(len(kinds), 10)
        section = re.search(r"^## Compromises\n(.*?)^## ", (ROOT / "docs/methods.md").read_text(), re.M | re.S)[1]
        rows = re.findall(r"^\| `(\w+)` \| (.+?) \| (.+?) \|$", section, re.M)
        self.assertEqual([kind for kind, _, _ in rows], kinds)


class SceneReference(unittest.TestCase):
    def setUp(self):
        self.schema = "".join((ROOT / f"proto/pliant/v1/{name}.proto").read_text() for name in ("scene", "particles", "smooth", "volumes"))
        self.page = (ROOT / "docs/scenes.md").read_text()

    def test_names_every_field_and_choice(self):
        names = schema_names(self.schema)
        self.assertGreater(len(names), 100)
        # `value` is the list inside `Numbers` and `Vector` messages, which scenes write as a plain list
        missing = sorted(name for name in names - {"value"} if not re.search(rf"\b{name}\b", self.page))
        self.assertEqual(missing, [])

    def test_the_whole_scene_is_valid(self):
        scene = re.search(r"## A whole scene\n\n```yaml\n(.*?)```", self.page, re.S)[1]
        self.assertEqual(self.check(scene), (0, ""))
        status, messages = self.check(scene.replace("friction: 0.5", "friction: -0.5"))
        self.assertEqual(status, 3)
        self.assertIn("contact.friction", messages)

    def check(self, scene):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write(scene)
            file.flush()
            run = subprocess.run([PLIANTD, "check", file.name], capture_output=True, text=True, timeout=60)
        return run.returncode, run.stderr

    def test_a_new_field_would_be_missed(self):
        names = schema_names("message A {\n  optional double stickiness = 7;  // words = 3\n}\n"
                             "enum GlueKind {\n  GLUE_KIND_UNSPECIFIED = 0;\n  GLUE_KIND_EPOXY = 1;\n}\n")
        self.assertEqual(names, {"stickiness", "EPOXY"})


class Tables(unittest.TestCase):
    def test_every_row_has_a_line_of_its_own(self):
        broken = []
        for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("scenes/**/*.md")]:
            for number, line in enumerate(page.read_text().splitlines(), 1):
                row = line.strip()
                if row.startswith("| ") and (not row.endswith("|") or re.search(r"\w.*\| --- \|", row)):
                    broken.append(f"{page.relative_to(ROOT)}:{number}")
        self.assertEqual(broken, [])


class Links(unittest.TestCase):
    def test_every_relative_link_leads_to_a_file(self):
        broken = []
        for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
            for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
                if "://" not in target and not (page.parent / target).exists():
                    broken.append(f"{page.relative_to(ROOT)}: {target}")
        self.assertEqual(broken, [])


if __name__ == "__main__":
    unittest.main()

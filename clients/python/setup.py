"""Builds the wheel: `pip wheel clients/python` or `pip install clients/python`, from a tree of
Pliant.

The version is that of the tree. The messages are generated from proto/ by the protoc of
grpcio-tools; the wheel requires a protobuf that can load them. The scenes of the environments and
their robots are copied from scenes/.
"""

import pathlib
import re
import shutil
import sys

from setuptools import setup
from setuptools.command.build_py import build_py

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PROTO = ROOT / "proto"
SCENES = {
    "iiwa_allegro.yaml": ["iiwa_allegro.urdf"],
    "beam_insertion.yaml": ["fetch.urdf", "flexible_beam.xml"],
}
if not (PROTO / "pliant/v1/world.proto").exists():
    sys.exit(
        f"{PROTO}: is missing; build the wheel in a whole tree of Pliant, from its folder clients/python"
    )


def version():
    return re.search(
        r"^project\(pliant VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(), re.M
    )[1]


def dependencies():
    """Requirements. Generated messages load with protobuf from their own version to the end of the
    next major one."""
    generated = protoc_version()
    major = int(generated.split(".")[0])
    return [
        "grpcio>=1.60",
        f"protobuf>={generated},<{major + 2}",
        "googleapis-common-protos>=1.63",
        "numpy>=1.22",
    ]


def protoc_version():
    """The version of protobuf for which the protoc of grpcio-tools generates."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        generate(["pliant/v1/storage.proto"], pathlib.Path(folder))
        text = (pathlib.Path(folder) / "pliant/v1/storage_pb2.py").read_text()
    found = re.search(r"^# Protobuf Python Version: ([0-9.]+)", text, re.M)
    return found[1] if found else "4.21.0"  # older protocs do not state a version


def generate(protos, folder):
    from grpc_tools import protoc

    import grpc_tools

    include = pathlib.Path(grpc_tools.__file__).parent / "_proto"
    arguments = [
        "protoc",
        f"-I{PROTO}",
        f"-I{include}",
        f"--python_out={folder}",
        f"--pyi_out={folder}",
        *protos,
    ]
    if protoc.main(arguments) != 0:
        sys.exit("protoc failed; its messages are above")


class BuildPackage(build_py):
    def run(self):
        shutil.rmtree(self.build_lib, ignore_errors=True)  # of an earlier build
        super().run()
        if getattr(self, "editable_mode", False):
            sys.exit(
                "an editable install has no generated messages; install a wheel: pip install clients/python"
            )
        package = pathlib.Path(self.build_lib) / "pliant"
        protos = sorted(
            path.relative_to(PROTO).as_posix() for path in (PROTO / "pliant/v1").glob("*.proto")
        )
        generate(protos, pathlib.Path(self.build_lib))
        (package / "v1/__init__.py").write_text(
            '"""Messages of the API, generated from proto/pliant/v1."""\n'
        )
        scenes = package / "envs/scenes"
        (scenes / "robots").mkdir(parents=True, exist_ok=True)
        for scene, robots in SCENES.items():
            shutil.copy(ROOT / "scenes" / scene, scenes / scene)
            for robot in robots:
                shutil.copy(ROOT / "scenes/robots" / robot, scenes / "robots" / robot)


scratch = ROOT / "build/clients_python"  # nothing is written beside the sources
scratch.mkdir(parents=True, exist_ok=True)
setup(
    version=version(),
    install_requires=dependencies(),
    cmdclass={"build_py": BuildPackage},
    options={"build": {"build_base": str(scratch)}, "egg_info": {"egg_base": str(scratch)}},
)

"""Fills a surface with tetrahedra by fTetWild on one thread and prints the mesh and the time as JSON.

    python3 tetwild_mesh.py CASE.json

CASE.json: vertices, triangles, edge_length [m]. fTetWild's defaults, except for the threads.
"""

import importlib.metadata
import json
import os
import sys
import tempfile
import time

import numpy as np
import pytetwild


def main():
    case = json.load(open(sys.argv[1]))
    vertices, triangles = np.array(case["vertices"]), np.array(case["triangles"], np.int32)
    folder = tempfile.TemporaryDirectory()
    os.chdir(folder.name)  # fTetWild leaves files where it runs
    start = time.perf_counter()
    points, cells = pytetwild.tetrahedralize(vertices, triangles, edge_length_abs=case["edge_length"], num_threads=1)
    seconds = time.perf_counter() - start
    print(json.dumps({"version": importlib.metadata.version("pytetwild"), "seconds": seconds,
                      "vertices": points.tolist(), "tetrahedra": cells.tolist()}))
    os.chdir("/")
    folder.cleanup()


main()

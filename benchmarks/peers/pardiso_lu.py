"""Factors a sparse matrix by MKL's PARDISO on one thread and prints the times as JSON.

    python3 pardiso_lu.py CASE.json

CASE.json: path of a file with `entries` int32 rows, as many int32 columns and float64 values, which add up where places
repeat; size. The faster of two kinds is reported: nonsymmetric, and structurally symmetric matrices.
"""

import json
import os
import statistics
import sys
import time

os.environ["MKL_NUM_THREADS"] = "1"  # read when the library loads
os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
import pypardiso
import scipy.sparse

ROUNDS = 3
KINDS = {"nonsymmetric": 11, "structurally_symmetric": 1}
ANALYSE, FACTOR, SOLVE = 11, 22, 33  # phases of PARDISO


def measure(matrix, kind):
    solver = pypardiso.PyPardisoSolver(mtype=kind)
    b = np.ones((matrix.shape[0], 1))
    seconds = {}
    x = None
    for phase, name in ((ANALYSE, "analyse_ms"), (FACTOR, "factor_ms"), (SOLVE, "solve_ms")):
        solver.set_phase(phase)
        taken = []
        for _ in range(ROUNDS + 1):
            start = time.perf_counter()
            x = solver._call_pardiso(matrix, b)
            taken.append(time.perf_counter() - start)
        seconds[name] = 1e3 * statistics.median(taken[1:])
    seconds["residual"] = float(np.max(np.abs(matrix @ x - b)))
    solver.free_memory(everything=True)
    return seconds


def main():
    case = json.load(open(sys.argv[1]))
    n = case["entries"]
    with open(case["path"], "rb") as file:
        rows = np.fromfile(file, np.int32, n)
        columns = np.fromfile(file, np.int32, n)
        values = np.fromfile(file, np.float64, n)
    matrix = scipy.sparse.csr_matrix((values, (rows, columns)), shape=(case["size"], case["size"]))
    matrix.sum_duplicates()
    matrix.sort_indices()
    measured = {name: measure(matrix, kind) for name, kind in KINDS.items()}
    fastest = min(measured, key=lambda name: measured[name]["factor_ms"])
    print(json.dumps({"kind": fastest, "nonzeros": int(matrix.nnz), **measured[fastest]}))


main()

#pragma once

#include "benchmarks/smooth/examples.h"

namespace pliant::benchmarks {

// Calls add(name, run) for each comparison of the smooth method's parts with other programs in the
// same run: its sparse LU factorisation with MKL's PARDISO, and the derivatives of its contact
// forces with the Hessians of the IPC Toolkit.
void AddSmoothPeers(const AddRow& add);

}  // namespace pliant::benchmarks

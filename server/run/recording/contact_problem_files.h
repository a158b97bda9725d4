#pragma once

#include <string>

#include "absl/status/status.h"

#include "physics/stepping/contact_problem.h"

namespace pliant::server {

// Writes a contact problem for other programs to read: `path`, JSON with everything but the
// matrices, and beside it STEM_A.mtx and STEM_J.mtx in MatrixMarket's coordinate format. Errors as
// those of WriteWholeFile.
absl::Status WriteContactProblem(const physics::ContactProblem& problem, const std::string& path);

}  // namespace pliant::server

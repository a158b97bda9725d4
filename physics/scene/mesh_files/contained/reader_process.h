#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

#include "physics/scene/mesh_files/surface_mesh_files.h"

namespace pliant::physics {

// Finds the program that reads surfaces for this one, pliant_surface_reader: the file in the
// variable PLIANT_SURFACE_READER; else one next to this program, as built; else one in
// ../libexec/pliant, as installed.
//
// errors  NOT_FOUND: it is in none of these; the message lists the places and the remedy
absl::StatusOr<std::string> FindSurfaceReader();

// Runs `program` with the argument `format` in a process of its own, sends it the bytes of a file,
// serves its requests for companion files, and returns its result. A program that does not end in
// time is killed; in every case its process is gone on return. It is started without a copy of this
// process, and gets none of its open files.
//
// deadline  time for all of this [s]; companion files add to it
// errors    INVALID_ARGUMENT: the program crashed, or sent no result; DEADLINE_EXCEEDED: it took
//           too long; RESOURCE_EXHAUSTED: it could not be started. The messages continue
//           "cannot be read: its reader …".
absl::StatusOr<std::string> RunReader(const std::string& program, const std::string& format,
                                      std::string_view bytes, const CompanionFiles& companions,
                                      std::chrono::duration<double> deadline);

}  // namespace pliant::physics

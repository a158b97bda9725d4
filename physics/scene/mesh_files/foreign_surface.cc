#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

#include "physics/scene/mesh_files/contained/reader_process.h"
#include "physics/scene/mesh_files/contained/surface_reading.h"
#include "physics/scene/mesh_files/surface_mesh_formats.h"

namespace pliant::physics {
namespace {

// The reader limits its own processor time; this deadline is for busy machines.
constexpr double kDeadline = 60;  // [s]
constexpr double kBytesPerSecond = 1e5;

}  // namespace

absl::StatusOr<SurfaceMeshFile> ReadForeignSurface(std::string_view bytes, const std::string& name,
                                                   const std::string& format,
                                                   const CompanionFiles& companions) {
  const auto refuse = [&](absl::string_view why) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": cannot be read as ", format, ": ", why));
  };
  const absl::StatusOr<std::string> reader = FindSurfaceReader();
  if (!reader.ok()) return refuse(reader.status().message());
  const std::chrono::duration<double> deadline(kDeadline + bytes.size() / kBytesPerSecond);
  const absl::StatusOr<std::string> packed =
      RunReader(*reader, format, bytes, companions, deadline);
  if (absl::IsResourceExhausted(packed.status())) return refuse(packed.status().message());
  if (!packed.ok())
    return refuse(absl::StrCat(packed.status().message(),
                               "; the file is damaged. Export it again, or as STL or OBJ"));
  SurfaceReading reading;
  if (!Unpack(*packed, &reading)) return refuse("its reader fails; the file is damaged");
  if (!reading.refusal.empty()) return refuse(reading.refusal);
  return std::move(reading.file);
}

}  // namespace pliant::physics

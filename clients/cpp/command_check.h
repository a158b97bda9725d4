#pragma once

#include "absl/status/status.h"

#include "pliant/v1/control.pb.h"

namespace pliant {

// INVALID_ARGUMENT for a command without content, with lists of different lengths, or with a number
// that is not finite; names the field, the index and what is expected.
absl::Status CheckCommand(const v1::CommandRequest& command);

}  // namespace pliant

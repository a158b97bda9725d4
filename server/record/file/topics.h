#pragma once

namespace pliant::server {

// Topics of a recording; see record.proto for their messages.
inline constexpr char kInputsTopic[] = "/inputs";
inline constexpr char kStatesTopic[] = "/states";
inline constexpr char kEventsTopic[] = "/events";
inline constexpr char kFramesTopic[] = "/frames";

}  // namespace pliant::server

#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "physics/world/probes.h"
#include "pliant/v1/stream.pb.h"
#include "server/host/published.h"
#include "server/host/timeline.h"
#include "server/stream/frame_layout.h"
#include "server/stream/motion_log.h"
#include "server/stream/stream_counters.h"

namespace pliant::server {

// The frames of one state. They are composed of sections, each of which is encoded once, when first
// needed, for any combination of viewers: the state with its energies, the pose of each
// rigid body, the positions of each deformable body, each of its fields, contacts, forces, joints,
// each probe. Surfaces are encoded once for each precision and tier; fields are computed once.
class EncodedState {
 public:
  // `counters` may be null, and then so may `timeline`.
  EncodedState(std::shared_ptr<const Published> published,
               std::shared_ptr<const FrameLayout> layout, StreamCounters* counters,
               Timeline* timeline, LastChanges changes = {});

  const Published& published() const { return *published_; }

  // v1.Frame without the fields that differ from stream to stream: `frame`, `keyframe` and
  // `subscription`.
  std::shared_ptr<const std::string> Encode(const FrameChoice& choice, FrameParts parts = {});

 private:
  struct Key {
    enum class Kind { kState, kPositions, kField, kJoints, kProbe } kind;
    int index = -1;  // of the body or the probe; −1: none
    v1::FieldMeasure measure{};
    v1::Precision precision{};
    v1::Tier tier{};
    auto operator<=>(const Key&) const = default;
  };

  void Normalize(const FrameChoice& choice, FrameParts* parts) const;
  using Sections = std::vector<const std::string*>;
  void AppendBody(int body, const FrameChoice& choice, const FrameParts& parts, Sections* sections);
  const std::string& Section(const Key& key);
  const std::string& Rigid(int body);
  const std::string& Contacts(const FrameChoice& choice);
  const std::string& Forces(const FrameChoice& choice);
  const std::vector<double>& Field(int body, v1::FieldMeasure measure);
  const std::vector<std::uint32_t>& Subset(int body, v1::Tier tier) const;
  bool HasField(int body, v1::FieldMeasure measure) const;
  // Versions in which a body last moved, and in which its chosen fields last changed.
  std::uint64_t LastMotion(int body) const;
  std::uint64_t LastFieldChange(int body, const FrameChoice& choice) const;
  // True if a change is later than the version `since`, or if `since` is 0 or changes are
  // unknown.
  bool IsNewer(std::uint64_t change, std::uint64_t since) const;
  void Write(const Key& key, v1::Frame* frame);

  const std::shared_ptr<const Published> published_;
  const std::shared_ptr<const FrameLayout> layout_;
  StreamCounters* const counters_;
  Timeline* const timeline_;
  const LastChanges changes_;
  std::map<Key, std::string> sections_;
  v1::Frame scratch_;  // in which sections are written, one after the other
  std::map<std::pair<int, v1::FieldMeasure>, std::vector<double>> fields_;
  std::optional<physics::ProbeSampler> sampler_;
  std::vector<std::string> rigid_;                             // by body, all at once
  std::map<std::vector<int>, std::string> contacts_, forces_;  // by the chosen bodies
  std::map<std::pair<FrameChoice, FrameParts>, std::shared_ptr<const std::string>> frames_;
};

// The same for a state that has one viewer only. `layout`: that of its model, if it is known.
std::shared_ptr<const std::string> EncodeFrame(std::shared_ptr<const Published> published,
                                               const FrameChoice& choice,
                                               std::shared_ptr<const FrameLayout> layout = nullptr);

// Fields of a frame that differ from stream to stream.
struct FrameHead {
  std::uint64_t frame = 0;
  bool keyframe = false;
  std::uint32_t subscription = 0;
};

// The bytes that turn `body_size` bytes of a frame into a v1.SubscribeResponse or, with
// `enveloped`, a v1.ServerMessage. The message is head and body concatenated.
std::string EncodeFrameHead(const FrameHead& head, std::size_t body_size, bool enveloped);

}  // namespace pliant::server

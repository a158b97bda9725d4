#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"

#include "physics/dynamics/block.h"
#include "physics/dynamics/model.h"
#include "pliant/v1/stream.pb.h"
#include "server/host/published.h"
#include "server/host/timeline.h"

namespace pliant::server {

// Viewer options of a frame; frames of a state with equal options are identical bytes.
struct FrameChoice {
  std::vector<int> bodies;                    // ascending indices in Model::bodies; empty: all
  std::vector<physics::FieldMeasure> fields;  // ascending
  bool contacts = false;
  v1::Precision precision = v1::PRECISION_UNSPECIFIED;

  auto operator<=>(const FrameChoice&) const = default;
};

// What frames say about the bodies of a model, whatever its state.
struct FrameLayout {
  explicit FrameLayout(const physics::Model& model);

  std::vector<bool> is_deformable;               // of each of Model::bodies
  std::vector<std::uint32_t> indices;            // in the list of its kind of the WorldDescription
  std::vector<std::uint32_t> numbers;            // of both kinds: the rigid ones first
  absl::flat_hash_map<std::string, int> bodies;  // by name
};

// The version of the publication in which each body last moved, as of the latest one. A body that
// sleeps keeps every bit of its block, so that viewers need not be sent it again.
class MotionLog {
 public:
  // Records a publication later than all before.
  void Add(const std::shared_ptr<const Published>& published);
  const std::vector<std::uint64_t>& moved() const { return moved_; }  // by body

 private:
  std::shared_ptr<const Published> last_;
  std::vector<std::uint64_t> moved_;
};

struct StreamCounters {
  std::atomic<std::uint64_t> sent{0};
  // states that were due while the viewer could not take them
  std::atomic<std::uint64_t> dropped{0};
  std::atomic<std::uint64_t> encoded{0};  // sections
  std::atomic<double> encode_seconds{0};  // summed
  std::atomic<std::uint64_t> acked{0};
  std::atomic<double> ack_seconds{0};  // from sending to acknowledgement, summed
  std::atomic<int> open{0};
};

// The frames of one state. They are put together from sections, each of which is encoded once,
// when first needed, whatever the viewers combine: the state with its energies, the pose of each
// rigid body, the positions of each deformable body, each of its fields, contacts, forces, joints.
class EncodedState {
 public:
  // `counters` may be null, and then so may `timeline`.
  EncodedState(std::shared_ptr<const Published> published,
               std::shared_ptr<const FrameLayout> layout, StreamCounters* counters,
               Timeline* timeline, std::vector<std::uint64_t> moved = {});

  const Published& published() const { return *published_; }

  // v1.Frame without the fields that differ from stream to stream: `frame`, `keyframe` and
  // `subscription`. With bodies that have moved after version `since` only; 0: with all.
  std::shared_ptr<const std::string> Encode(const FrameChoice& choice, std::uint64_t since = 0);

 private:
  struct Key {
    enum class Kind { kState, kPositions, kField, kJoints } kind;
    int body = -1;  // −1: none
    physics::FieldMeasure measure{};
    v1::Precision precision{};
    auto operator<=>(const Key&) const = default;
  };

  const std::string& Section(const Key& key);
  const std::string& Rigid(int body);
  bool IsSent(const FrameChoice& choice, int body, std::uint64_t since) const;
  const std::string& Contacts(const std::vector<int>& bodies);
  const std::string& Forces(const std::vector<int>& bodies);
  void Write(const Key& key, v1::Frame* frame) const;

  const std::shared_ptr<const Published> published_;
  const std::shared_ptr<const FrameLayout> layout_;
  StreamCounters* const counters_;
  Timeline* const timeline_;
  const std::vector<std::uint64_t> moved_;  // versions by body; empty: all are sent
  std::map<Key, std::string> sections_;
  std::vector<std::string> rigid_;                             // by body, all at once
  std::map<std::vector<int>, std::string> contacts_, forces_;  // by the chosen bodies
  std::map<std::pair<FrameChoice, std::uint64_t>, std::shared_ptr<const std::string>> frames_;
};

// The same for a state that has one viewer only.
std::shared_ptr<const std::string> EncodeFrame(std::shared_ptr<const Published> published,
                                               const FrameChoice& choice);

// Fields of a frame that differ from stream to stream.
struct FrameHead {
  std::uint64_t frame = 0;
  bool keyframe = false;
  std::uint32_t subscription = 0;
};

// The bytes that turn `body_size` bytes of a frame into a v1.SubscribeResponse or, with
// `enveloped`, a v1.ServerMessage. The message is head and body concatenated.
std::string EncodeFrameHead(const FrameHead& head, std::size_t body_size, bool enveloped);

// Positions quantized to int16 over their bounding box: value = origin + scale · number, error at
// most scale / 2 on each axis.
struct QuantizedPoints {
  Eigen::Vector3d origin = Eigen::Vector3d::Zero();
  Eigen::Vector3d scale = Eigen::Vector3d::Zero();
  std::string numbers;  // little endian, xyz a point
};
QuantizedPoints QuantizePoints(const std::vector<Eigen::Vector3d>& points);

// Values quantized to uint16 between their minimum and maximum.
struct QuantizedField {
  double min = 0, max = 0;
  std::string numbers;  // little endian
};
QuantizedField QuantizeField(const std::vector<double>& values);

}  // namespace pliant::server

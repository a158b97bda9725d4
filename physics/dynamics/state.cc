#include "physics/dynamics/state.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <xxhash.h>

#include "absl/strings/str_cat.h"

namespace pliant::physics {
namespace {

constexpr std::string_view kMagic = "PLIANTST";
constexpr std::uint32_t kVersion = 6;
constexpr std::size_t kHashDigits = 32;
// written in place of a count, before sections that are omitted when empty; no count is as large
enum Tag : std::uint64_t { kSmoothTag = ~std::uint64_t{3}, kDrivesTag, kGainsTag, kInternalsTag };

template <typename T>
void Append(const T& value, std::string* bytes) {
  bytes->append(reinterpret_cast<const char*>(&value), sizeof value);
}

void AppendNumbers(const std::vector<double>& numbers, std::string* bytes) {
  Append(static_cast<std::uint64_t>(numbers.size()), bytes);
  bytes->append(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(double));
}

// The state alone, without the header: the bytes that the hash covers.
std::string EncodePayload(const State& state) {
  std::string bytes;
  // This is enough for a state of small bodies; that of larger ones grows.
  bytes.reserve(1024 + sizeof(double) * (state.q.size() + state.v.size() + state.controls.size() +
                                         state.drives.size()));
  Append(state.time, &bytes);
  Append(state.step, &bytes);
  AppendNumbers(state.q, &bytes);
  AppendNumbers(state.v, &bytes);
  Append(static_cast<std::uint64_t>(state.contacts.size()), &bytes);
  for (const ContactMemory& contact : state.contacts) {
    Append(contact.key, &bytes);
    for (int i = 0; i < 3; ++i) Append(contact.impulse_W[i], &bytes);
  }
  AppendNumbers(state.controls, &bytes);
  Append(static_cast<std::uint64_t>(state.rest.size()), &bytes);
  for (const std::int32_t rest : state.rest) Append(rest, &bytes);
  Append(static_cast<std::uint64_t>(state.resting_constraints.size()), &bytes);
  for (const ConstraintForce& force : state.resting_constraints) {
    for (const int number : {static_cast<int>(force.source), force.block, force.index})
      Append(static_cast<std::int32_t>(number), &bytes);
    Append(force.error, &bytes);
    Append(force.impulse, &bytes);
    for (const Eigen::Vector3d& x : {force.p_A, force.p_B, force.linear_W, force.angular_W}) {
      for (int i = 0; i < 3; ++i) Append(x[i], &bytes);
    }
  }
  // the sections below are omitted when empty, so that worlds without them keep their hashes
  if (!state.constraints.empty()) {
    Append(static_cast<std::uint64_t>(state.constraints.size()), &bytes);
    for (const auto& [key, impulse] : state.constraints) {
      for (const std::int32_t number :
           {static_cast<std::int32_t>(key.source), key.block, key.index, key.part})
        Append(number, &bytes);
      Append(impulse, &bytes);
    }
  }
  const auto is_empty = [](const std::vector<double>& of_block) { return of_block.empty(); };
  if (!std::ranges::all_of(state.internals, is_empty)) {
    Append(kInternalsTag, &bytes);
    Append(static_cast<std::uint64_t>(state.internals.size()), &bytes);
    for (const std::vector<double>& of_block : state.internals) AppendNumbers(of_block, &bytes);
  }
  for (const auto& [tag, numbers] :
       {std::pair{kGainsTag, &state.gains}, std::pair{kDrivesTag, &state.drives}}) {
    if (numbers->empty()) continue;
    Append(tag, &bytes);
    AppendNumbers(*numbers, &bytes);
  }
  if (!state.smooth.empty()) {
    const SmoothMemory& smooth = state.smooth;
    Append(kSmoothTag, &bytes);
    Append(smooth.stiffening, &bytes);
    Append(smooth.past_step, &bytes);
    AppendNumbers(smooth.past_q, &bytes);
    AppendNumbers(smooth.past_v, &bytes);
    Append(static_cast<std::uint64_t>(smooth.anchors.size()), &bytes);
    for (const auto& [key, stretch] : smooth.anchors) {
      Append(key, &bytes);
      for (int i = 0; i < 3; ++i) Append(stretch[i], &bytes);
    }
  }
  return bytes;
}

// Reads values from the front of a byte string; every read fails once the bytes run out.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  template <typename T>
  bool Read(T* value) {
    if (bytes_.size() < sizeof *value) return false;
    std::memcpy(value, bytes_.data(), sizeof *value);
    bytes_.remove_prefix(sizeof *value);
    return true;
  }

  bool ReadNumbers(std::vector<double>* numbers) {
    std::uint64_t count = 0;
    if (!Read(&count) || count > bytes_.size() / sizeof(double)) return false;
    numbers->resize(count);
    if (count > 0) std::memcpy(numbers->data(), bytes_.data(), count * sizeof(double));
    bytes_.remove_prefix(count * sizeof(double));
    return true;
  }

  bool ReadContacts(std::vector<ContactMemory>* contacts) {
    std::uint64_t count = 0;
    if (!Read(&count) || count > bytes_.size() / 32) return false;
    contacts->resize(count);
    for (ContactMemory& contact : *contacts) {
      if (!Read(&contact.key)) return false;
      for (int i = 0; i < 3; ++i) {
        if (!Read(&contact.impulse_W[i])) return false;
      }
    }
    return true;
  }

  bool ReadRest(std::vector<std::int32_t>* rest) {
    std::uint64_t count = 0;
    if (!Read(&count) || count > bytes_.size() / sizeof(std::int32_t)) return false;
    rest->resize(count);
    return std::all_of(rest->begin(), rest->end(), [this](std::int32_t& x) { return Read(&x); });
  }

  bool ReadConstraintForces(std::vector<ConstraintForce>* forces) {
    std::uint64_t count = 0;
    if (!Read(&count) || count > bytes_.size() / 124) return false;
    forces->resize(count);
    for (ConstraintForce& force : *forces) {
      std::int32_t block = 0, index = 0;
      if (!ReadSource(&force.source) || !Read(&block) || !Read(&index) || !Read(&force.error) ||
          !Read(&force.impulse)) {
        return false;
      }
      force.block = block;
      force.index = index;
      for (Eigen::Vector3d* x : {&force.p_A, &force.p_B, &force.linear_W, &force.angular_W}) {
        for (int i = 0; i < 3; ++i) {
          if (!Read(&(*x)[i])) return false;
        }
      }
    }
    return true;
  }

  // the sections below are absent when empty
  bool ReadConstraints(std::vector<ConstraintMemory>* constraints) {
    if (empty() || Next() >= kSmoothTag) return true;
    std::uint64_t count = 0;
    if (!Read(&count) || count > bytes_.size() / 24) return false;
    constraints->resize(count);
    for (auto& [key, impulse] : *constraints) {
      if (!ReadSource(&key.source) || !Read(&key.block) || !Read(&key.index) || !Read(&key.part) ||
          !Read(&impulse))
        return false;
    }
    return true;
  }

  bool ReadInternals(std::vector<std::vector<double>>* internals) {
    if (Next() != kInternalsTag) return true;
    std::uint64_t tag = 0, count = 0;
    if (!Read(&tag) || !Read(&count) || count > bytes_.size() / sizeof(std::uint64_t)) return false;
    internals->resize(count);
    return std::ranges::all_of(
        *internals, [this](std::vector<double>& of_block) { return ReadNumbers(&of_block); });
  }

  bool ReadTagged(Tag expected, std::vector<double>* numbers) {
    if (Next() != expected) return true;
    std::uint64_t tag = 0;
    return Read(&tag) && ReadNumbers(numbers);
  }

  bool ReadSmooth(SmoothMemory* smooth) {
    if (Next() != kSmoothTag) return true;
    std::uint64_t tag = 0, count = 0;
    if (!Read(&tag) || !Read(&smooth->stiffening) || !Read(&smooth->past_step) ||
        !ReadNumbers(&smooth->past_q) || !ReadNumbers(&smooth->past_v) || !Read(&count) ||
        count > bytes_.size() / 32)
      return false;
    smooth->anchors.resize(count);
    for (SmoothMemory::Anchor& anchor : smooth->anchors) {
      if (!Read(&anchor.key)) return false;
      for (int i = 0; i < 3; ++i) {
        if (!Read(&anchor.stretch_W[i])) return false;
      }
    }
    return true;
  }

  bool empty() const { return bytes_.empty(); }

 private:
  // The next count or tag, 0 at the end.
  std::uint64_t Next() const {
    std::uint64_t number = 0;
    if (bytes_.size() >= sizeof number) std::memcpy(&number, bytes_.data(), sizeof number);
    return number;
  }

  bool ReadSource(ConstraintSource* source) {
    std::int32_t number = 0;
    if (!Read(&number) || number < 0 || number > static_cast<int>(ConstraintSource::kSpring))
      return false;
    *source = static_cast<ConstraintSource>(number);
    return true;
  }

  std::string_view bytes_;
};

std::string Hash(std::string_view bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return absl::StrCat(absl::Hex(hash.high64, absl::kZeroPad16),
                      absl::Hex(hash.low64, absl::kZeroPad16));
}

// Expected index of a key among `count` ascending keys that are uniformly distributed.
std::size_t PlaceOfKey(std::uint64_t key, std::size_t count) {
  return static_cast<std::size_t>(static_cast<unsigned __int128>(key) * count >> 64);
}

absl::Status Unusable(const std::string& why) {
  return absl::InvalidArgumentError(absl::StrCat("state: ", why));
}

}  // namespace

const ContactMemory* FindContactMemory(const std::vector<ContactMemory>& memories,
                                       std::uint64_t key) {
  const std::size_t count = memories.size();
  if (count == 0) return nullptr;
  // search outwards from the expected index in growing strides until the key is bracketed
  std::size_t low = PlaceOfKey(key, count), high = low, stride = 1;
  while (low > 0 && memories[low].key > key) {
    high = low;
    low -= std::min(low, stride);
    stride *= 2;
  }
  while (high < count && memories[high].key < key) {
    low = high;
    high += std::min(count - high, stride);
    stride *= 2;
  }
  const auto found =
      std::lower_bound(memories.begin() + low, memories.begin() + high, key,
                       [](const ContactMemory& memory, std::uint64_t k) { return memory.key < k; });
  return found != memories.end() && found->key == key ? &*found : nullptr;
}

void SortContactMemories(std::vector<ContactMemory>* memories, ContactMemorySorting* scratch) {
  // bucket sort by expected index, with as many buckets as keys; then sort within each bucket
  const std::size_t count = memories->size();
  std::vector<int>& starts = scratch->starts;
  starts.assign(count + 1, 0);
  for (const ContactMemory& memory : *memories) ++starts[PlaceOfKey(memory.key, count) + 1];
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  std::vector<ContactMemory>& sorted = scratch->sorted;
  sorted.resize(count);
  for (const ContactMemory& memory : *memories)
    sorted[starts[PlaceOfKey(memory.key, count)]++] = memory;
  memories->swap(sorted);
  const auto is_less = [](const ContactMemory& a, const ContactMemory& b) { return a.key < b.key; };
  for (std::size_t place = 0, begin = 0; place < count; begin = starts[place++]) {
    const std::size_t end = starts[place];
    if (end - begin > 1) std::sort(memories->begin() + begin, memories->begin() + end, is_less);
  }
}

std::string HashState(const State& state) {
  return Hash(EncodePayload(state));
}

std::string SerializeState(const State& state, std::string_view model_hash) {
  const std::string payload = EncodePayload(state);
  std::string bytes(kMagic);
  Append(kVersion, &bytes);
  std::string model(model_hash);
  model.resize(kHashDigits, ' ');
  bytes += model;
  bytes += Hash(payload);
  bytes += payload;
  return bytes;
}

absl::StatusOr<State> ParseState(std::string_view bytes, std::string_view model_hash) {
  const std::size_t header = kMagic.size() + sizeof kVersion + 2 * kHashDigits;
  if (bytes.size() < header || !bytes.starts_with(kMagic)) {
    return Unusable(
        "not a saved state (or cut short); expected what --state-out or CheckpointWorld gave");
  }
  std::uint32_t version = 0;
  std::memcpy(&version, bytes.data() + kMagic.size(), sizeof version);
  if (version != kVersion) {
    return Unusable(absl::StrCat("version ", version, "; this build reads version ", kVersion));
  }
  bytes.remove_prefix(kMagic.size() + sizeof version);
  const std::string model(bytes.substr(0, kHashDigits));
  if (model != model_hash) {
    return Unusable(absl::StrCat("it belongs to another model (", model, "), not to this one (",
                                 std::string(model_hash), "); load the scene it was saved from"));
  }
  const std::string_view sum = bytes.substr(kHashDigits, kHashDigits);
  bytes.remove_prefix(2 * kHashDigits);
  if (sum != Hash(bytes)) return Unusable("the checksum does not match: the bytes are damaged");

  State state;
  Reader reader(bytes);
  const bool ok =
      reader.Read(&state.time) && reader.Read(&state.step) && reader.ReadNumbers(&state.q) &&
      reader.ReadNumbers(&state.v) && reader.ReadContacts(&state.contacts) &&
      reader.ReadNumbers(&state.controls) && reader.ReadRest(&state.rest) &&
      reader.ReadConstraintForces(&state.resting_constraints) &&
      reader.ReadConstraints(&state.constraints) && reader.ReadInternals(&state.internals) &&
      reader.ReadTagged(kGainsTag, &state.gains) && reader.ReadTagged(kDrivesTag, &state.drives) &&
      reader.ReadSmooth(&state.smooth) && reader.empty();
  if (!ok) return Unusable("the contents do not add up");
  return state;
}

}  // namespace pliant::physics

#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <utility>

namespace pliant::physics {

// Nodes of a block with weights, for an attached point Σ w_k x_k. Up to four are stored in place,
// which suffices for rigid and FEM contact; more (27 of a quadratic kernel) go to one heap block. A
// value: copies own their nodes.
class NodeWeights {
 public:
  static constexpr int kInline = 4;

  NodeWeights() = default;
  NodeWeights(std::initializer_list<std::pair<int, double>> entries) {
    Reserve(static_cast<int>(entries.size()));
    for (const auto& [node, weight] : entries) Add(node, weight);
  }
  // Contacts are copied by the thousand: inline storage is copied in one piece.
  NodeWeights(const NodeWeights& other) : parts_(other.parts_) {
    if (!is_inline()) [[unlikely]]
      CopyElsewhere();
  }
  NodeWeights(NodeWeights&& other) noexcept : parts_(other.parts_) { other.Forget(); }
  NodeWeights& operator=(const NodeWeights& other) {
    if (this == &other) return *this;
    Free();
    parts_ = other.parts_;
    if (!is_inline()) [[unlikely]]
      CopyElsewhere();
    return *this;
  }
  NodeWeights& operator=(NodeWeights&& other) noexcept {
    if (this == &other) return *this;
    Free();
    parts_ = other.parts_;
    other.Forget();
    return *this;
  }
  ~NodeWeights() { Free(); }

  int size() const { return parts_.size; }
  bool empty() const { return parts_.size == 0; }
  int node(int k) const { return node_data()[k]; }
  double weight(int k) const { return weight_data()[k]; }
  std::span<const int> nodes() const {
    return {node_data(), static_cast<std::size_t>(parts_.size)};
  }
  std::span<const double> weights() const {
    return {weight_data(), static_cast<std::size_t>(parts_.size)};
  }

  bool operator==(const NodeWeights& other) const {
    return std::ranges::equal(nodes(), other.nodes()) &&
           std::ranges::equal(weights(), other.weights());
  }

  void Clear() { parts_.size = 0; }
  void Add(int node, double weight) {
    if (parts_.size == parts_.capacity) [[unlikely]]
      Reserve(std::max(kFirstElsewhere, 2 * parts_.size));
    node_data()[parts_.size] = node;
    weight_data()[parts_.size++] = weight;
  }
  // Multiplies all weights by `factor`.
  void Scale(double factor) {
    for (int k = 0; k < parts_.size; ++k) weight_data()[k] *= factor;
  }
  // Reserves storage for `capacity` nodes. Not inline, so that Add is.
  [[gnu::noinline]] void Reserve(int capacity) {
    if (capacity <= parts_.capacity) return;
    // weights first, nodes behind them
    auto* weights = static_cast<double*>(
        ::operator new(static_cast<std::size_t>(capacity) * (sizeof(double) + sizeof(int))));
    auto* nodes = reinterpret_cast<int*>(weights + capacity);
    std::copy_n(weight_data(), parts_.size, weights);
    std::copy_n(node_data(), parts_.size, nodes);
    Free();
    parts_.capacity = capacity;
    parts_.elsewhere = weights;
  }

 private:
  static constexpr int kFirstElsewhere = 27;

  bool is_inline() const { return parts_.capacity == kInline; }
  double* weight_data() { return is_inline() ? parts_.weights : parts_.elsewhere; }
  const double* weight_data() const { return is_inline() ? parts_.weights : parts_.elsewhere; }
  int* node_data() {
    return is_inline() ? parts_.nodes : reinterpret_cast<int*>(parts_.elsewhere + parts_.capacity);
  }
  const int* node_data() const {
    return is_inline() ? parts_.nodes
                       : reinterpret_cast<const int*>(parts_.elsewhere + parts_.capacity);
  }
  void Free() {
    if (!is_inline()) [[unlikely]]
      ::operator delete(parts_.elsewhere);
  }
  // Drops heap storage that another object has taken over.
  void Forget() {
    if (is_inline()) [[likely]]
      return;
    parts_ = {};
  }
  // Clones heap storage after `parts_` was copied from another object.
  void CopyElsewhere() {
    const Parts theirs = std::exchange(parts_, {});
    Reserve(theirs.capacity);
    parts_.size = theirs.size;
    std::copy_n(theirs.elsewhere, theirs.size, weight_data());
    std::copy_n(reinterpret_cast<const int*>(theirs.elsewhere + theirs.capacity), theirs.size,
                node_data());
  }

  struct Parts {
    int size = 0, capacity = kInline;
    int nodes[kInline] = {};
    union {
      double weights[kInline] = {};
      double* elsewhere;
    };
  } parts_;
};

}  // namespace pliant::physics

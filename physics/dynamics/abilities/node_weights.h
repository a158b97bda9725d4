#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <span>
#include <utility>

namespace pliant::physics {

// Nodes of a block with weights: what a point attached to them moves by, Σ w_k x_k. Up to four are
// stored in place, which is what rigid and FEM contact needs; more (27 of a quadratic kernel) are
// contiguous elsewhere. A value: copies own their nodes.
class NodeWeights {
 public:
  static constexpr int kInline = 4;

  NodeWeights() = default;
  NodeWeights(std::initializer_list<std::pair<int, double>> entries) {
    Reserve(static_cast<int>(entries.size()));
    for (const auto& [node, weight] : entries) Add(node, weight);
  }
  NodeWeights(const NodeWeights& other) { *this = other; }
  NodeWeights(NodeWeights&& other) noexcept { Take(&other); }
  NodeWeights& operator=(const NodeWeights& other) {
    if (this == &other) return *this;
    if (other.size_ <= kInline && capacity_ == kInline) {
      // nothing is stored elsewhere
      size_ = other.size_;
      const int* nodes = other.node_data();
      const double* weights = other.weight_data();
      for (int k = 0; k < kInline; ++k) {
        nodes_[k] = k < size_ ? nodes[k] : 0;
        storage_.weights[k] = k < size_ ? weights[k] : 0;
      }
      return *this;
    }
    size_ = 0;
    Reserve(other.size_);
    size_ = other.size_;
    std::copy_n(other.weight_data(), size_, weight_data());
    std::copy_n(other.node_data(), size_, node_data());
    return *this;
  }
  NodeWeights& operator=(NodeWeights&& other) noexcept {
    if (this == &other) return *this;
    Free();
    Take(&other);
    return *this;
  }
  ~NodeWeights() { Free(); }

  int size() const { return size_; }
  bool empty() const { return size_ == 0; }
  int node(int k) const { return node_data()[k]; }
  double weight(int k) const { return weight_data()[k]; }
  std::span<const int> nodes() const { return {node_data(), static_cast<std::size_t>(size_)}; }
  std::span<const double> weights() const {
    return {weight_data(), static_cast<std::size_t>(size_)};
  }

  bool operator==(const NodeWeights& other) const {
    return std::ranges::equal(nodes(), other.nodes()) &&
           std::ranges::equal(weights(), other.weights());
  }

  void Clear() { size_ = 0; }
  void Add(int node, double weight) {
    if (size_ == capacity_) Reserve(std::max(kFirstElsewhere, 2 * size_));
    node_data()[size_] = node;
    weight_data()[size_++] = weight;
  }
  // Multiplies all weights by `factor`.
  void Scale(double factor) {
    for (int k = 0; k < size_; ++k) weight_data()[k] *= factor;
  }
  // Room for so many without storing anew.
  void Reserve(int capacity) {
    if (capacity <= capacity_) return;
    // weights first, nodes behind them
    auto* weights = static_cast<double*>(
        ::operator new(static_cast<std::size_t>(capacity) * (sizeof(double) + sizeof(int))));
    auto* nodes = reinterpret_cast<int*>(weights + capacity);
    std::copy_n(weight_data(), size_, weights);
    std::copy_n(node_data(), size_, nodes);
    Free();
    capacity_ = capacity;
    storage_.elsewhere = weights;
  }

 private:
  static constexpr int kFirstElsewhere = 27;

  bool is_inline() const { return capacity_ == kInline; }
  double* weight_data() { return is_inline() ? storage_.weights : storage_.elsewhere; }
  const double* weight_data() const { return is_inline() ? storage_.weights : storage_.elsewhere; }
  int* node_data() {
    return is_inline() ? nodes_ : reinterpret_cast<int*>(storage_.elsewhere + capacity_);
  }
  const int* node_data() const {
    return is_inline() ? nodes_ : reinterpret_cast<const int*>(storage_.elsewhere + capacity_);
  }
  void Free() {
    if (!is_inline()) ::operator delete(storage_.elsewhere);
  }
  // What another one has; it is empty afterwards. Nothing of one's own is freed.
  void Take(NodeWeights* other) {
    size_ = std::exchange(other->size_, 0);
    capacity_ = std::exchange(other->capacity_, kInline);
    std::copy_n(other->nodes_, kInline, nodes_);
    storage_ = other->storage_;
  }

  int size_ = 0, capacity_ = kInline;
  int nodes_[kInline] = {};
  union Storage {
    double weights[kInline];
    double* elsewhere;
  } storage_{};
};

}  // namespace pliant::physics

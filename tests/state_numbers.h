#pragma once

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

#include "physics/dynamics/state.h"

namespace pliant::physics {

// Visits every number and every list of a State. Each struct is decomposed by a structured binding
// over all of its members, so that a member added but not visited here does not compile.
class StateVisitor {
 public:
  // Calls number(x) with each number or enumerator of the state, and list(v) with each of its
  // vectors.
  template <typename Number, typename List>
  static void Visit(State* state, Number&& number, List&& list) {
    auto& [time, step, q, v, internals, contacts, rest, resting_constraints, constraints, controls,
           gains, drives, smooth] = *state;
    Each(number, list, time, step, q, v, internals, contacts, rest, resting_constraints,
         constraints, controls, gains, drives, smooth);
  }

 private:
  template <typename Number, typename List, typename... Parts>
  static void Each(Number& number, List& list, Parts&... parts) {
    (Part(number, list, parts), ...);
  }
  template <typename Number, typename List, typename T>
  static void Part(Number& number, List& list, T& part) {
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
      number(part);
    } else if constexpr (std::is_same_v<T, Eigen::Vector3d>) {
      Each(number, list, part.x(), part.y(), part.z());
    } else if constexpr (std::is_same_v<T, ContactMemory>) {
      auto& [key, impulse_W] = part;
      Each(number, list, key, impulse_W);
    } else if constexpr (std::is_same_v<T, ConstraintMemory>) {
      auto& [key, impulse] = part;
      Each(number, list, key, impulse);
    } else if constexpr (std::is_same_v<T, SmoothMemory>) {
      auto& [stiffening, past_step, past_q, past_v, anchors] = part;
      Each(number, list, stiffening, past_step, past_q, past_v, anchors);
    } else if constexpr (std::is_same_v<T, SmoothMemory::Anchor>) {
      auto& [key, stretch_W] = part;
      Each(number, list, key, stretch_W);
    } else if constexpr (std::is_same_v<T, ConstraintMemory::Key>) {
      auto& [source, block, index, position] = part;
      Each(number, list, source, block, index, position);
    } else if constexpr (std::is_same_v<T, ConstraintForce>) {
      auto& [source, block, index, error, impulse, p_A, p_B, linear_W, angular_W] = part;
      Each(number, list, source, block, index, error, impulse, p_A, p_B, linear_W, angular_W);
    } else {
      list(part);
      for (auto& element : part) Part(number, list, element);
    }
  }
};

// Inverts one bit of a number; a second call restores it.
template <typename T>
void FlipBit(int bit, T* number) {
  unsigned char bytes[sizeof(T)];
  std::memcpy(bytes, number, sizeof(T));
  bytes[bit / 8] = static_cast<unsigned char>(bytes[bit / 8] ^ 1u << bit % 8);
  std::memcpy(number, bytes, sizeof(T));
}

// Bits of all numbers and lengths of all lists, in order.
inline std::vector<std::uint64_t> ListNumbers(State state) {
  std::vector<std::uint64_t> all;
  StateVisitor::Visit(
      &state,
      [&](const auto& number) {
        std::uint64_t bits = 0;
        std::memcpy(&bits, &number, sizeof number);
        all.push_back(bits);
      },
      [&](const auto& list) { all.push_back(list.size()); });
  return all;
}

}  // namespace pliant::physics

#include "tests/physics/rigid/allocation_count.h"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

std::atomic<long> allocations{0};

void* Allocate(std::size_t size, std::size_t alignment) {
  ++allocations;
  // aligned_alloc takes multiples of the alignment
  const std::size_t whole = (size + alignment - 1) / alignment * alignment;
  if (void* memory = std::aligned_alloc(alignment, whole)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t size) {
  return Allocate(size, alignof(std::max_align_t));
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return Allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}

namespace pliant::physics {

long CountAllocations() {
  return allocations;
}

}  // namespace pliant::physics

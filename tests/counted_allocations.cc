// Counting replacements of operator new and delete. They have a file of their own: if they were
// inlined into a caller, the compiler would see memory from malloc freed by delete.

#include "tests/counted_allocations.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::int64_t> count{0};

void* Allocate(std::size_t size, std::size_t alignment) {
  ++count;
  void* memory = std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (memory == nullptr) std::abort();
  return memory;
}

}  // namespace

namespace pliant {

std::int64_t CountAllocations() {
  return count;
}

}  // namespace pliant

void* operator new(std::size_t size) {
  return Allocate(size, 16);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return Allocate(size, static_cast<std::size_t>(alignment));
}
// Used by std::get_temporary_buffer, and so by std::stable_sort.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return Allocate(size, 16);
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, const std::nothrow_t&) noexcept {
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

#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include <sys/mman.h>

namespace pliant::solvers {

// Memory in large pages where it is large and the system has them: a factor is gone through from end to end more than once a
// step, and to look up a page every 4 kB costs as much as a quarter of the arithmetic.
template <typename T>
struct LargePages {
  using value_type = T;

  LargePages() = default;
  template <typename U>
  LargePages(const LargePages<U>&) {}  // NOLINT: all are the same

  T* allocate(std::size_t count) {
    const std::size_t in_pages = CountPages(count) * kPage;
    if (in_pages == 0) return std::allocator<T>().allocate(count);
    void* memory = nullptr;
    if (posix_memalign(&memory, kPage, std::max(in_pages, count * sizeof(T))) != 0)
      throw std::bad_alloc();
    // a wish: whether it is met changes no number
    madvise(memory, in_pages, MADV_HUGEPAGE);
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t count) {
    if (CountPages(count) == 0) return std::allocator<T>().deallocate(memory, count);
    std::free(memory);
  }
  template <typename U>
  bool operator==(const LargePages<U>&) const {
    return true;
  }

 private:
  static constexpr std::size_t kPage = 2 << 20;
  // those that are filled by half at least
  static std::size_t CountPages(std::size_t count) {
    return (count * sizeof(T) + kPage / 2) / kPage;
  }
};

using LargeVector = std::vector<double, LargePages<double>>;

// Pieces of memory for numbers, that threads take for a while, each for itself. What was given back last is taken first: it is
// in a cache yet. There are never more pieces of about the same size than were taken at once.
template <typename T>
class ScratchPool {
 public:
  // A piece of at least so many numbers, whatever they are.
  T* Take(std::size_t size) {
    const std::lock_guard lock(mutex_);
    Class& all = ClassOf(size);
    if (all.free.empty()) {
      const std::size_t rounded = std::bit_ceil(size);
      all.pieces.emplace_back(LargePages<T>().allocate(rounded), Release{rounded});
      all.free.reserve(all.pieces.size());
      return all.pieces.back().get();
    }
    T* piece = all.free.back();
    all.free.pop_back();
    return piece;
  }
  void Give(T* piece, std::size_t size) {
    const std::lock_guard lock(mutex_);
    ClassOf(size).free.push_back(piece);
  }
  // Takes everything back.
  void Reset() {
    for (Class& all : classes_) {
      all.free.clear();
      for (const auto& piece : all.pieces) all.free.push_back(piece.get());
    }
  }

 private:
  struct Release {
    std::size_t size;
    void operator()(T* piece) const { LargePages<T>().deallocate(piece, size); }
  };
  struct Class {
    std::vector<std::unique_ptr<T, Release>> pieces;
    std::vector<T*> free;
  };
  Class& ClassOf(std::size_t size) { return classes_[std::bit_width(std::bit_ceil(size))]; }

  std::mutex mutex_;
  std::array<Class, 65> classes_;  // by the logarithm of their size
};

}  // namespace pliant::solvers

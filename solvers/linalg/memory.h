#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <span>
#include <vector>

#include <sys/mman.h>

namespace pliant::solvers {

// Allocator that uses huge pages for large memory when the system has them. A factor is traversed
// more than once a step, and address translation with 4 kB pages costs as much as a quarter of the
// arithmetic.
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
    // a hint: it affects no result
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
  // pages that are at least half full
  static std::size_t CountPages(std::size_t count) {
    return (count * sizeof(T) + kPage / 2) / kPage;
  }
};

using LargeVector = std::vector<double, LargePages<double>>;

// A thread-safe pool of scratch arrays. The array returned last is reused first, while it is still
// in a cache.
template <typename T>
class ScratchPool {
 public:
  // Reclaims all arrays and prepares for arrays of these sizes to be taken at the same time without
  // further allocation. Other arrays are freed. Only the pages used of an array occupy memory.
  void Reserve(std::span<const std::size_t> sizes) {
    for (auto& [size, all] : classes_) all.reserved = 0;
    for (const std::size_t size : sizes) {
      Class& all = ClassOf(size);
      if (++all.reserved > all.pieces.size()) Make(&all, Round(size));
    }
    std::erase_if(classes_, [](const auto& one) { return one.second.reserved == 0; });
    for (auto& [size, all] : classes_) {
      all.pieces.resize(all.reserved);
      all.free.clear();
      for (const auto& piece : all.pieces) all.free.push_back(piece.get());
    }
  }
  // Takes an uninitialised array of at least `size` numbers.
  T* Take(std::size_t size) {
    const std::lock_guard lock(mutex_);
    Class& all = ClassOf(size);
    if (all.free.empty()) return Make(&all, Round(size));
    T* piece = all.free.back();
    all.free.pop_back();
    return piece;
  }
  void Give(T* piece, std::size_t size) {
    const std::lock_guard lock(mutex_);
    ClassOf(size).free.push_back(piece);
  }

 private:
  struct Release {
    std::size_t size;
    void operator()(T* piece) const { LargePages<T>().deallocate(piece, size); }
  };
  struct Class {
    std::size_t reserved = 0;
    std::vector<std::unique_ptr<T, Release>> pieces;
    std::vector<T*> free;
  };
  // rounds up by an eighth at most, so that arrays of similar size are interchangeable
  static std::size_t Round(std::size_t size) {
    const std::size_t step = std::bit_floor(size) / 8;
    return step == 0 ? size : (size + step - 1) / step * step;
  }
  static T* Make(Class* all, std::size_t size) {
    all->pieces.emplace_back(LargePages<T>().allocate(size), Release{size});
    all->free.reserve(all->pieces.size());
    return all->pieces.back().get();
  }
  Class& ClassOf(std::size_t size) { return classes_[Round(size)]; }

  std::mutex mutex_;
  std::map<std::size_t, Class> classes_;
};

}  // namespace pliant::solvers

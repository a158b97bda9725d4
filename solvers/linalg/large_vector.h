#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
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

}  // namespace pliant::solvers

#include "solvers/nonsmooth/row_sets.h"

#include <cstddef>

namespace pliant::solvers {
namespace {

using Four = double __attribute__((vector_size(32), aligned(8)));

Four Load(const double* x) {
  return *reinterpret_cast<const Four*>(x);
}

}  // namespace

void AddSetsTransposed(std::span<const SetColumns> columns, std::span<const double> J,
                       std::span<const double> x, std::span<double> z) {
  const double* values = J.data();
  const double* force = x.data();
  for (const SetColumns& set : columns) {
    Four sum[3] = {};
    for (int r = 0; r < kSetRows; ++r, values += kSetColumns, ++force) {
      const Four f = Four{} + *force;
      for (int k = 0; k < 3; ++k) sum[k] += f * Load(values + 4 * k);
    }
    const double* from = reinterpret_cast<const double*>(sum);
    for (int part = 0; part < 4; ++part, from += 3) {
      if (set[part] < 0) continue;
      double* to = &z[set[part]];
      to[0] += from[0], to[1] += from[1], to[2] += from[2];
    }
  }
}

void MultiplySets(std::span<const SetColumns> columns, std::span<const double> J,
                  std::span<const double> z, std::span<double> y) {
  const double* values = J.data();
  double* rate = y.data();
  for (const SetColumns& set : columns) {
    double packed[12];
    for (int part = 0; part < 4; ++part) {
      // the columns of an unused part are zero, so what is read does not matter
      const double* from = &z[set[part] < 0 ? 0 : set[part]];
      for (int r = 0; r < 3; ++r) packed[3 * part + r] = from[r];
    }
    const Four a = Load(packed), b = Load(packed + 4), c = Load(packed + 8);
    for (int r = 0; r < kSetRows; ++r, values += kSetColumns, ++rate) {
      const Four sum = Load(values) * a + Load(values + 4) * b + Load(values + 8) * c;
      *rate = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    }
  }
}

}  // namespace pliant::solvers

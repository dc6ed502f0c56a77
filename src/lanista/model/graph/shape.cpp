#include "lanista/model/graph/shape.h"

#include <limits>

#include "lanista/base/check.h"

namespace lanista::graph {
namespace {

// Sizes come from files, so a product may exceed 64 bits. It then saturates at the largest number,
// which every limit refuses.
std::int64_t saturating_product(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<std::int64_t>::max() : product;
}

}  // namespace

std::int64_t Shape::elements_per_sample() const {
  std::int64_t product = 1;
  for (std::size_t i = has_batch() ? 1 : 0; i < dims.size(); ++i) product = saturating_product(product, dims[i]);
  return product;
}

std::int64_t Shape::elements(std::int64_t batch) const {
  LANISTA_CHECK(batch >= 0, "batch " + std::to_string(batch) + " is negative");
  return has_batch() ? saturating_product(batch, elements_per_sample()) : elements_per_sample();
}

std::string Shape::text() const {
  std::string out = "[";
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (i > 0) out += ", ";
    out += i == 0 && dims[i] == kBatch ? "N" : std::to_string(dims[i]);
  }
  return out + "]";
}

}  // namespace lanista::graph

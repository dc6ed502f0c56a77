#include "lanista/runtime/worker_executor.h"

namespace lanista::runtime {
namespace {

// Kernels of one class give a lane the same bits at every lane count and position, whatever form runs them; the twin
// tests of room nn prove it. A change of any kernel's bits takes a new number here.
struct NumericClass {
  std::string_view library;
  kernels::Isa isa;
  std::string_view name;
};
constexpr NumericClass kClasses[] = {
    {"lanista", kernels::Isa::kPortable, "own-2/no-fma"},
    {"lanista", kernels::Isa::kAvx2, "own-2/fma"},
    {"lanista", kernels::Isa::kAvx512, "own-2/fma"},
};

}  // namespace

nlohmann::json numerics(kernels::Isa isa) {
  std::string_view name;
  for (const auto& entry : kClasses) {
    if (entry.isa == isa) name = entry.name;
  }
  return {{"class", name},
          {"isa", kernels::isa_name(isa)},
          {"compiler", __VERSION__},
          {"threads", 1},
          {"flush_to_zero", true}};
}

}  // namespace lanista::runtime

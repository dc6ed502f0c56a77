#include "bench/blas_environment.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include "lanista/exec/kernels/kernels.h"

namespace lanista::bench {
namespace {

/// The names of OpenBLAS kernels for CPUs with at least AVX2.
constexpr std::array<std::string_view, 6> kModernCores{"Haswell",  "Excavator",  "Zen",
                                                       "SkylakeX", "Cooperlake", "SapphireRapids"};

/// The name of the kernels that OpenBLAS has chosen; empty if it is not loaded.
std::string_view chosen_core() {
  using CoreName = const char* (*)();
  const auto core_name = reinterpret_cast<CoreName>(::dlsym(RTLD_DEFAULT, "openblas_get_corename"));
  return core_name == nullptr ? std::string_view() : std::string_view(core_name());
}

}  // namespace

std::vector<EnvironmentVariable> missing_blas_variables() {
  const std::string_view core = chosen_core();
  if (core.empty()) return {};
  std::vector<EnvironmentVariable> settings{{"OPENBLAS_NUM_THREADS", "1"}};
  const kernels::Isa isa = kernels::available_isas().back();
  const bool modern = std::find(kModernCores.begin(), kModernCores.end(), core) != kModernCores.end();
  if (isa != kernels::Isa::kPortable && !modern) {
    settings.push_back({"OPENBLAS_CORETYPE", isa == kernels::Isa::kAvx512 ? "SkylakeX" : "Haswell"});
  }
  std::erase_if(settings, [](const EnvironmentVariable& s) { return std::getenv(s.name.c_str()) != nullptr; });
  return settings;
}

}  // namespace lanista::bench

#include "lanista/exec/kernels/kernels.h"

#include <xmmintrin.h>

#include <cstdlib>

#include "lanista/exec/kernels/flush_to_zero.h"
#include "lanista/exec/kernels/levels.h"

namespace lanista::kernels {
namespace {

struct Level {
  Isa isa;
  std::string_view name;
  std::string_view needs;  // CPU features that the level requires
  std::int64_t vector_bytes;
  const Kernels<float>& of_float;
  const Kernels<double>& of_double;
};
/// All levels, from the slowest to the fastest.
constexpr Level kLevels[] = {
    {Isa::kPortable, "portable", "", 16, portable::kFloatKernels, portable::kDoubleKernels},
    {Isa::kAvx2, "avx2", "AVX2 and FMA", 32, avx2::kFloatKernels, avx2::kDoubleKernels},
    {Isa::kAvx512, "avx512", "AVX-512 (F, VL, DQ, BW)", 64, avx512::kFloatKernels, avx512::kDoubleKernels},
};

const Level& level(Isa isa) { return kLevels[static_cast<std::size_t>(isa)]; }

bool is_available(Isa isa) {
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  switch (isa) {
    case Isa::kPortable:
      return true;
    case Isa::kAvx2:
      return avx2;
    case Isa::kAvx512:
      return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
  }
  return false;
}

std::string_view requested_isa() {
  const char* value = std::getenv("LANISTA_ISA");
  return value == nullptr ? std::string_view() : std::string_view(value);
}

/// Names of the available levels: "portable, avx2".
const std::string& allowed_names() {
  static const std::string names = [] {
    std::string text;
    for (const Isa isa : available_isas()) text += (text.empty() ? "" : ", ") + std::string(isa_name(isa));
    return text;
  }();
  return names;
}

}  // namespace

std::string_view isa_name(Isa isa) { return level(isa).name; }

std::int64_t vector_bytes(Isa isa) { return level(isa).vector_bytes; }

std::vector<Isa> available_isas() {
  std::vector<Isa> isas;
  for (const Level& entry : kLevels) {
    if (is_available(entry.isa)) isas.push_back(entry.isa);
  }
  return isas;
}

Isa best_isa() {
  const std::vector<Isa> available = available_isas();
  for (const Isa isa : available) {
    if (requested_isa() == isa_name(isa)) return isa;
  }
  return available.back();
}

std::string isa_override_error() {
  const std::string_view requested = requested_isa();
  if (requested.empty() || requested == isa_name(best_isa())) return {};
  for (const Level& entry : kLevels) {
    if (requested == entry.name) {
      return "LANISTA_ISA is " + std::string(requested) + ", but this CPU lacks " + std::string(entry.needs) +
             "; allowed: " + allowed_names();
    }
  }
  return "LANISTA_ISA is '" + std::string(requested) +
         "', which is not an instruction set level; allowed: " + allowed_names();
}

void set_flush_to_zero() {
  constexpr unsigned kFlushToZero = 0x8000, kDenormalsAreZero = 0x0040;
  _mm_setcsr(_mm_getcsr() | kFlushToZero | kDenormalsAreZero);
}

FlushToZero::FlushToZero() : before_(_mm_getcsr()) { set_flush_to_zero(); }
FlushToZero::~FlushToZero() { _mm_setcsr(before_); }

template <>
const Kernels<float>& kernels<float>(Isa isa) {
  return level(isa).of_float;
}

template <>
const Kernels<double>& kernels<double>(Isa isa) {
  return level(isa).of_double;
}

}  // namespace lanista::kernels

#include "lanista/kernels/kernels.h"

#include <xmmintrin.h>

#include <cstdlib>

#include "lanista/kernels/levels.h"

namespace lanista::kernels {
namespace {

bool is_available(Isa isa) {
  if (isa == Isa::kPortable) return true;
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

Isa best_available() { return is_available(Isa::kAvx2) ? Isa::kAvx2 : Isa::kPortable; }

std::string_view requested_isa() {
  const char* value = std::getenv("LANISTA_ISA");
  return value == nullptr ? std::string_view() : std::string_view(value);
}

}  // namespace

std::string_view isa_name(Isa isa) { return isa == Isa::kAvx2 ? "avx2" : "portable"; }

std::vector<Isa> available_isas() {
  std::vector<Isa> isas{Isa::kPortable};
  if (is_available(Isa::kAvx2)) isas.push_back(Isa::kAvx2);
  return isas;
}

Isa best_isa() {
  const std::string_view wanted = requested_isa();
  for (Isa isa : available_isas()) {
    if (wanted == isa_name(isa)) return isa;
  }
  return best_available();
}

std::string_view isa_override_error() {
  const std::string_view wanted = requested_isa();
  if (wanted.empty() || wanted == isa_name(best_isa())) return {};
  if (wanted == isa_name(Isa::kAvx2)) return "LANISTA_ISA is avx2, but this CPU lacks AVX2 or FMA; allowed: portable";
  return "LANISTA_ISA names no instruction set level; allowed: portable, avx2";
}

void set_flush_to_zero() {
  constexpr unsigned kFlushToZero = 0x8000, kDenormalsAreZero = 0x0040;
  _mm_setcsr(_mm_getcsr() | kFlushToZero | kDenormalsAreZero);
}

template <>
const Kernels<float>& kernels<float>(Isa isa) {
  return isa == Isa::kAvx2 ? avx2::kFloatKernels : portable::kFloatKernels;
}

template <>
const Kernels<double>& kernels<double>(Isa isa) {
  return isa == Isa::kAvx2 ? avx2::kDoubleKernels : portable::kDoubleKernels;
}

}  // namespace lanista::kernels

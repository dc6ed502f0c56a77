#include "lanista/exec/kernels/kernels.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include "lanista/exec/kernels/flush_to_zero.h"

namespace lanista::kernels {
namespace {

/// Sets LANISTA_ISA for the duration of a test.
class IsaVariable {
 public:
  explicit IsaVariable(const char* value) { setenv("LANISTA_ISA", value, 1); }
  ~IsaVariable() { unsetenv("LANISTA_ISA"); }
  IsaVariable(const IsaVariable&) = delete;
  IsaVariable& operator=(const IsaVariable&) = delete;
};

TEST(Isa, PortableIsAlwaysThereAndTheBestIsAvailable) {
  const std::vector<Isa> isas = available_isas();
  EXPECT_EQ(isas.front(), Isa::kPortable);
  EXPECT_NE(std::find(isas.begin(), isas.end(), best_isa()), isas.end());
  EXPECT_EQ(isa_override_error(), "");
}

TEST(Isa, TheVariableForcesALevel) {
  const IsaVariable variable("portable");
  EXPECT_EQ(best_isa(), Isa::kPortable);
  EXPECT_EQ(isa_override_error(), "");
}

TEST(Isa, ALevelThatTheCpuLacksIsReported) {
  const std::vector<Isa> isas = available_isas();
  if (std::find(isas.begin(), isas.end(), Isa::kAvx512) != isas.end()) GTEST_SKIP() << "this CPU has every level";
  const IsaVariable variable("avx512");
  EXPECT_EQ(best_isa(), isas.back());
  EXPECT_NE(isa_override_error().find("this CPU lacks AVX-512"), std::string::npos);
}

TEST(Isa, AnUnknownLevelIsIgnoredAndReported) {
  const Isa best = best_isa();
  const IsaVariable variable("sse9");
  EXPECT_EQ(best_isa(), best);
  EXPECT_NE(isa_override_error().find("'sse9', which is not an instruction set level; allowed: portable"),
            std::string::npos);
}

TEST(FlushToZero, TurnsSubnormalResultsIntoZeroInThisThreadOnly) {
  volatile float tiny = 1e-38F;
  float there = 1;
  std::thread([&] {
    set_flush_to_zero();
    there = tiny * 0.01F;
  }).join();
  EXPECT_EQ(there, 0.0F);
  EXPECT_GT(tiny * 0.01F, 0.0F);
}

TEST(FlushToZero, EndsWithItsScope) {
  volatile float tiny = 1e-38F;
  {
    const FlushToZero scope;
    EXPECT_EQ(tiny * 0.01F, 0.0F);
  }
  EXPECT_GT(tiny * 0.01F, 0.0F);
}

/// A table is a plain array of function pointers; an entry left out would be null.
template <class T>
void expect_complete(Isa isa) {
  using Entry = void (*)();
  const Kernels<T>& table = kernels<T>(isa);
  static_assert(sizeof(table) % sizeof(Entry) == 0);
  const auto* entries = reinterpret_cast<const Entry*>(&table);
  for (std::size_t i = 0; i < sizeof(table) / sizeof(Entry); ++i) EXPECT_NE(entries[i], nullptr) << "entry " << i;
}

TEST(Kernels, EveryLevelHasEveryKernel) {
  for (const Isa isa : available_isas()) {
    expect_complete<float>(isa);
    expect_complete<double>(isa);
  }
}

}  // namespace
}  // namespace lanista::kernels

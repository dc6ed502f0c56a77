// A study with an executor behind text messages is the same study.
#include "support/engine/remote/wire_executor.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "support/engine/core/custom_strategy_study.h"
#include "support/engine/core/fake_executor.h"
#include "support/engine/core/random_clones.h"

namespace lanista::engine::testing {
namespace {

TEST(WireExecutor, ChangesNothingOfAStudy) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    SCOPED_TRACE(seed);
    const CustomStudy study = random_clone_study(small_study(16), seed);
    Bench plain, wired;
    ASSERT_TRUE(study.run_study(plain, 0).ok());
    FakeOptions options = kOptions;
    options.seed = seed;
    options.clock = &wired.clock;
    WireExecutor wire(std::make_unique<FakeExecutor>(options, store::CheckpointStore(wired.disk, kFolder)));

    const auto end = study.run_study(wired.services(wired.disk, wire));

    ASSERT_TRUE(end.ok()) << end.error().text();
    ASSERT_EQ(first_difference(wired.canonical(), plain.canonical()), "");
  }
}

}  // namespace
}  // namespace lanista::engine::testing

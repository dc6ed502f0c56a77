#include "lanista/base/log_sink.h"

#include <thread>

#include <gtest/gtest.h>

#include "lanista/base/clock.h"

namespace lanista {
namespace {

TEST(LogEvent, TextIsOneReadableLine) {
  const LogEvent event{1.5, Level::kWarning, "trial_failed", {{"trial", 3}, {"reason", "nan"}, {"note", "two words"}}};
  EXPECT_EQ(to_text(event), "warning trial_failed note=\"two words\" reason=nan trial=3");
  EXPECT_EQ(to_text({0, Level::kInfo, "started", nullptr}), "info started");
  EXPECT_EQ(to_text({0, Level::kInfo, "x", {{"s", ""}, {"l", {1, 2}}, {"n", "a\nb"}}}),
            R"(info x l=[1,2] n="a\nb" s="")");
}

TEST(LogEvent, BytesThatAreNotUtf8DoNotThrow) {
  const LogEvent event{0, Level::kInfo, "opened", {{"path", "\xff\xfe"}}};
  EXPECT_NO_THROW(static_cast<void>(to_text(event)));
}

TEST(MemorySink, KeepsEventsOfSeveralThreads) {
  MemorySink sink;
  std::thread other([&] {
    for (int i = 0; i < 100; ++i) sink.write({0, Level::kInfo, "other", {}});
  });
  for (int i = 0; i < 100; ++i) sink.write({0, Level::kInfo, "own", {}});
  other.join();
  EXPECT_EQ(sink.events().size(), 200u);
}

TEST(Clock, VirtualTimeMovesOnAdvance) {
  VirtualClock clock;
  EXPECT_EQ(clock.now(), 0);
  clock.advance(2.5);
  EXPECT_EQ(clock.now(), 2.5);
}

TEST(Clock, RealTimeIsSecondsSince1970) {
  const RealClock clock;
  EXPECT_GT(clock.unix_time(), 1.7e9);  // 2023
  EXPECT_LT(clock.now(), 1e11);
}

}  // namespace
}  // namespace lanista

// The whole product below the command line, with real training, on a file system with a failing n-th write.
#include <gtest/gtest.h>

#include "lanista/base/memory_file_system.h"
#include "support/base/faulty_file_system.h"
#include "support/engine/core/test_support.h"
#include "support/engine/local/study_process.h"

namespace lanista::runtime {
namespace {

using engine::testing::Fingerprint;
using engine::testing::fingerprint;

testing::StudyProcess process(FileSystem& fs) { return {fs, {.folder = engine::testing::kFolder}}; }

/// Resumes the study, or begins again if the failure came before there was a study.
Result<engine::RunResult> resume_study(MemoryFileSystem& disk) {
  auto resumed = process(disk).resume();
  if (resumed || resumed.error().code != Code::kNotFound) return resumed;
  return process(disk).run();
}

TEST(Faults, OfAnyWriteEndInACodedErrorAndAResumableStudy) {
  MemoryFileSystem undisturbed;
  const auto summary = process(undisturbed).run();
  ASSERT_TRUE(summary) << summary.error().text();
  const Fingerprint wanted = *fingerprint(undisturbed);
  ASSERT_FALSE(wanted.weights.empty());

  int failed = 0;
  std::int64_t at = 0;
  for (;; ++at) {
    MemoryFileSystem disk;
    FaultyFileSystem faulty(disk, {.at = at,
                                   .sticky = at % 3 != 0,
                                   .torn = at % 2 == 0,
                                   .error = {Code::kResourceExhausted, "No space left on device", "disk"}});
    const auto first = process(faulty).run();
    if (first && faulty.calls() <= at) break;  // fewer calls than n: each call has failed once
    if (!first) {
      ++failed;
      EXPECT_NE(first.error().code, Code::kInternal) << at << ": " << first.error().text();
      EXPECT_FALSE(first.error().message.empty()) << at;
    }
    const auto second = resume_study(disk);
    ASSERT_TRUE(second) << at << ": " << second.error().text();
    ASSERT_EQ(*fingerprint(disk), wanted) << at;
    ASSERT_LT(at, 1000);
  }
  EXPECT_GT(at, 60);
  EXPECT_GT(failed, 50);
}

}  // namespace
}  // namespace lanista::runtime

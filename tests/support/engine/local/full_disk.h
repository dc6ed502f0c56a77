#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>

#include "lanista/base/memory_file_system.h"
#include "lanista/base/rng.h"
#include "support/base/faulty_file_system.h"
#include "support/engine/core/test_support.h"
#include "support/engine/local/study_process.h"

namespace lanista::runtime::testing {

/// Runs a study on a disk that is full from a random change on, from the 12th to number `last`. Then resumes it on a
/// disk with space, and expects the fingerprint `wanted`. Returns true if it was resumed. False: it had ended, or it
/// had no record. `process` makes a process of the study; `put_inputs` fills the disk before.
inline bool resumes_after_full_disk(
    Rng& rng, std::int64_t last, const engine::testing::Fingerprint& wanted,
    const std::function<StudyProcess(FileSystem&)>& process,
    const std::function<void(FileSystem&)>& put_inputs = [](FileSystem&) {}) {
  MemoryFileSystem disk;
  put_inputs(disk);
  FaultyFileSystem faulty(disk, {.at = rng.between(12, last),
                                 .sticky = true,
                                 .torn = rng.bernoulli(0.5),
                                 .error = {Code::kResourceExhausted, "No space left on device", "disk"}});
  if (process(faulty).run()) return false;
  if (!disk.exists(engine::testing::kFolder + "/log")) return false;
  const auto end = process(disk).resume();
  if (!end && end.error().code == Code::kNotFound) return false;  // no header yet
  EXPECT_TRUE(end) << end.error().text();
  EXPECT_EQ(*engine::testing::fingerprint(disk), wanted);
  return true;
}

}  // namespace lanista::runtime::testing

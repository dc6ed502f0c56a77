// Values that another process may write to the progress board of a pipeline.
#include "lanista/exec/pipeline_parallel/stage_progress.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "lanista/exec/program/aligned_bytes.h"

namespace lanista::program {
namespace {

TEST(StageProgress, StopsReadingTheReasonAtTheBufferEnd) {
  AlignedBytes memory(StageProgress::bytes(3));
  const StageProgress board(memory.data(), 3);
  board.stop("because");
  EXPECT_EQ(board.reason(), "because");
  // No byte after the reason ends the text either.
  const std::string word = "because";
  std::byte* const end = memory.data() + StageProgress::bytes(3);
  std::byte* const at = std::search(memory.data(), end, word.begin(), word.end(),
                                    [](std::byte a, char b) { return static_cast<char>(a) == b; });
  ASSERT_NE(at, end);
  std::fill(at, end, std::byte{'x'});
  EXPECT_EQ(board.reason(), std::string(256, 'x'));
}

}  // namespace
}  // namespace lanista::program

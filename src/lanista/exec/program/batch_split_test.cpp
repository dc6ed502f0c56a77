#include "lanista/exec/program/batch_split.h"

#include <gtest/gtest.h>

#include <vector>

namespace lanista::program {
namespace {

std::vector<std::int64_t> sizes_of(BatchSplit cut, std::int64_t n) {
  std::vector<std::int64_t> sizes;
  cut.for_each_part(n, [&](const BatchPart& part) { sizes.push_back(part.size); });
  return sizes;
}

using Sizes = std::vector<std::int64_t>;

TEST(BatchSplit, MakesContiguousPartsOfEqualSizeUpToOne) {
  EXPECT_EQ(sizes_of({1, 1}, 7), Sizes{7});
  EXPECT_EQ(sizes_of({3, 1}, 7), (Sizes{3, 2, 2}));
  EXPECT_EQ(sizes_of({1, 3}, 7), (Sizes{3, 2, 2}));
  EXPECT_EQ(sizes_of({2, 2}, 7), (Sizes{2, 2, 2, 1}));
}

TEST(BatchSplit, SkipsEmptyParts) {
  EXPECT_EQ(sizes_of({8, 1}, 3), (Sizes{1, 1, 1}));
  EXPECT_EQ(sizes_of({2, 4}, 3), (Sizes{1, 1, 1}));
  EXPECT_EQ(sizes_of({4, 4}, 1), Sizes{1});
}

TEST(BatchSplit, CoversEveryBatchInOrder) {
  for (std::int64_t shards = 1; shards <= 9; ++shards) {
    for (std::int64_t pieces = 1; pieces <= 5; ++pieces) {
      std::int64_t before = 0;
      for (std::int64_t n = 1; n <= 40; ++n) {
        const BatchSplit cut{shards, pieces};
        std::int64_t end = 0, count = 0, open = 0;
        cut.for_each_part(n, [&](const BatchPart& part) {
          EXPECT_EQ(part.begin, end);
          EXPECT_GE(part.size, 1);
          EXPECT_LE(part.size, cut.largest_part(n));
          EXPECT_EQ(part.number, count);
          EXPECT_EQ(part.begins_shard, open == 0);
          open = part.ends_shard ? 0 : open + 1;
          end += part.size;
          ++count;
        });
        EXPECT_EQ(end, n);
        EXPECT_EQ(open, 0);
        EXPECT_EQ(count, cut.num_parts(n));
        EXPECT_GE(count, before);
        before = count;
      }
    }
  }
}

}  // namespace
}  // namespace lanista::program

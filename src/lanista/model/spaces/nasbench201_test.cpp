#include "lanista/model/spaces/nasbench201.h"

#include <set>

#include <gtest/gtest.h>

namespace lanista::mutate {
namespace {

std::size_t distinct(Nasbench201Same same) {
  std::set<std::string> keys;
  for (std::int64_t i = 0; i < Nasbench201Cell::kCount; ++i) {
    keys.insert(nasbench201_key(Nasbench201Cell::at(i), same));
  }
  return keys.size();
}

TEST(Nasbench201, CountsDistinctCellsAsPublished) {
  EXPECT_EQ(distinct(Nasbench201Same::kSkips), 12'751u);
  EXPECT_EQ(distinct(Nasbench201Same::kSkipsAndZeros), 6'466u);
  EXPECT_EQ(distinct(Nasbench201Same::kFunction), 4'930u);
}

TEST(Nasbench201, HasNoLivePathIn341Cells) {
  int dead = 0;
  for (std::int64_t i = 0; i < Nasbench201Cell::kCount; ++i) dead += nasbench201_live(Nasbench201Cell::at(i)) ? 0 : 1;

  EXPECT_EQ(dead, 341);
}

TEST(Nasbench201, GivesEveryCellItsIndexAndText) {
  std::set<std::string> texts;
  for (std::int64_t i = 0; i < Nasbench201Cell::kCount; ++i) {
    const auto cell = Nasbench201Cell::at(i);
    ASSERT_EQ(cell.index(), i);
    texts.insert(nasbench201_text(cell));
  }
  EXPECT_EQ(texts.size(), 15'625u);
}

TEST(Nasbench201, WritesTheNotationOfTheTables) {
  using enum Nasbench201Cell::Op;
  const Nasbench201Cell cell{{kConv3x3, kNone, kSkip, kAvgPool, kConv1x1, kConv3x3}};

  EXPECT_EQ(nasbench201_text(cell),
            "|nor_conv_3x3~0|+|none~0|skip_connect~1|+|avg_pool_3x3~0|nor_conv_1x1~1|nor_conv_3x3~2|");
}

TEST(Nasbench201, SimplifiesSkipsAndZeros) {
  using enum Nasbench201Cell::Op;
  // One convolution on the path 0-1-3, and the same on the path 0-2-3.
  const Nasbench201Cell first{{kConv3x3, kNone, kNone, kNone, kSkip, kNone}};
  const Nasbench201Cell second{{kNone, kConv3x3, kNone, kNone, kNone, kSkip}};

  EXPECT_NE(nasbench201_key(first, Nasbench201Same::kSkips), nasbench201_key(second, Nasbench201Same::kSkips));
  EXPECT_EQ(nasbench201_key(first, Nasbench201Same::kFunction), "(x)@3");
  EXPECT_EQ(nasbench201_key(second, Nasbench201Same::kFunction), "(x)@3");
  EXPECT_TRUE(nasbench201_live(first));
  EXPECT_FALSE(nasbench201_live({{kConv3x3, kConv3x3, kConv3x3, kNone, kNone, kNone}}));
}

}  // namespace
}  // namespace lanista::mutate

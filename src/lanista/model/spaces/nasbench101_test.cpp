#include "lanista/model/spaces/nasbench101.h"

#include <algorithm>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "lanista/base/rng.h"
#include "support/model/spaces/nasbench101_cells.h"

namespace lanista::mutate {
namespace {

using Cell = Nasbench101Cell;
using testing::nasbench101_decode;
using testing::nasbench101_encode;
using testing::nasbench101_hash;

const std::vector<Cell>& all_cells() {
  static const std::vector<Cell> cells = [] {
    std::vector<Cell> all;
    for (int vertices = 2; vertices <= Cell::kMaxVertices; ++vertices) {
      const auto more = testing::nasbench101_cells(vertices);
      all.insert(all.end(), more.begin(), more.end());
    }
    return all;
  }();
  return cells;
}

std::vector<std::uint64_t> all_hashes() {
  std::vector<std::uint64_t> hashes;
  for (const Cell& cell : all_cells()) hashes.push_back(nasbench101_hash(cell));
  std::sort(hashes.begin(), hashes.end());
  return hashes;
}

std::size_t index(int i) { return static_cast<std::size_t>(i); }

// The same cell with other numbers of its inner vertices; no value if an edge would lead backwards.
std::optional<Cell> renumbered(const Cell& cell, Rng& rng) {
  const auto inner = rng.permutation(static_cast<std::uint32_t>(cell.vertices - 2));
  const auto number = [&](int v) {
    return v == 0 || v + 1 == cell.vertices ? v : static_cast<int>(inner[index(v - 1)]) + 1;
  };
  Cell other{cell.vertices, {}, {}};
  for (int i = 0; i < cell.vertices; ++i) {
    for (int j = i + 1; j < cell.vertices; ++j) {
      if (!cell.edge(i, j)) continue;
      if (number(i) > number(j)) return std::nullopt;
      other.next[index(number(i))] |= static_cast<std::uint8_t>(1 << number(j));
    }
    if (i > 0 && i + 1 < cell.vertices) other.ops[index(number(i) - 1)] = cell.ops[index(i - 1)];
  }
  return other;
}

TEST(Nasbench101, HasThePublishedNumberOfCellsOfEverySize) {
  std::array<std::size_t, 8> count{};
  for (const Cell& cell : all_cells()) ++count[index(cell.vertices)];

  EXPECT_EQ(count, (std::array<std::size_t, 8>{0, 0, 1, 6, 84, 2'441, 62'010, 359'082}));
  EXPECT_EQ(all_cells().size(), 423'624u);
}

TEST(Nasbench101, HashDistinguishesAllCells) {
  const std::vector<std::uint64_t> hashes = all_hashes();

  EXPECT_EQ(std::adjacent_find(hashes.begin(), hashes.end()), hashes.end());
}

TEST(Nasbench101, HashIgnoresNumbering) {
  Rng rng(1);
  int moved = 0;
  for (int i = 0; i < 60'000; ++i) {
    const Cell& cell = all_cells()[rng.below(all_cells().size())];
    const auto other = renumbered(cell, rng);
    if (!other) continue;
    moved += *other == cell ? 0 : 1;
    ASSERT_EQ(nasbench101_hash(*other), nasbench101_hash(cell));
  }
  EXPECT_GT(moved, 1'000);
}

TEST(Nasbench101, EncodesEveryCell) {
  for (const Cell& cell : all_cells()) {
    const auto again = nasbench101_decode(nasbench101_encode(cell));
    ASSERT_TRUE(again.ok()) << again.error().text();
    ASSERT_EQ(*again, cell);
  }
}

TEST(Nasbench101, DecodesOrRejectsEveryEncoding) {
  const std::vector<std::uint64_t> known = all_hashes();
  Rng rng(2);
  int valid = 0;
  for (int i = 0; i < 20'000; ++i) {
    const auto cell = nasbench101_decode(rng.between(0, testing::kNasbench101Encodings - 1));
    if (cell.ok()) {
      ++valid;
      ASSERT_LE(cell->edges(), Cell::kMaxEdges);
      ASSERT_TRUE(std::binary_search(known.begin(), known.end(), nasbench101_hash(*cell)));
    } else {
      ASSERT_EQ(cell.error().code, Code::kNotApplicable);
      ASSERT_TRUE(cell.error().message.find("no way leads from input to output") != std::string::npos ||
                  cell.error().message.find("edges, at most 9 are allowed") != std::string::npos)
          << cell.error().message;
    }
  }
  EXPECT_GT(valid, 1'000);
  EXPECT_LT(valid, 20'000);
}

TEST(Nasbench101, RemovesUnreachableVertices) {
  using enum Cell::Op;
  std::array<bool, Cell::kEdgeBits> edges{};
  edges[1] = true;   // 0 > 2
  edges[5] = true;   // 0 > 6
  edges[10] = true;  // 1 > 6, but nothing leads to 1
  edges[14] = true;  // 2 > 6
  edges[11] = true;  // 2 > 3, but nothing leaves 3

  const auto cell = nasbench101_cell(edges, std::array{kConv1x1, kMaxPool3x3, kConv1x1, kConv1x1, kConv1x1});

  ASSERT_TRUE(cell.ok()) << cell.error().text();
  EXPECT_EQ(cell->vertices, 3);
  EXPECT_EQ(cell->edges(), 3);
  EXPECT_EQ(cell->ops[0], kMaxPool3x3);
  EXPECT_TRUE(cell->edge(0, 1) && cell->edge(1, 2) && cell->edge(0, 2));
}

}  // namespace
}  // namespace lanista::mutate

#include "lanista/app/report/layout.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lanista/base/rng.h"

namespace lanista::report {
namespace {

struct Case {
  std::vector<Box> boxes;
  std::vector<Arrow> arrows;
};

/// A random graph with arrows from lower to higher numbers.
Case random_case(Rng rng, std::size_t boxes) {
  Case out;
  for (std::size_t i = 0; i < boxes; ++i) {
    out.boxes.push_back({rng.uniform(30, 200), rng.uniform(20, 60)});
    for (std::uint64_t k = i == 0 ? 0 : 1 + rng.below(3); k > 0; --k) out.arrows.push_back({rng.below(i), i});
  }
  return out;
}

bool apart(const Box& a, const Point& at, const Box& b, const Point& bt) {
  constexpr double kSlack = 1e-6;
  return std::abs(at.x - bt.x) + kSlack >= (a.width + b.width) / 2 ||
         std::abs(at.y - bt.y) + kSlack >= (a.height + b.height) / 2;
}

/// Whether a straight segment enters the interior of the box, by repeated halving.
bool enters(Point from, Point to, const Box& box, const Point& at) {
  for (int step = 0; step <= 200; ++step) {
    const double t = step / 200.0;
    const double x = from.x + t * (to.x - from.x), y = from.y + t * (to.y - from.y);
    if (std::abs(x - at.x) < box.width / 2 - 1e-6 && std::abs(y - at.y) < box.height / 2 - 1e-6) return true;
  }
  return false;
}

Placement layout_of(const Case& c) {
  auto placement = layered_layout(c.boxes, c.arrows);
  EXPECT_TRUE(placement.ok()) << (placement ? "" : placement.error().text());
  return *std::move(placement);
}

TEST(LayeredLayout, BoxesNeverOverlapAndLieInside) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const Case c = random_case(Rng(seed), 2 + seed);
    const Placement p = layout_of(c);
    for (std::size_t i = 0; i < c.boxes.size(); ++i) {
      EXPECT_GE(p.centres[i].x - c.boxes[i].width / 2, 0) << "seed " << seed;
      EXPECT_GE(p.centres[i].y - c.boxes[i].height / 2, 0) << "seed " << seed;
      EXPECT_LE(p.centres[i].x + c.boxes[i].width / 2, p.width) << "seed " << seed;
      EXPECT_LE(p.centres[i].y + c.boxes[i].height / 2, p.height) << "seed " << seed;
      for (std::size_t k = 0; k < i; ++k) {
        EXPECT_TRUE(apart(c.boxes[i], p.centres[i], c.boxes[k], p.centres[k]))
            << "seed " << seed << ": " << i << ", " << k;
      }
    }
  }
}

TEST(LayeredLayout, ArrowsPointDownAndAvoidBoxes) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Case c = random_case(Rng(seed).split("paths"), 3 + seed);
    const Placement p = layout_of(c);
    for (std::size_t a = 0; a < c.arrows.size(); ++a) {
      const auto& path = p.paths[a];
      const auto [from, to] = c.arrows[a];
      EXPECT_DOUBLE_EQ(path.front().y, p.centres[from].y + c.boxes[from].height / 2);
      EXPECT_DOUBLE_EQ(path.back().y, p.centres[to].y - c.boxes[to].height / 2);
      EXPECT_DOUBLE_EQ(path.back().x, p.centres[to].x);
      for (std::size_t i = 1; i < path.size(); ++i) {
        EXPECT_GT(path[i].y, path[i - 1].y) << "seed " << seed << ": an arrow goes up";
        for (std::size_t box = 0; box < c.boxes.size(); ++box) {
          EXPECT_FALSE(enters(path[i - 1], path[i], c.boxes[box], p.centres[box]))
              << "seed " << seed << ": arrow " << from << " -> " << to << " crosses box " << box;
        }
      }
    }
  }
}

TEST(LayeredLayout, DrawsChainStraight) {
  const Case c{std::vector<Box>(4, {80, 40}), {{0, 1}, {1, 2}, {2, 3}}};

  const Placement p = layout_of(c);

  for (const Point& centre : p.centres) EXPECT_DOUBLE_EQ(centre.x, p.centres[0].x);
  EXPECT_EQ(p.paths[0].size(), 2U);
}

TEST(LayeredLayout, RemovesCrossingOfBranches) {
  // Two sources with two targets each, declared crosswise.
  const Case c{std::vector<Box>(4, {50, 40}), {{0, 3}, {1, 2}}};

  const Placement p = layout_of(c);

  EXPECT_EQ(p.centres[0].x < p.centres[1].x, p.centres[3].x < p.centres[2].x);
}

TEST(LayeredLayout, EqualInputsGiveEqualDrawings) {
  const Case c = random_case(Rng(5), 40);

  const Placement a = layout_of(c), b = layout_of(c);

  for (std::size_t i = 0; i < c.boxes.size(); ++i) {
    EXPECT_EQ(a.centres[i].x, b.centres[i].x);
    EXPECT_EQ(a.centres[i].y, b.centres[i].y);
  }
}

TEST(LayeredLayout, IsEmptyForEmptyInput) {
  const Placement p = layout_of({});

  EXPECT_EQ(p.width, 0);
  EXPECT_EQ(p.height, 0);
}

TEST(LayeredLayout, RefusesCyclesAndDanglingArrows) {
  const std::vector<Box> boxes(3, Box{10, 10});

  const auto cycle = layered_layout(boxes, std::vector<Arrow>{{0, 1}, {1, 2}, {2, 1}});
  const auto nowhere = layered_layout(boxes, std::vector<Arrow>{{0, 3}});

  ASSERT_FALSE(cycle);
  EXPECT_EQ(cycle.error().code, Code::kInvalidArgument);
  EXPECT_EQ(cycle.error().message, "2 boxes are on a cycle or after one");
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().code, Code::kInvalidArgument);
  EXPECT_EQ(nowhere.error().message, "arrow 0 -> 3: there are only 3 boxes");
}

TEST(LayeredLayout, RefusesTooManyCrossings) {
  // A chain of 400, and an arrow from each to the last: 79,401 crossings of layers.
  Case c{std::vector<Box>(400, {20, 20}), {}};
  for (std::size_t i = 0; i + 1 < 400; ++i) {
    c.arrows.push_back({i, i + 1});
    c.arrows.push_back({i, 399});
  }

  const auto placement = layered_layout(c.boxes, c.arrows);

  ASSERT_FALSE(placement);
  EXPECT_EQ(placement.error().code, Code::kResourceExhausted);
  EXPECT_EQ(placement.error().message, "arrows cross more than 20000 layers together");
}

}  // namespace
}  // namespace lanista::report

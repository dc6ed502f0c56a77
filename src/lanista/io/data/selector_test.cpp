#include "lanista/io/data/selector.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <numeric>

#include "lanista/base/rng.h"
#include "lanista/io/data/loss_ranks.h"
#include "lanista/io/data/random_selector.h"

namespace lanista::data {
namespace {

std::vector<std::int64_t> rows_from(std::int64_t first, std::int64_t count) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(count));
  std::iota(out.begin(), out.end(), first);
  return out;
}
std::unique_ptr<Selector> selector(const char* name, Options options,
                                   SelectorContext context = {.seed = 7, .rows = 100'000}) {
  auto made = make_selector({name, std::move(options)}, context, selectors_with_random());
  EXPECT_TRUE(made) << made.error().text();
  return *std::move(made);
}
// The loss of a row, by a fixed law.
double law(std::int64_t row) { return Rng(static_cast<std::uint64_t>(row)).uniform(); }
std::vector<double> losses_of(std::span<const std::int64_t> rows) {
  std::vector<double> out;
  for (const std::int64_t row : rows) out.push_back(law(row));
  return out;
}

TEST(LossRanks, EqualCountsOverWindow) {
  Rng rng(3);
  for (int round = 0; round < 200; ++round) {
    const std::size_t length = 1 + rng.below(12);
    LossRanks ranks(length);
    std::deque<double> window;
    for (int i = 0; i < 60; ++i) {
      const double loss =
          rng.bernoulli(0.1) ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(rng.below(6)) / 4;
      const double size = std::isnan(loss) ? std::numeric_limits<double>::infinity() : loss;
      ranks.add(loss);
      window.push_back(size);
      if (window.size() > length) window.pop_front();
      double below = 0, equal = 0;
      for (const double other : window) {
        below += other < size ? 1 : 0;
        equal += other == size ? 1 : 0;
      }
      ASSERT_EQ(ranks.rank(loss), (below + equal / 2) / static_cast<double>(window.size()));
      ASSERT_EQ(ranks.losses(), std::vector<double>(window.begin(), window.end()));
      LossRanks repeated(length);
      repeated.assign(ranks.losses());
      ASSERT_EQ(repeated.rank(loss), ranks.rank(loss));
    }
  }
}

// E[rank^beta] of a uniform rank is 1 / (1 + beta); its deviation over n samples is below 0.5 / sqrt(n). The window of
// 1,024 losses moves ranks by some 1 / 1,024.
TEST(Selective, KeepsShareGivenByExponent) {
  for (const double beta : {1.0, 2.0, 3.0}) {
    const auto chooser = selector("selective", {{"beta", beta}, {"floor", 0}});
    std::int64_t kept = 0, seen = 0;
    for (std::int64_t first = 0; first < 64'000; first += 128) {
      const auto rows = rows_from(first, 128);
      const auto chosen = chooser->choose({0, rows}, losses_of(rows));
      if (first < 2048) continue;  // until the window is full
      kept += std::ssize(chosen);
      seen += 128;
    }
    const double share = static_cast<double>(kept) / static_cast<double>(seen);
    EXPECT_NEAR(share, 1 / (1 + beta), 4 * 0.5 / std::sqrt(static_cast<double>(seen)) + 2.0 / 1024) << beta;
  }
}

TEST(Selective, SelectsByRankAmongRecentLosses) {
  const auto chooser = selector("selective", {{"beta", 1}, {"floor", 0}});
  std::array<std::int64_t, 10> kept{}, seen{};
  for (std::int64_t first = 0; first < 64'000; first += 128) {
    const auto rows = rows_from(first, 128);
    std::vector<bool> chosen(rows.size());
    for (const std::size_t i : chooser->choose({0, rows}, losses_of(rows))) chosen[i] = true;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto tenth = static_cast<std::size_t>(law(rows[i]) * 10);
      ++seen[tenth];
      kept[tenth] += chosen[i] ? 1 : 0;
    }
  }
  for (std::size_t i = 0; i < 10; ++i) {
    const double share = static_cast<double>(kept[i]) / static_cast<double>(seen[i]);
    EXPECT_NEAR(share, (static_cast<double>(i) + 0.5) / 10, 4 * 0.5 / std::sqrt(static_cast<double>(seen[i])) + 0.01)
        << i;
  }
}

TEST(Selective, SelectsEachTiedRowEventually) {
  const auto chooser = selector("selective", {{"beta", 2}, {"floor", 0}});
  std::int64_t kept = 0;
  for (std::int64_t first = 0; first < 12'800; first += 128) {
    const auto rows = rows_from(first, 128);
    kept += std::ssize(chooser->choose({0, rows}, std::vector<double>(128, 0.25)));
  }
  EXPECT_NEAR(static_cast<double>(kept) / 12'800, 0.25, 4 * 0.5 / std::sqrt(12'800.0));
}

TEST(Selective, RespectsMinimumProbability) {
  const auto chooser = selector("selective", {{"beta", 100}, {"floor", 0.2}});
  std::int64_t kept = 0, easy = 0;
  for (std::int64_t first = 0; first < 64'000; first += 128) {
    const auto rows = rows_from(first, 128);
    std::vector<bool> chosen(rows.size());
    for (const std::size_t i : chooser->choose({0, rows}, losses_of(rows))) chosen[i] = true;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (law(rows[i]) > 0.9) continue;  // (0.9 + some)^100 is nearly 0
      ++easy;
      kept += chosen[i] ? 1 : 0;
    }
  }
  const auto count = static_cast<double>(easy);
  EXPECT_NEAR(static_cast<double>(kept) / count, 0.2, 4 * 0.4 / std::sqrt(count));
}

TEST(Selective, TreatsNaNLossAsHardest) {
  const auto chooser = selector("selective", {{"beta", 50}, {"floor", 0}});
  const auto rows = rows_from(0, 128);
  auto losses = losses_of(rows);
  losses[5] = std::numeric_limits<double>::quiet_NaN();
  losses[9] = std::numeric_limits<double>::infinity();
  const auto chosen = chooser->choose({0, rows}, losses);
  EXPECT_TRUE(std::ranges::find(chosen, std::size_t{5}) != chosen.end());
  EXPECT_TRUE(std::ranges::find(chosen, std::size_t{9}) != chosen.end());
}

TEST(Selective, SelectsAllWithoutLossesForZeroExponent) {
  const auto chooser = selector("selective", {{"beta", 0}});
  const auto rows = rows_from(40, 9);
  EXPECT_TRUE(chooser->requested_positions({3, rows}).empty());
  EXPECT_EQ(chooser->choose({3, rows}, {}), (std::vector<std::size_t>{0, 1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST(Selective, RemeasuresStaleLosses) {
  for (const std::int64_t stale : {2, 3}) {
    const auto chooser = selector("selective", {{"beta", 1}, {"stale", stale}}, {.seed = 1, .rows = 20});
    const auto rows = rows_from(4, 8);
    for (std::int64_t pass = 0; pass < 9; ++pass) {
      // Nothing is known of row 7 in the first pass.
      const auto offered = pass == 0 ? rows_from(4, 3) : rows;
      const auto requested = chooser->requested_positions({pass, offered});
      std::vector<std::size_t> expected;
      for (std::size_t i = 0; i < offered.size(); ++i) {
        const std::int64_t first = offered[i] < 7 ? 0 : 1;
        if ((pass - first) % stale == 0) expected.push_back(i);
      }
      EXPECT_EQ(requested, expected) << pass;
      chooser->choose({pass, offered}, std::vector<double>(requested.size(), 0.5));
    }
  }
}

// The window has the last four losses only, so the first ones of the batch have rank 0.
TEST(Selective, AcceptsBatchesLongerThanItsWindow) {
  const auto rows = rows_from(0, 40);
  std::vector<double> rising(40);
  std::iota(rising.begin(), rising.end(), 0);
  EXPECT_LT(selector("selective", {{"beta", 2}, {"history", 4}, {"floor", 0}})->choose({0, rows}, rising).size(), 5U);
  EXPECT_EQ(selector("selective", {{"beta", 2}, {"history", 4}, {"floor", 1}})->choose({0, rows}, rising).size(), 40U);
}

TEST(Selectors, SampleEachRowIndependentlyOfBatch) {
  for (const char* name : {"random", "selective"}) {
    // With one loss for all, ranks do not depend on the batch either.
    const Options options =
        std::string(name) == "random" ? Options{{"keep", 0.4}} : Options{{"beta", 2}, {"history", 8}};
    std::vector<std::int64_t> whole, parts;
    const auto rows = rows_from(100, 256);
    const std::vector<double> losses(256, 1.0);
    const auto one = selector(name, options);
    for (const std::size_t i : one->choose({2, rows}, losses)) whole.push_back(rows[i]);
    const auto other = selector(name, options);
    for (std::size_t first = 0; first < 256; first += 64) {
      const auto part = std::span(rows).subspan(first, 64);
      for (const std::size_t i : other->choose({2, part}, std::span(losses).first(64))) parts.push_back(part[i]);
    }
    EXPECT_EQ(whole, parts) << name;
    std::vector<std::int64_t> next;
    for (const std::size_t i : one->choose({3, rows}, losses)) next.push_back(rows[i]);
    EXPECT_NE(whole, next) << name << " samples again in every pass";
  }
}

TEST(Selectors, ResumeFromSavedState) {
  const std::pair<const char*, Options> kinds[] = {{"selective", {{"beta", 1}, {"history", 100}}},
                                                   {"selective", {{"beta", 2}, {"stale", 3}}},
                                                   {"random", {{"keep", 0.3}}}};
  for (const auto& [name, options] : kinds) {
    const SelectorContext context{.seed = 5, .rows = 400};
    const auto one = selector(name, options, context);
    const auto choose_batch = [](Selector& to, std::int64_t pass, std::int64_t first) {
      const auto rows = rows_from(first, 40);
      std::vector<double> losses;
      for (const std::size_t i : to.requested_positions({pass, rows})) losses.push_back(law(rows[i] + 400 * pass));
      return to.choose({pass, rows}, losses);
    };
    for (std::int64_t step = 0; step < 15; ++step) choose_batch(*one, step / 10, step % 10 * 40);
    const auto other = selector(name, options, context);
    ASSERT_TRUE(other->restore_state(one->saved_state()));
    for (std::int64_t step = 15; step < 50; ++step) {
      ASSERT_EQ(choose_batch(*one, step / 10, step % 10 * 40), choose_batch(*other, step / 10, step % 10 * 40))
          << name << step;
    }
    EXPECT_EQ(one->saved_state(), other->saved_state());
  }
}

TEST(Selectors, RefuseForeignState) {
  const SelectorContext context{.seed = 5, .rows = 10};
  const auto stale = selector("selective", {{"beta", 1}, {"stale", 2}}, context);
  EXPECT_EQ(stale->restore_state({}).error().message, "what the selector remembered has no 'history'");
  EXPECT_EQ(stale->restore_state(selector("selective", {{"beta", 1}}, context)->saved_state()).error().message,
            "what the selector remembered has no 'known'");
  EXPECT_EQ(
      stale->restore_state(selector("selective", {{"beta", 1}, {"stale", 2}}, {.seed = 5, .rows = 12})->saved_state())
          .error()
          .message,
      "the selector remembered losses of 12 rows, there are 10");
  EXPECT_EQ(selector("random", {{"keep", 0.5}}, context)->restore_state(stale->saved_state()).error().message,
            "the selector has no state, but 'history' is restored");
}

TEST(Selectors, CheckOptionsBeyondTheirSchema) {
  EXPECT_TRUE(check_selection_options({{"from", 0.5}, {"until", 0.5}}).ok());
  const auto refused = check_selection_options({{"from", 0.5}, {"until", 0.25}});
  EXPECT_EQ(refused.error().message, "0.5 lies behind until, 0.25");
  EXPECT_EQ(refused.error().where, "from");
}

TEST(Selectors, ListAllowedNames) {
  EXPECT_EQ(make_selector({"selectiv", Options::object()}, {}).error().message,
            "unknown; allowed: selective; did you mean 'selective'?");
  EXPECT_FALSE(make_selector({"selective", {{"beta", -1}}}, {}).ok());
  EXPECT_FALSE(make_selector({"selective", {{"keep", 1}}}, {}).ok());
  EXPECT_FALSE(make_selector({"random", {{"keep", 0}}}, {}, selectors_with_random()).ok());
}

}  // namespace
}  // namespace lanista::data

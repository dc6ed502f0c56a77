// How rows are dealt into folds, over drawn decks: what must hold of every fold. tests/readers/folds_oracle.py asks
// scikit-learn the same.
#include "lanista/io/data/deal.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "lanista/base/rng.h"

namespace lanista::data {
namespace {

/// Columns of all rows, of which every fifth or so is a test row.
struct DrawnDeck {
  std::vector<std::int32_t> labels;
  std::vector<std::int64_t> groups;
  std::vector<double> times;
  Deck deck;

  DrawnDeck(Rng& rng, std::int64_t rows, std::int64_t classes) {
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto drawn = [&](std::int64_t count) { return static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(count))); };
      labels.push_back(static_cast<std::int32_t>(drawn(classes)));
      groups.push_back(drawn(rows / 3 + 1));
      times.push_back(static_cast<double>(drawn(rows)));
      if (!rng.bernoulli(0.2)) deck.rows.push_back(row);
    }
    deck.classes = classes;
  }
};

std::size_t at(std::int64_t row) { return static_cast<std::size_t>(row); }

void expect_a_partition(const Dealing& dealt, const Deck& deck) {
  std::vector<std::int64_t> all = dealt.before;
  for (const auto& fold : dealt.folds) {
    EXPECT_FALSE(fold.empty());
    EXPECT_TRUE(std::ranges::is_sorted(fold));
    all.insert(all.end(), fold.begin(), fold.end());
  }
  std::ranges::sort(all);
  EXPECT_EQ(all, deck.rows);
}

/// Whether all are within one of each other.
template <class Counts>
bool nearly_equal(const Counts& counts) {
  const auto [least, most] = std::ranges::minmax_element(counts);
  return *most - *least <= 1;
}

TEST(Dealing, SharesRowsAndClassesAsEvenlyAsWholeRowsAllow) {
  Rng rng(71);
  for (int drawn = 0; drawn < 400; ++drawn) {
    const auto rows = static_cast<std::int64_t>(20 + rng.below(200));
    const auto folds = static_cast<std::int64_t>(2 + rng.below(4));
    const auto classes = static_cast<std::int64_t>(2 + rng.below(3));
    DrawnDeck table(rng, rows, classes);
    const bool stratified = rng.bernoulli(0.7);
    if (stratified) table.deck.labels = table.labels;
    const auto dealt = deal(table.deck, folds, static_cast<std::int64_t>(rng.below(3)));
    if (!dealt.ok()) continue;  // a class of fewer rows

    expect_a_partition(*dealt, table.deck);
    std::vector<std::size_t> sizes;
    std::vector<std::vector<int>> of_class(at(classes), std::vector<int>(at(folds)));
    for (std::size_t f = 0; f < dealt->folds.size(); ++f) {
      sizes.push_back(dealt->folds[f].size());
      for (const std::int64_t row : dealt->folds[f]) ++of_class[at(table.labels[at(row)])][f];
      std::vector<std::int64_t> both = dealt->train_rows(f), rest = dealt->folds[f];
      both.insert(both.end(), rest.begin(), rest.end());
      std::ranges::sort(both);
      EXPECT_EQ(both, table.deck.rows) << "training and validation rows are all that are dealt, once";
    }
    EXPECT_TRUE(nearly_equal(sizes));
    EXPECT_TRUE(std::ranges::is_sorted(sizes, std::greater<>())) << "the first are the larger ones";
    for (const auto& counts : of_class) EXPECT_TRUE(!stratified || nearly_equal(counts));
  }
}

TEST(Dealing, LeavesNoGroupInTwoFolds) {
  Rng rng(72);
  for (int drawn = 0; drawn < 400; ++drawn) {
    const auto rows = static_cast<std::int64_t>(20 + rng.below(200));
    const auto folds = static_cast<std::int64_t>(2 + rng.below(4));
    DrawnDeck table(rng, rows, 3);
    if (rng.bernoulli(0.5)) table.deck.labels = table.labels;
    table.deck.groups = table.groups;
    const auto dealt = deal(table.deck, folds, static_cast<std::int64_t>(rng.below(3)));
    ASSERT_TRUE(dealt.ok()) << dealt.error().text();

    expect_a_partition(*dealt, table.deck);
    std::map<std::int64_t, std::size_t> fold_of, size_of;
    std::size_t least = table.deck.rows.size(), most = 0, largest = 0;
    for (std::size_t f = 0; f < dealt->folds.size(); ++f) {
      least = std::min(least, dealt->folds[f].size());
      most = std::max(most, dealt->folds[f].size());
      for (const std::int64_t row : dealt->folds[f]) {
        const std::int64_t group = table.groups[at(row)];
        EXPECT_EQ(fold_of.emplace(group, f).first->second, f);
        largest = std::max(largest, ++size_of[group]);
      }
    }
    if (table.deck.labels.empty()) {
      EXPECT_LE(most - least, largest);
    }
  }
}

TEST(Dealing, TrainsOnNothingThatComesLaterThanItsFold) {
  Rng rng(73);
  for (int drawn = 0; drawn < 400; ++drawn) {
    const auto rows = static_cast<std::int64_t>(30 + rng.below(200));
    const auto folds = static_cast<std::int64_t>(2 + rng.below(4));
    DrawnDeck table(rng, rows, 2);
    table.deck.times = table.times;
    const auto dealt = deal(table.deck, folds, 0);
    ASSERT_TRUE(dealt.ok()) << dealt.error().text();

    expect_a_partition(*dealt, table.deck);
    EXPECT_FALSE(dealt->before.empty());
    for (std::size_t f = 0; f < dealt->folds.size(); ++f) {
      double first = table.times[at(dealt->folds[f].front())], last = -1;
      for (const std::int64_t row : dealt->folds[f]) first = std::min(first, table.times[at(row)]);
      const auto train = dealt->train_rows(f);
      for (const std::int64_t row : train) last = std::max(last, table.times[at(row)]);
      EXPECT_LT(last, first);
      if (f > 0) {
        EXPECT_EQ(train.size(), dealt->train_rows(f - 1).size() + dealt->folds[f - 1].size());
      }
    }
    EXPECT_EQ(deal(table.deck, folds, 5)->folds, dealt->folds) << "time has one order";
  }
}

TEST(Dealing, CutsTextsIntoBlocks) {
  Deck deck;
  for (std::int64_t row = 0; row < 11; ++row) deck.rows.push_back(row);
  deck.in_order = true;
  const auto dealt = deal(deck, 3, 0);
  ASSERT_TRUE(dealt.ok());
  EXPECT_EQ(dealt->folds, (std::vector<std::vector<std::int64_t>>{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10}}));
  EXPECT_EQ(dealt->train_rows(1), (std::vector<std::int64_t>{0, 1, 2, 3, 8, 9, 10}));
}

TEST(Dealing, DealsAnewInEveryRepetitionAndAlikeInTheSame) {
  Rng rng(74);
  DrawnDeck table(rng, 90, 3);
  table.deck.labels = table.labels;
  const auto first = deal(table.deck, 5, 0), again = deal(table.deck, 5, 0), other = deal(table.deck, 5, 1);
  ASSERT_TRUE(first.ok() && again.ok() && other.ok());
  EXPECT_EQ(first->folds, again->folds);
  EXPECT_NE(first->folds, other->folds);
  table.deck.groups = table.groups;
  EXPECT_NE(deal(table.deck, 5, 0)->folds, deal(table.deck, 5, 1)->folds);
}

TEST(Dealing, RefusesMoreFoldsThanThereIsToDeal) {
  const std::vector<std::int32_t> labels{0, 0, 0, 0, 1, 1, 1, 1, 1, 1};
  const std::vector<std::int64_t> groups{1, 1, 1, 2, 2, 2, 3, 3, 3, 3};
  const std::vector<double> times{1, 1, 1, 2, 2, 2, 3, 3, 3, 3};
  Deck deck;
  for (std::int64_t row = 0; row < 10; ++row) deck.rows.push_back(row);
  const auto why = [&](std::int64_t folds) {
    const auto dealt = deal(deck, folds, 0);
    EXPECT_TRUE(dealt.ok() || dealt.error().where == "data.folds");
    return dealt.ok() ? std::string() : dealt.error().message;
  };
  EXPECT_EQ(why(1), "is 1; it must be at least 2");
  EXPECT_EQ(why(10), "");
  EXPECT_EQ(why(11), "is 11, allowed are 2 to 10: 10 rows are to be dealt");
  deck.labels = labels;
  deck.classes = 2;
  EXPECT_EQ(why(4), "");
  EXPECT_EQ(why(5), "is 5, allowed are 2 to 4: class 0 has 4 rows to be dealt");
  deck.groups = groups;
  EXPECT_EQ(why(3), "");
  EXPECT_EQ(why(4), "is 4, allowed are 2 to 3: 3 groups are to be dealt");
  deck.times = times;
  EXPECT_EQ(why(2), "");
  EXPECT_EQ(why(3), "is 3, allowed are 2 to 2: 3 times are to be dealt, and the first training needs one before its fold");
}

}  // namespace
}  // namespace lanista::data

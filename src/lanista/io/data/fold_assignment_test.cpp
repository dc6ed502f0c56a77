// The assignment of random rows to folds: properties of every fold. tests/readers/folds_oracle.py compares with
// scikit-learn.
#include "lanista/io/data/fold_assignment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "lanista/base/rng.h"

namespace lanista::data {
namespace {

/// Columns of all rows, of which about every fifth is a test row.
struct RandomFoldInput {
  std::vector<std::int32_t> labels;
  std::vector<std::int64_t> groups;
  std::vector<double> times;
  FoldInput input;

  RandomFoldInput(Rng& rng, std::int64_t rows, std::int64_t classes) {
    for (std::int64_t row = 0; row < rows; ++row) {
      const auto random_input = [&](std::int64_t count) {
        return static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(count)));
      };
      labels.push_back(static_cast<std::int32_t>(random_input(classes)));
      groups.push_back(random_input(rows / 3 + 1));
      times.push_back(static_cast<double>(random_input(rows)));
      if (!rng.bernoulli(0.2)) input.rows.push_back(row);
    }
    input.classes = classes;
  }
};

std::size_t at(std::int64_t row) { return static_cast<std::size_t>(row); }

void expect_a_partition(const FoldAssignment& assignment, const FoldInput& input) {
  std::vector<std::int64_t> all = assignment.before;
  for (const auto& fold : assignment.folds) {
    EXPECT_FALSE(fold.empty());
    EXPECT_TRUE(std::ranges::is_sorted(fold));
    all.insert(all.end(), fold.begin(), fold.end());
  }
  std::ranges::sort(all);
  EXPECT_EQ(all, input.rows);
}

/// Whether all counts are within one of each other.
template <class Counts>
bool nearly_equal(const Counts& counts) {
  const auto [least, most] = std::ranges::minmax_element(counts);
  return *most - *least <= 1;
}

TEST(FoldAssignment, BalancesRowsAndClasses) {
  Rng rng(71);
  for (int random_input = 0; random_input < 400; ++random_input) {
    const auto rows = static_cast<std::int64_t>(20 + rng.below(200));
    const auto folds = static_cast<std::int64_t>(2 + rng.below(4));
    const auto classes = static_cast<std::int64_t>(2 + rng.below(3));
    RandomFoldInput table(rng, rows, classes);
    const bool stratified = rng.bernoulli(0.7);
    if (stratified) table.input.labels = table.labels;
    const auto assignment = make_folds(table.input, folds, static_cast<std::int64_t>(rng.below(3)));
    if (!assignment.ok()) continue;  // a class has fewer rows

    expect_a_partition(*assignment, table.input);
    std::vector<std::size_t> sizes;
    std::vector<std::vector<int>> of_class(at(classes), std::vector<int>(at(folds)));
    for (std::size_t f = 0; f < assignment->folds.size(); ++f) {
      sizes.push_back(assignment->folds[f].size());
      for (const std::int64_t row : assignment->folds[f]) ++of_class[at(table.labels[at(row)])][f];
      std::vector<std::int64_t> both = assignment->train_rows(f), rest = assignment->folds[f];
      both.insert(both.end(), rest.begin(), rest.end());
      std::ranges::sort(both);
      EXPECT_EQ(both, table.input.rows) << "training and validation rows are all that are dealt, once";
    }
    EXPECT_TRUE(nearly_equal(sizes));
    EXPECT_TRUE(std::ranges::is_sorted(sizes, std::greater<>())) << "the first are the larger ones";
    for (const auto& counts : of_class) EXPECT_TRUE(!stratified || nearly_equal(counts));
  }
}

TEST(FoldAssignment, KeepsEachGroupInOneFold) {
  Rng rng(72);
  for (int random_input = 0; random_input < 400; ++random_input) {
    const auto rows = static_cast<std::int64_t>(20 + rng.below(200));
    const auto folds = static_cast<std::int64_t>(2 + rng.below(4));
    RandomFoldInput table(rng, rows, 3);
    if (rng.bernoulli(0.5)) table.input.labels = table.labels;
    table.input.groups = table.groups;
    const auto assignment = make_folds(table.input, folds, static_cast<std::int64_t>(rng.below(3)));
    ASSERT_TRUE(assignment.ok()) << assignment.error().text();

    expect_a_partition(*assignment, table.input);
    std::map<std::int64_t, std::size_t> fold_of, size_of;
    std::size_t least = table.input.rows.size(), most = 0, largest = 0;
    for (std::size_t f = 0; f < assignment->folds.size(); ++f) {
      least = std::min(least, assignment->folds[f].size());
      most = std::max(most, assignment->folds[f].size());
      for (const std::int64_t row : assignment->folds[f]) {
        const std::int64_t group = table.groups[at(row)];
        EXPECT_EQ(fold_of.emplace(group, f).first->second, f);
        largest = std::max(largest, ++size_of[group]);
      }
    }
    if (table.input.labels.empty()) {
      EXPECT_LE(most - least, largest);
    }
  }
}

TEST(FoldAssignment, TrainsOnlyOnRowsBeforeFold) {
  Rng rng(73);
  for (int random_input = 0; random_input < 400; ++random_input) {
    const auto rows = static_cast<std::int64_t>(30 + rng.below(200));
    const auto folds = static_cast<std::int64_t>(2 + rng.below(4));
    RandomFoldInput table(rng, rows, 2);
    table.input.times = table.times;
    const auto assignment = make_folds(table.input, folds, 0);
    ASSERT_TRUE(assignment.ok()) << assignment.error().text();

    expect_a_partition(*assignment, table.input);
    EXPECT_FALSE(assignment->before.empty());
    for (std::size_t f = 0; f < assignment->folds.size(); ++f) {
      double first = table.times[at(assignment->folds[f].front())], last = -1;
      for (const std::int64_t row : assignment->folds[f]) first = std::min(first, table.times[at(row)]);
      const auto train = assignment->train_rows(f);
      for (const std::int64_t row : train) last = std::max(last, table.times[at(row)]);
      EXPECT_LT(last, first);
      if (f > 0) {
        EXPECT_EQ(train.size(), assignment->train_rows(f - 1).size() + assignment->folds[f - 1].size());
      }
    }
    EXPECT_EQ(make_folds(table.input, folds, 5)->folds, assignment->folds) << "time has one order";
  }
}

TEST(FoldAssignment, UsesBlocksForSequentialRows) {
  FoldInput input;
  for (std::int64_t row = 0; row < 11; ++row) input.rows.push_back(row);
  input.is_sequential = true;
  const auto assignment = make_folds(input, 3, 0);
  ASSERT_TRUE(assignment.ok());
  EXPECT_EQ(assignment->folds, (std::vector<std::vector<std::int64_t>>{{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10}}));
  EXPECT_EQ(assignment->train_rows(1), (std::vector<std::int64_t>{0, 1, 2, 3, 8, 9, 10}));
}

TEST(FoldAssignment, DiffersByRepetitionOnly) {
  Rng rng(74);
  RandomFoldInput table(rng, 90, 3);
  table.input.labels = table.labels;
  const auto first = make_folds(table.input, 5, 0), repeated = make_folds(table.input, 5, 0),
             other = make_folds(table.input, 5, 1);
  ASSERT_TRUE(first.ok() && repeated.ok() && other.ok());
  EXPECT_EQ(first->folds, repeated->folds);
  EXPECT_NE(first->folds, other->folds);
  table.input.groups = table.groups;
  EXPECT_NE(make_folds(table.input, 5, 0)->folds, make_folds(table.input, 5, 1)->folds);
}

TEST(FoldAssignment, RefusesTooManyFolds) {
  const std::vector<std::int32_t> labels{0, 0, 0, 0, 1, 1, 1, 1, 1, 1};
  const std::vector<std::int64_t> groups{1, 1, 1, 2, 2, 2, 3, 3, 3, 3};
  const std::vector<double> times{1, 1, 1, 2, 2, 2, 3, 3, 3, 3};
  FoldInput input;
  for (std::int64_t row = 0; row < 10; ++row) input.rows.push_back(row);
  const auto why = [&](std::int64_t folds) {
    const auto assignment = make_folds(input, folds, 0);
    EXPECT_TRUE(assignment.ok() || assignment.error().where == "data.folds");
    return assignment.ok() ? std::string() : assignment.error().message;
  };
  EXPECT_EQ(why(1), "is 1; it must be at least 2");
  EXPECT_EQ(why(10), "");
  EXPECT_EQ(why(11), "is 11, allowed are 2 to 10: 10 rows are to be dealt");
  input.labels = labels;
  input.classes = 2;
  EXPECT_EQ(why(4), "");
  EXPECT_EQ(why(5),
            "is 5, allowed are 2 to 4: class 0 has 4 rows outside the test part, and each fold needs one; choose fewer "
            "folds, add rows of it or leave its rows out");
  std::vector<std::int32_t> with_single = labels;
  with_single[0] = 2;
  const std::vector<std::string> names{"yes", "no", "maybe"};
  input.labels = with_single;
  input.classes = 3;
  input.names = names;
  EXPECT_EQ(
      why(2),
      "is 2: class \"maybe\" has 1 row outside the test part, and each fold needs one; add rows of it or leave its "
      "rows out");
  input.labels = labels;
  input.classes = 2;
  input.groups = groups;
  EXPECT_EQ(why(3), "");
  EXPECT_EQ(why(4), "is 4, allowed are 2 to 3: 3 groups are to be dealt");
  input.times = times;
  EXPECT_EQ(why(2), "");
  EXPECT_EQ(why(3),
            "is 3, allowed are 2 to 2: 3 times are to be dealt, and the first training needs one before its fold");
}

}  // namespace
}  // namespace lanista::data

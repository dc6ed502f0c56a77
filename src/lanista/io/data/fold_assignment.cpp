#include "lanista/io/data/fold_assignment.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "lanista/base/rng.h"

namespace lanista::data {
namespace {

constexpr std::uint64_t kDealSeed = 0x666f6c6473;  // part of the identity of every such study: never change it

using FoldRows = std::vector<std::vector<std::int64_t>>;

Error invalid_folds(std::string message) { return {Code::kInvalidArgument, std::move(message), "data.folds"}; }

Result<void> check_folds(std::int64_t folds, std::int64_t most, const std::string& what) {
  if (folds <= most) return {};
  return invalid_folds("is " + std::to_string(folds) + ", allowed are 2 to " + std::to_string(most) + ": " + what);
}

std::string count_text(std::size_t count, const char* what) { return std::to_string(count) + " " + what; }

/// The error for a class with fewer rows than folds.
Error too_small_class(const FoldInput& input, std::size_t label, std::size_t rows, std::int64_t folds) {
  constexpr std::size_t kFewestFolds = 2;
  const std::string name = label < input.names.size() ? "\"" + input.names[label] + "\"" : std::to_string(label);
  const std::string allowed = rows < kFewestFolds ? "" : ", allowed are 2 to " + std::to_string(rows);
  return invalid_folds("is " + std::to_string(folds) + allowed + ": class " + name + " has " +
                       count_text(rows, rows == 1 ? "row" : "rows") +
                       " outside the test part, and each fold needs one; " +
                       (rows < kFewestFolds ? "" : "choose fewer folds, ") + "add rows of it or leave its rows out");
}

Rng rng_of(std::int64_t repetition) {
  return Rng(kDealSeed).split("folds").split(static_cast<std::uint64_t>(repetition));
}

/// Assigns rows one by one, class after class, so that folds differ by at most one row in each class and in all.
Result<FoldRows> assign_rows(const FoldInput& input, std::int64_t folds, std::int64_t repetition) {
  LANISTA_TRY(check_folds(folds, std::ssize(input.rows), count_text(input.rows.size(), "rows are to be dealt")));
  std::vector<std::vector<std::int64_t>> members(input.labels.empty() ? 1 : static_cast<std::size_t>(input.classes));
  for (const std::int64_t row : input.rows) {
    members[input.labels.empty() ? 0 : static_cast<std::size_t>(input.labels[static_cast<std::size_t>(row)])].push_back(
        row);
  }
  for (std::size_t c = 0; c < members.size(); ++c) {
    if (members[c].empty()) continue;  // all of them are in the test part
    if (folds > std::ssize(members[c])) return too_small_class(input, c, members[c].size(), folds);
  }
  FoldRows out(static_cast<std::size_t>(folds));
  const Rng rng = rng_of(repetition);
  std::size_t next = 0;
  for (std::size_t c = 0; c < members.size(); ++c) {
    for (const std::uint32_t i : rng.split(c).permutation(static_cast<std::uint32_t>(members[c].size()))) {
      out[next++ % out.size()].push_back(members[c][i]);
    }
  }
  return out;
}

/// A group's rows, and its number of rows of each class.
struct RowGroup {
  std::vector<std::int64_t> rows;
  std::vector<double> of_class;
};

std::vector<RowGroup> collect_row_groups(const FoldInput& input, std::size_t classes) {
  std::map<std::int64_t, RowGroup> found;
  for (const std::int64_t row : input.rows) {
    const auto r = static_cast<std::size_t>(row);
    RowGroup& row_group = found[input.groups[r]];
    row_group.of_class.resize(classes);
    row_group.rows.push_back(row);
    ++row_group.of_class[input.labels.empty() ? 0 : static_cast<std::size_t>(input.labels[r])];
  }
  std::vector<RowGroup> out;
  for (auto& [number, row_group] : found) out.push_back(std::move(row_group));
  return out;
}

/// A fold during assignment: the rows that it lacks of each class, and its groups.
struct PartialFold {
  std::vector<double> lacking;
  std::vector<const RowGroup*> row_groups;
  std::size_t rows = 0;
};

/// The change of the squared distance to the wanted number of rows by this group. Each class counts alike.
double distance_change(const RowGroup& row_group, const PartialFold& partial_fold,
                       const std::vector<double>& class_rows) {
  double change = 0;
  for (std::size_t c = 0; c < class_rows.size(); ++c) {
    if (class_rows[c] > 0)
      change += row_group.of_class[c] * (row_group.of_class[c] - 2 * partial_fold.lacking[c]) / class_rows[c];
  }
  return change;
}

void add_group(const RowGroup& row_group, PartialFold& partial_fold) {
  for (std::size_t c = 0; c < partial_fold.lacking.size(); ++c) partial_fold.lacking[c] -= row_group.of_class[c];
  partial_fold.row_groups.push_back(&row_group);
  partial_fold.rows += row_group.rows.size();
}

Result<FoldRows> assign_groups(const FoldInput& input, std::int64_t folds, std::int64_t repetition) {
  const std::size_t classes = input.labels.empty() ? 1 : static_cast<std::size_t>(input.classes);
  const std::vector<RowGroup> row_groups = collect_row_groups(input, classes);
  LANISTA_TRY(check_folds(folds, std::ssize(row_groups), count_text(row_groups.size(), "groups are to be dealt")));
  std::vector<double> class_rows(classes);
  for (const RowGroup& row_group : row_groups) {
    for (std::size_t c = 0; c < classes; ++c) class_rows[c] += row_group.of_class[c];
  }
  std::vector<const RowGroup*> order;
  for (const std::uint32_t i :
       rng_of(repetition).split("groups").permutation(static_cast<std::uint32_t>(row_groups.size()))) {
    order.push_back(&row_groups[i]);
  }
  std::ranges::stable_sort(order, std::greater<>(), [](const RowGroup* row_group) { return row_group->rows.size(); });

  std::vector<PartialFold> partial_folds(static_cast<std::size_t>(folds));
  for (PartialFold& partial_fold : partial_folds) {
    for (const double all : class_rows) partial_fold.lacking.push_back(all / static_cast<double>(folds));
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto empty = static_cast<std::size_t>(
        std::ranges::count_if(partial_folds, [](const PartialFold& p) { return p.row_groups.empty(); }));
    const bool must_fill = order.size() - i <= empty;
    PartialFold* best = nullptr;
    std::pair<double, std::size_t> least;
    for (PartialFold& partial_fold : partial_folds) {
      if (must_fill && !partial_fold.row_groups.empty()) continue;
      const std::pair<double, std::size_t> rank(distance_change(*order[i], partial_fold, class_rows),
                                                partial_fold.rows);
      if (best == nullptr || rank < least) {
        best = &partial_fold;
        least = rank;
      }
    }
    add_group(*order[i], *best);
  }
  FoldRows out;
  for (const PartialFold& partial_fold : partial_folds) {
    auto& fold = out.emplace_back();
    for (const RowGroup* row_group : partial_fold.row_groups)
      fold.insert(fold.end(), row_group->rows.begin(), row_group->rows.end());
  }
  return out;
}

/// Blocks of whole times. Each time goes where its middle row belongs, but every block gets at least one.
Result<FoldRows> assign_in_time(const FoldInput& input, std::int64_t folds) {
  std::map<double, std::vector<std::int64_t>> rows_at;
  for (const std::int64_t row : input.rows) rows_at[input.times[static_cast<std::size_t>(row)]].push_back(row);
  LANISTA_TRY(check_folds(
      folds, std::ssize(rows_at) - 1,
      count_text(rows_at.size(), "times are to be dealt, and the first training needs one before its fold")));
  const std::int64_t each = std::ssize(input.rows) / (folds + 1);
  FoldRows out(static_cast<std::size_t>(folds) + 1);
  std::size_t at = 0, left = rows_at.size();
  std::int64_t before = 0;
  double until = static_cast<double>(std::ssize(input.rows) - folds * each);
  for (const auto& [time, rows] : rows_at) {
    const double middle = static_cast<double>(before) + static_cast<double>(rows.size()) / 2;
    const std::size_t further = out.size() - at - 1;
    if (further > 0 && !out[at].empty() && (middle > until || left <= further)) {
      ++at;
      until += static_cast<double>(each);
    }
    out[at].insert(out[at].end(), rows.begin(), rows.end());
    before += std::ssize(rows);
    --left;
  }
  return out;
}

Result<FoldRows> assign_blocks(const FoldInput& input, std::int64_t folds) {
  const std::int64_t rows = std::ssize(input.rows);
  LANISTA_TRY(check_folds(folds, rows, count_text(input.rows.size(), "rows are to be dealt")));
  FoldRows out;
  auto next = input.rows.begin();
  for (std::int64_t f = 0; f < folds; ++f) {
    const auto end = next + rows / folds + (f < rows % folds ? 1 : 0);
    out.emplace_back(next, end);
    next = end;
  }
  return out;
}

}  // namespace

std::vector<std::int64_t> FoldAssignment::train_rows(std::size_t fold) const {
  std::vector<std::int64_t> out = before;
  for (std::size_t f = 0; f < folds.size(); ++f) {
    if (in_time ? f < fold : f != fold) out.insert(out.end(), folds[f].begin(), folds[f].end());
  }
  std::ranges::sort(out);
  return out;
}

Result<FoldAssignment> make_folds(const FoldInput& input, std::int64_t folds, std::int64_t repetition) {
  if (folds < 2) return invalid_folds("is " + std::to_string(folds) + "; it must be at least 2");
  if (input.rows.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
    return invalid_folds("more than 2^31 - 1 rows");
  }
  FoldAssignment out;
  if (input.is_sequential) {
    LANISTA_ASSIGN(out.folds, assign_blocks(input, folds));
  } else if (!input.times.empty()) {
    LANISTA_ASSIGN(out.folds, assign_in_time(input, folds));
    out.before = std::move(out.folds.front());
    out.folds.erase(out.folds.begin());
    out.in_time = true;
    std::ranges::sort(out.before);
  } else if (!input.groups.empty()) {
    LANISTA_ASSIGN(out.folds, assign_groups(input, folds, repetition));
  } else {
    LANISTA_ASSIGN(out.folds, assign_rows(input, folds, repetition));
  }
  for (auto& fold : out.folds) std::ranges::sort(fold);
  return out;
}

}  // namespace lanista::data

#include "lanista/io/data/split.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <tuple>

#include "lanista/base/rng.h"

namespace lanista::data {
namespace {

constexpr std::uint64_t kSplitSeed = 0x6c616e69737461;  // part of every study's identity: never change it
constexpr std::array<const char*, 3> kPartNames = {"train", "validation", "test"};

using Counts = std::array<std::int64_t, 3>;

Error invalid_split(std::string message) { return {Code::kInvalidArgument, "split: " + std::move(message), ""}; }

Result<void> check_fractions(const std::array<double, 3>& fractions) {
  double sum = 0;
  for (const double f : fractions) {
    if (!(f >= 0 && f <= 1)) return invalid_split("a fraction is " + std::to_string(f) + ", allowed is 0 to 1");
    sum += f;
  }
  if (std::abs(sum - 1) > 1e-6) return invalid_split("the fractions add up to " + std::to_string(sum) + ", not to 1");
  return {};
}

/// Numbers of rows by part. `validates`: an empty validation part is an error.
Result<Counts> part_sizes(std::int64_t rows, const std::array<double, 3>& fractions, bool validates = true) {
  if (rows > std::numeric_limits<std::int32_t>::max()) return invalid_split("more than 2^31 - 1 rows");
  Counts sizes{};
  for (const std::size_t part : {1U, 2U}) {
    sizes[part] = static_cast<std::int64_t>(static_cast<double>(rows) * fractions[part] + 0.5);
  }
  sizes[0] = rows - sizes[1] - sizes[2];
  for (std::size_t part = 0; part < 3; ++part) {
    if (sizes[part] < 0 || (sizes[part] == 0 && (part == 0 || (part == 1 && validates) || fractions[part] > 0))) {
      return invalid_split("the " + std::string(kPartNames[part]) + " part of " + std::to_string(rows) +
                           " rows would have none");
    }
  }
  return sizes;
}

/// Whole numbers near class size x part size / rows, with the given sums over classes and over parts.
std::vector<Counts> apportion(const std::vector<std::int64_t>& class_sizes, const Counts& part_sizes,
                              std::int64_t rows) {
  struct ClassShare {
    std::int64_t remainder;
    std::size_t cls, part;
  };
  std::vector<Counts> shares(class_sizes.size());
  std::vector<std::int64_t> class_left = class_sizes;
  Counts part_left = part_sizes;
  std::vector<ClassShare> cells;
  for (std::size_t c = 0; c < class_sizes.size(); ++c) {
    for (std::size_t p = 0; p < 3; ++p) {
      const std::int64_t product = class_sizes[c] * part_sizes[p];
      shares[c][p] = product / rows;
      class_left[c] -= shares[c][p];
      part_left[p] -= shares[c][p];
      cells.push_back({product % rows, c, p});
    }
  }
  std::sort(cells.begin(), cells.end(), [](const ClassShare& a, const ClassShare& b) {
    return std::tuple(-a.remainder, a.cls, a.part) < std::tuple(-b.remainder, b.cls, b.part);
  });
  // First at most one row for each cell, by the largest remainder. The rest goes wherever both sums lack a row.
  for (const bool at_most_one : {true, false}) {
    for (const ClassShare& cell : cells) {
      std::int64_t more = std::min(class_left[cell.cls], part_left[cell.part]);
      if (at_most_one) more = std::min<std::int64_t>(more, 1);
      shares[cell.cls][cell.part] += more;
      class_left[cell.cls] -= more;
      part_left[cell.part] -= more;
    }
  }
  return shares;
}

/// Splits the rows in `all` (ascending). `validates`: an empty validation part is an error.
Result<Split> shuffle_split(const std::vector<std::int64_t>& all, std::span<const std::int32_t> labels,
                            std::int64_t classes, const std::array<double, 3>& fractions, bool validates) {
  const auto rows = static_cast<std::int64_t>(all.size());
  LANISTA_ASSIGN(const Counts sizes, part_sizes(rows, fractions, validates));

  std::vector<std::vector<std::int64_t>> members(static_cast<std::size_t>(labels.empty() ? 1 : classes));
  for (const std::int64_t row : all) {
    members[labels.empty() ? 0 : static_cast<std::size_t>(labels[static_cast<std::size_t>(row)])].push_back(row);
  }
  std::vector<std::int64_t> class_sizes;
  for (const auto& m : members) class_sizes.push_back(static_cast<std::int64_t>(m.size()));
  const std::vector<Counts> shares = apportion(class_sizes, sizes, rows);

  const Rng rng = Rng(kSplitSeed).split("split");
  Split split;
  for (std::size_t c = 0; c < members.size(); ++c) {
    const auto order = rng.split(c).permutation(static_cast<std::uint32_t>(members[c].size()));
    std::size_t next = 0;
    for (std::size_t p = 0; p < 3; ++p) {
      for (std::int64_t i = 0; i < shares[c][p]; ++i) split[p].push_back(members[c][order[next++]]);
    }
  }
  for (auto& part : split) std::sort(part.begin(), part.end());
  return split;
}

/// The rows outside official parts, and the fractions by which they are divided.
struct RemainingRows {
  std::vector<std::int64_t> rows;
  std::array<double, 3> fractions;
};

Result<RemainingRows> rows_outside_parts(std::int64_t rows, const std::array<double, 3>& fractions,
                                         std::span<const std::int64_t> test,
                                         std::span<const std::int64_t> validation = {}) {
  LANISTA_TRY(check_fractions(fractions));
  RemainingRows out{.rows = {}, .fractions = fractions};
  for (std::int64_t row = 0; row < rows; ++row) {
    if (!std::ranges::binary_search(test, row) && !std::ranges::binary_search(validation, row)) out.rows.push_back(row);
  }
  if (test.empty() && validation.empty()) return out;
  if (!validation.empty()) out.fractions[1] = 0;
  if (!test.empty()) out.fractions[2] = 0;
  const double left = out.fractions[0] + out.fractions[1] + out.fractions[2];
  if (!(left > 0)) {
    return invalid_split(validation.empty() ? "training and validation have no fraction" : "training has no fraction");
  }
  for (double& fraction : out.fractions) fraction /= left;
  return out;
}

Split with_official(Split split, std::span<const std::int64_t> test, std::span<const std::int64_t> validation = {}) {
  if (!test.empty()) split[2].assign(test.begin(), test.end());
  if (!validation.empty()) split[1].assign(validation.begin(), validation.end());
  for (auto& part : split) std::ranges::sort(part);
  return split;
}

/// Errors: no fraction for training or validation; fewer groups or times than parts with a fraction.
Result<void> check_enough(std::size_t found, const char* what, const std::array<double, 3>& fractions) {
  for (const std::size_t part : {0U, 1U}) {
    if (!(fractions[part] > 0))
      return invalid_split("the " + std::string(kPartNames[part]) + " part would have no row");
  }
  const auto requested = static_cast<std::size_t>(std::ranges::count_if(fractions, [](double f) { return f > 0; }));
  if (found >= requested) return {};
  return invalid_split(std::to_string(found) + " " + what + " cannot be shared out between " +
                       std::to_string(requested) + " parts");
}

/// A group's rows, and its number of rows of each class.
struct Group {
  std::vector<std::int64_t> rows;
  std::vector<double> of_class;
};

/// The part that comes nearest to its fractions of all classes with the group.
std::size_t best_part(const Group& group, const std::vector<std::array<double, 3>>& lacking,
                      const std::vector<double>& class_rows, const std::array<double, 3>& fractions) {
  std::size_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t part = 0; part < 3; ++part) {
    if (!(fractions[part] > 0)) continue;
    double change = 0;  // of the squared distances
    for (std::size_t c = 0; c < class_rows.size(); ++c) {
      if (class_rows[c] > 0) change += group.of_class[c] * (group.of_class[c] - 2 * lacking[c][part]) / class_rows[c];
    }
    if (change < least) {
      least = change;
      best = part;
    }
  }
  return best;
}

/// Moves the smallest group of the part with most groups to a part without groups.
void fill_empty(std::array<std::vector<const Group*>, 3>& parts, const std::array<double, 3>& fractions) {
  for (std::size_t part = 0; part < 3; ++part) {
    if (!(fractions[part] > 0) || !parts[part].empty()) continue;
    auto& from = *std::ranges::max_element(parts, {}, [](const auto& p) { return p.size(); });
    parts[part].push_back(from.back());  // the last one is the smallest
    from.pop_back();
  }
}

}  // namespace

Result<Split> split_rows(std::int64_t rows, std::span<const std::int32_t> labels, std::int64_t classes,
                         const std::array<double, 3>& fractions, std::span<const std::int64_t> test,
                         std::span<const std::int64_t> validation) {
  LANISTA_ASSIGN(const RemainingRows others, rows_outside_parts(rows, fractions, test, validation));
  LANISTA_ASSIGN(Split split, shuffle_split(others.rows, labels, classes, others.fractions, validation.empty()));
  return with_official(std::move(split), test, validation);
}

Result<Split> split_groups(const std::vector<std::int64_t>& groups, std::span<const std::int32_t> labels,
                           std::int64_t classes, const std::array<double, 3>& fractions,
                           std::span<const std::int64_t> test) {
  LANISTA_ASSIGN(const RemainingRows others,
                 rows_outside_parts(static_cast<std::int64_t>(groups.size()), fractions, test));
  const auto kinds = static_cast<std::size_t>(labels.empty() ? 1 : classes);
  std::map<std::int64_t, Group> found;
  std::vector<double> class_rows(kinds);
  for (const std::int64_t row : others.rows) {
    Group& group = found[groups[static_cast<std::size_t>(row)]];
    group.of_class.resize(kinds);
    const std::size_t kind = labels.empty() ? 0 : static_cast<std::size_t>(labels[static_cast<std::size_t>(row)]);
    group.rows.push_back(row);
    ++group.of_class[kind];
    ++class_rows[kind];
  }
  LANISTA_TRY(check_enough(found.size(), "groups", others.fractions));

  std::vector<const Group*> order;
  for (const auto& [number, group] : found) order.push_back(&group);
  const auto random_order = Rng(kSplitSeed).split("groups").permutation(static_cast<std::uint32_t>(order.size()));
  std::vector<const Group*> shuffled;
  for (const auto i : random_order) shuffled.push_back(order[i]);
  std::ranges::stable_sort(shuffled, std::greater<>(), [](const Group* group) { return group->rows.size(); });

  std::vector<std::array<double, 3>> lacking;
  for (const double all : class_rows) {
    lacking.push_back({all * others.fractions[0], all * others.fractions[1], all * others.fractions[2]});
  }
  std::array<std::vector<const Group*>, 3> parts;
  for (const Group* group : shuffled) {
    const std::size_t part = best_part(*group, lacking, class_rows, others.fractions);
    for (std::size_t c = 0; c < kinds; ++c) lacking[c][part] -= group->of_class[c];
    parts[part].push_back(group);
  }
  fill_empty(parts, others.fractions);
  Split split;
  for (std::size_t part = 0; part < 3; ++part) {
    for (const Group* group : parts[part])
      split[part].insert(split[part].end(), group->rows.begin(), group->rows.end());
  }
  return with_official(std::move(split), test);
}

Result<Split> split_in_time(const std::vector<double>& times, const std::array<double, 3>& fractions,
                            std::span<const std::int64_t> test) {
  LANISTA_ASSIGN(const RemainingRows others,
                 rows_outside_parts(static_cast<std::int64_t>(times.size()), fractions, test));
  std::map<double, std::vector<std::int64_t>> rows_at;
  for (const std::int64_t row : others.rows) rows_at[times[static_cast<std::size_t>(row)]].push_back(row);
  LANISTA_TRY(check_enough(rows_at.size(), "times", others.fractions));

  // Each time goes to the part to which its middle row belongs. A part with a fraction gets one time in any case, while
  // just enough are left.
  Split split;
  std::vector<std::size_t> wanting;
  for (std::size_t part = 0; part < 3; ++part) {
    if (others.fractions[part] > 0) wanting.push_back(part);
  }
  const auto all = static_cast<double>(others.rows.size());
  std::size_t at = 0, left = rows_at.size();
  double before = 0, until = others.fractions[wanting[0]] * all;
  for (const auto& [time, rows] : rows_at) {
    const double middle = before + static_cast<double>(rows.size()) / 2;
    const std::size_t further = wanting.size() - at - 1;
    if (further > 0 && !split[wanting[at]].empty() && (middle > until || left <= further)) {
      until += others.fractions[wanting[++at]] * all;
    }
    auto& part = split[wanting[at]];
    part.insert(part.end(), rows.begin(), rows.end());
    before += static_cast<double>(rows.size());
    --left;
  }
  return with_official(std::move(split), test);
}

Result<Split> split_blocks(std::int64_t rows, const std::array<double, 3>& fractions) {
  LANISTA_TRY(check_fractions(fractions));
  LANISTA_ASSIGN(const Counts sizes, part_sizes(rows, fractions));
  Split split;
  std::int64_t row = 0;
  for (std::size_t part = 0; part < 3; ++part) {
    for (std::int64_t i = 0; i < sizes[part]; ++i) split[part].push_back(row++);
  }
  return split;
}

}  // namespace lanista::data

#include "lanista/data/split.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <tuple>

#include "lanista/base/rng.h"

namespace lanista::data {
namespace {

constexpr std::uint64_t kSplitSeed = 0x6c616e69737461;  // part of every study's identity: never change it
constexpr std::array<const char*, 3> kPartNames = {"train", "validation", "test"};

using Counts = std::array<std::int64_t, 3>;

Error refused(std::string message) { return {Code::kInvalidArgument, "split: " + std::move(message), ""}; }

Result<void> check_fractions(const std::array<double, 3>& fractions) {
  double sum = 0;
  for (const double f : fractions) {
    if (!(f >= 0 && f <= 1)) return refused("a fraction is " + std::to_string(f) + ", allowed is 0 to 1");
    sum += f;
  }
  if (std::abs(sum - 1) > 1e-6) return refused("the fractions add up to " + std::to_string(sum) + ", not to 1");
  return {};
}

Result<Counts> part_sizes(std::int64_t rows, const std::array<double, 3>& fractions) {
  if (rows > std::numeric_limits<std::int32_t>::max()) return refused("more than 2^31 - 1 rows");
  Counts sizes{};
  for (const std::size_t part : {1U, 2U}) {
    sizes[part] = static_cast<std::int64_t>(static_cast<double>(rows) * fractions[part] + 0.5);
  }
  sizes[0] = rows - sizes[1] - sizes[2];
  for (std::size_t part = 0; part < 3; ++part) {
    if (sizes[part] < 0 || (sizes[part] == 0 && (part < 2 || fractions[part] > 0))) {
      return refused("the " + std::string(kPartNames[part]) + " part of " + std::to_string(rows) +
                     " rows would have none");
    }
  }
  return sizes;
}

/// Whole numbers near class size x part size / rows, with the given sums over classes and over parts.
std::vector<Counts> share_out(const std::vector<std::int64_t>& class_sizes, const Counts& part_sizes,
                              std::int64_t rows) {
  struct Cell {
    std::int64_t remainder;
    std::size_t cls, part;
  };
  std::vector<Counts> shares(class_sizes.size());
  std::vector<std::int64_t> class_left = class_sizes;
  Counts part_left = part_sizes;
  std::vector<Cell> cells;
  for (std::size_t c = 0; c < class_sizes.size(); ++c) {
    for (std::size_t p = 0; p < 3; ++p) {
      const std::int64_t product = class_sizes[c] * part_sizes[p];
      shares[c][p] = product / rows;
      class_left[c] -= shares[c][p];
      part_left[p] -= shares[c][p];
      cells.push_back({product % rows, c, p});
    }
  }
  std::sort(cells.begin(), cells.end(), [](const Cell& a, const Cell& b) {
    return std::tuple(-a.remainder, a.cls, a.part) < std::tuple(-b.remainder, b.cls, b.part);
  });
  // First at most one row a cell, by the largest remainder; what is then left goes wherever both sums still lack a row.
  for (const bool at_most_one : {true, false}) {
    for (const Cell& cell : cells) {
      std::int64_t more = std::min(class_left[cell.cls], part_left[cell.part]);
      if (at_most_one) more = std::min<std::int64_t>(more, 1);
      shares[cell.cls][cell.part] += more;
      class_left[cell.cls] -= more;
      part_left[cell.part] -= more;
    }
  }
  return shares;
}

/// Splits the rows in `all` (ascending).
Result<Split> shuffle_split(const std::vector<std::int64_t>& all, std::span<const std::int32_t> labels,
                            std::int64_t classes, const std::array<double, 3>& fractions) {
  const auto rows = static_cast<std::int64_t>(all.size());
  LANISTA_ASSIGN(const Counts sizes, part_sizes(rows, fractions));

  std::vector<std::vector<std::int64_t>> members(static_cast<std::size_t>(labels.empty() ? 1 : classes));
  for (const std::int64_t row : all) {
    members[labels.empty() ? 0 : static_cast<std::size_t>(labels[static_cast<std::size_t>(row)])].push_back(row);
  }
  std::vector<std::int64_t> class_sizes;
  for (const auto& m : members) class_sizes.push_back(static_cast<std::int64_t>(m.size()));
  const std::vector<Counts> shares = share_out(class_sizes, sizes, rows);

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

}  // namespace

Result<Split> split_rows(std::int64_t rows, std::span<const std::int32_t> labels, std::int64_t classes,
                         const std::array<double, 3>& fractions, std::span<const std::int64_t> test) {
  LANISTA_TRY(check_fractions(fractions));
  std::vector<std::int64_t> others;
  for (std::int64_t row = 0; row < rows; ++row) {
    if (!std::binary_search(test.begin(), test.end(), row)) others.push_back(row);
  }
  if (test.empty()) return shuffle_split(others, labels, classes, fractions);
  const double both = fractions[0] + fractions[1];
  if (!(both > 0)) return refused("training and validation have no fraction");
  LANISTA_ASSIGN(Split split, shuffle_split(others, labels, classes, {fractions[0] / both, fractions[1] / both, 0}));
  split[2].assign(test.begin(), test.end());
  return split;
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

#include "lanista/app/report/forest.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "lanista/base/check.h"
#include "lanista/base/rng.h"

namespace lanista::report {
namespace {

std::uint64_t all_cells(const ForestAxis& axis) {
  return axis.weights.size() >= kMaxCells ? ~std::uint64_t{0} : (std::uint64_t{1} << axis.weights.size()) - 1;
}

bool holds_cell(std::uint64_t cells, std::size_t cell) { return (cells >> cell & 1U) != 0; }

/// Whether an axis applies in the whole box.
bool is_active(const std::vector<ForestAxis>& axes, std::size_t axis, const std::vector<std::uint64_t>& box) {
  const auto& when = axes[axis].when;
  return when.empty() || std::any_of(when.begin(), when.end(), [&](const ForestAxis::Condition& condition) {
           return (box[condition.axis] & ~condition.cells) == 0 && is_active(axes, condition.axis, box);
         });
}

/// Calls `visit` for each half-open range of adjacent cells.
template <class Visit>
void for_each_run(std::uint64_t cells, const Visit& visit) {
  std::size_t at = 0;
  while (cells != 0) {
    const auto gap = static_cast<std::size_t>(std::countr_zero(cells));
    cells >>= gap;
    const auto length = static_cast<std::size_t>(std::countr_one(cells));
    visit(at + gap, at + gap + length);
    at += gap + length;
    cells = length < kMaxCells ? cells >> length : 0;
  }
}

double width_of(const ForestAxis& axis, std::uint64_t cells) {
  double out = 0;
  for (; cells != 0; cells &= cells - 1) out += axis.weights[static_cast<std::size_t>(std::countr_zero(cells))];
  return out;
}

struct Cut {
  double gain = 0;  ///< reduction of the sum of squares
  std::size_t axis = 0;
  std::uint64_t left = 0;
};

Share share_of(const std::vector<double>& shares) {
  if (shares.empty()) return {};
  const double count = static_cast<double>(shares.size());
  Share out{std::accumulate(shares.begin(), shares.end(), 0.0) / count, 0};
  for (const double share : shares) out.spread += (share - out.mean) * (share - out.mean) / count;
  out.spread = std::sqrt(out.spread);
  return out;
}

}  // namespace

/// One tree under construction.
struct Forest::TreeBuilder {
  const std::vector<ForestAxis>& axes;
  std::span<const std::uint8_t> cells;
  std::span<const double> response;
  const ForestOptions& options;
  std::vector<double>& gain_by_axis;
  Rng rng;

  std::uint8_t cell(std::uint32_t row, std::size_t axis) const { return cells[row * axes.size() + axis]; }

  std::optional<Cut> cut_along(std::size_t axis, std::uint64_t box, std::span<const std::uint32_t> rows,
                               double total) const {
    std::array<std::size_t, kMaxCells> count;
    std::array<double, kMaxCells> sum;
    const std::size_t num_cells = axes[axis].weights.size();
    std::fill_n(count.begin(), num_cells, std::size_t{0});
    std::fill_n(sum.begin(), num_cells, 0.0);
    for (const std::uint32_t row : rows) {
      const std::uint8_t at = cell(row, axis);
      if (at == kNoCell) return std::nullopt;
      ++count[at];
      sum[at] += response[row];
    }
    std::vector<std::size_t> seen;
    for (std::size_t c = 0; c < num_cells; ++c) {
      if (count[c] > 0) seen.push_back(c);
    }
    const auto mean = [&](std::size_t c) { return sum[c] / static_cast<double>(count[c]); };
    // The best division of categories into two sets respects their order by the mean (Breiman et al. 1984, theorem
    // 4.5).
    if (!axes[axis].ordered) {
      std::stable_sort(seen.begin(), seen.end(), [&](std::size_t a, std::size_t b) { return mean(a) < mean(b); });
    }
    const double num_rows = static_cast<double>(rows.size());
    std::optional<Cut> best;
    std::size_t below = 0, best_at = 0;
    double sum_below = 0;
    for (std::size_t k = 0; k + 1 < seen.size(); ++k) {
      below += count[seen[k]];
      sum_below += sum[seen[k]];
      if (below < options.min_leaf || rows.size() - below < options.min_leaf) continue;
      const double rest = total - sum_below, n = static_cast<double>(below);
      const double gain = sum_below * sum_below / n + rest * rest / (num_rows - n) - total * total / num_rows;
      if (!best || gain > best->gain) {
        best = Cut{gain, axis, 0};
        best_at = k;
      }
    }
    if (!best) return std::nullopt;
    if (axes[axis].ordered) {
      const std::size_t end =
          (seen[best_at] + seen[best_at + 1] + 1) / 2;  // half of the cells without rows to each side
      best->left = box & ((std::uint64_t{1} << end) - 1);
      return best;
    }
    std::size_t left_rows = 0;
    std::uint64_t left = 0, all = 0;
    for (std::size_t k = 0; k < seen.size(); ++k) {
      all |= std::uint64_t{1} << seen[k];
      if (k > best_at) continue;
      left |= std::uint64_t{1} << seen[k];
      left_rows += count[seen[k]];
    }
    best->left =
        2 * left_rows >= rows.size() ? left | (box & ~all) : left;  // categories without rows to the larger side
    return best;
  }

  /// The best cut along a random sample of the axes.
  std::optional<Cut> best_cut(const std::vector<std::uint64_t>& box, std::span<const std::uint32_t> rows) {
    std::vector<std::size_t> open;
    for (std::size_t axis = 0; axis < axes.size(); ++axis) {
      if (std::popcount(box[axis]) > 1 && is_active(axes, axis, box)) open.push_back(axis);
    }
    double total = 0, square = 0;
    for (const std::uint32_t row : rows) {
      total += response[row];
      square += response[row] * response[row];
    }
    const double spread = square - total * total / static_cast<double>(rows.size());
    std::optional<Cut> best;
    // Tries five sixths of the axes, as in the paper, and the others if none of these can be cut.
    const std::size_t asked = (5 * open.size() + 5) / 6;
    const auto order = rng.permutation(static_cast<std::uint32_t>(open.size()));
    for (std::size_t k = 0; k < open.size() && (k < asked || !best); ++k) {
      const std::size_t axis = open[order[k]];
      const auto cut = cut_along(axis, box[axis], rows, total);
      if (cut && cut->gain > 1e-10 * spread && (!best || cut->gain > best->gain)) best = cut;
    }
    return best;
  }

  Tree grow(std::vector<std::uint32_t> rows) {
    struct OpenNode {
      std::size_t node, begin, end;
      std::vector<std::uint64_t> box;
    };
    Tree tree;
    std::vector<std::uint64_t> whole;
    for (const ForestAxis& axis : axes) whole.push_back(all_cells(axis));
    tree.nodes.resize(1);
    std::vector<OpenNode> open{{0, 0, rows.size(), std::move(whole)}};
    while (!open.empty()) {
      OpenNode at = std::move(open.back());
      open.pop_back();
      const std::span<std::uint32_t> node_rows(rows.data() + at.begin, at.end - at.begin);
      const auto cut = node_rows.size() >= 2 * options.min_leaf ? best_cut(at.box, node_rows) : std::nullopt;
      if (!cut) {
        double sum = 0;
        for (const std::uint32_t row : node_rows) sum += response[row];
        tree.nodes[at.node].value = sum / static_cast<double>(node_rows.size());
        tree.leaves.push_back({tree.nodes[at.node].value, 1, std::move(at.box), {}});
        continue;
      }
      gain_by_axis[cut->axis] += cut->gain;
      const auto middle = std::stable_partition(node_rows.begin(), node_rows.end(), [&](std::uint32_t row) {
        return holds_cell(cut->left, cell(row, cut->axis));
      });
      const std::size_t begin_right = at.begin + static_cast<std::size_t>(middle - node_rows.begin());
      const std::size_t child = tree.nodes.size();
      tree.nodes.resize(child + 2);
      tree.nodes[at.node].axis = cut->axis;
      tree.nodes[at.node].left = cut->left;
      tree.nodes[at.node].child = child;
      std::vector<std::uint64_t> left = at.box, right = std::move(at.box);
      left[cut->axis] &= cut->left;
      right[cut->axis] &= ~cut->left;
      open.push_back({child, at.begin, begin_right, std::move(left)});
      open.push_back({child + 1, begin_right, at.end, std::move(right)});
    }
    return tree;
  }
};

Forest Forest::grow(std::vector<ForestAxis> axes, std::span<const std::uint8_t> cells, std::span<const double> response,
                    const ForestOptions& options) {
  const std::size_t rows = response.size();
  LANISTA_CHECK(cells.size() == rows * axes.size(), "cells are not [rows, axes]");
  for (const ForestAxis& axis : axes) {
    LANISTA_CHECK(!axis.weights.empty() && axis.weights.size() <= kMaxCells, "an axis has 1 to 64 cells");
    for (const auto& condition : axis.when) {
      LANISTA_CHECK(condition.axis < static_cast<std::size_t>(&axis - axes.data()), "conditions are on axes before");
    }
  }
  Forest out;
  out.axes_ = std::move(axes);
  out.gain_.assign(out.axes_.size(), 0.0);
  if (rows == 0) return out;
  out.offset_ = std::accumulate(response.begin(), response.end(), 0.0) / static_cast<double>(rows);
  std::vector<double> centred(response.begin(), response.end());
  for (double& value : centred) value -= out.offset_;

  std::vector<double> unseen(rows, 0.0), votes(rows, 0.0);
  for (std::size_t t = 0; t < options.trees; ++t) {
    TreeBuilder growth{out.axes_, cells, centred, options, out.gain_, Rng(options.seed).split(t)};
    std::vector<std::uint32_t> bag(rows);
    std::vector<bool> is_sampled(rows, false);
    for (std::uint32_t& row : bag) {
      row = static_cast<std::uint32_t>(growth.rng.below(rows));
      is_sampled[row] = true;
    }
    out.trees_.push_back(growth.grow(std::move(bag)));
    for (std::size_t row = 0; row < rows; ++row) {
      if (is_sampled[row]) continue;
      unseen[row] += out.predict(t, cells.subspan(row * out.axes_.size(), out.axes_.size())) - out.offset_;
      votes[row] += 1;
    }
    out.compute_averages(out.trees_.back());
  }
  double wrong = 0, all = 0, mean = 0, num_rows_predicted = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    if (votes[row] == 0) continue;
    num_rows_predicted += 1;
    mean += (centred[row] - mean) / num_rows_predicted;
  }
  for (std::size_t row = 0; row < rows; ++row) {
    if (votes[row] == 0) continue;
    wrong += std::pow(centred[row] - unseen[row] / votes[row], 2);
    all += std::pow(centred[row] - mean, 2);
  }
  if (num_rows_predicted >= 4 && all > 0) out.explained_ = 1 - wrong / all;
  return out;
}

/// Computes volumes, mean, variance, and the averages along each axis.
void Forest::compute_averages(Tree& tree) const {
  std::vector<std::size_t> used;
  tree.main_effects.resize(axes_.size());
  tree.main_effect_variances.assign(axes_.size(), 0.0);
  for (const Node& node : tree.nodes) {
    if (node.child == 0 || !tree.main_effects[node.axis].empty()) continue;
    tree.main_effects[node.axis].assign(axes_[node.axis].weights.size(), 0.0);
    used.push_back(node.axis);
  }
  double square = 0;
  for (Leaf& leaf : tree.leaves) {
    leaf.widths.assign(axes_.size(), 1.0);
    for (const std::size_t axis : used) {
      leaf.widths[axis] = width_of(axes_[axis], leaf.cells[axis]);
      leaf.volume *= leaf.widths[axis];
    }
    tree.mean += leaf.volume * leaf.value;
    square += leaf.volume * leaf.value * leaf.value;
    for (const std::size_t axis : used) {
      const double part = leaf.value * leaf.volume / leaf.widths[axis];
      for (std::uint64_t left = leaf.cells[axis]; left != 0; left &= left - 1) {
        tree.main_effects[axis][static_cast<std::size_t>(std::countr_zero(left))] += part;
      }
    }
  }
  tree.variance = square - tree.mean * tree.mean;
  for (const std::size_t axis : used) {
    for (std::size_t c = 0; c < tree.main_effects[axis].size(); ++c) {
      tree.main_effect_variances[axis] += axes_[axis].weights[c] * std::pow(tree.main_effects[axis][c] - tree.mean, 2);
    }
  }
}

double Forest::predict(std::size_t tree, std::span<const std::uint8_t> point) const {
  const std::vector<Node>& nodes = trees_[tree].nodes;
  std::size_t at = 0;
  while (nodes[at].child != 0) {
    const Node& node = nodes[at];
    // This axis is cut only where it applies. A point without a cell here has cells that contradict its conditions.
    const std::uint8_t cell = point[node.axis];
    at = node.child + (cell != kNoCell && holds_cell(node.left, cell) ? 0 : 1);
  }
  return nodes[at].value + offset_;
}

std::vector<std::size_t> Forest::axes_by_gain() const {
  std::vector<std::size_t> order(axes_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return gain_[a] > gain_[b]; });
  return order;
}

std::vector<double> Forest::marginal(std::size_t axis) const {
  std::vector<double> out(axes_[axis].weights.size(), offset_);
  for (const Tree& tree : trees_) {
    for (std::size_t c = 0; c < out.size(); ++c) {
      out[c] += (tree.main_effects[axis].empty() ? tree.mean : tree.main_effects[axis][c]) /
                static_cast<double>(trees_.size());
    }
  }
  return out;
}

Share Forest::share(std::size_t axis) const {
  std::vector<double> shares;
  for (const Tree& tree : trees_) {
    if (tree.variance > 0) shares.push_back(tree.main_effect_variances[axis] / tree.variance);
  }
  return share_of(shares);
}

Share Forest::share(std::size_t first, std::size_t second) const {
  std::vector<double> shares;
  for (const Tree& tree : trees_) {
    if (tree.variance > 0) shares.push_back(pair_variance(tree, first, second) / tree.variance);
  }
  return share_of(shares);
}

std::vector<double> Forest::marginal(std::size_t first, std::size_t second) const {
  const std::size_t rows = axes_[first].weights.size(), columns = axes_[second].weights.size();
  std::vector<double> out(rows * columns, offset_);
  for (const Tree& tree : trees_) {
    const std::vector<double>&down = tree.main_effects[first], &across = tree.main_effects[second];
    const std::vector<double> both =
        down.empty() || across.empty() ? std::vector<double>() : pair_means(tree, first, second);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const double mean = !both.empty()     ? both[i]
                          : !down.empty()   ? down[i / columns]
                          : !across.empty() ? across[i % columns]
                                            : tree.mean;
      out[i] += mean / static_cast<double>(trees_.size());
    }
  }
  return out;
}

/// The averages of a tree over all axes except two that it cuts. The corners of the leaves' boxes are summed along both
/// axes, which needs one pass over the grid for boxes of any size.
std::vector<double> Forest::pair_means(const Tree& tree, std::size_t first, std::size_t second) const {
  const std::size_t rows = axes_[first].weights.size(), columns = axes_[second].weights.size(), stride = columns + 1;
  std::vector<double> grid((rows + 1) * stride, 0.0);
  for (const Leaf& leaf : tree.leaves) {
    const double part = leaf.value * leaf.volume / (leaf.widths[first] * leaf.widths[second]);
    for_each_run(leaf.cells[first], [&](std::size_t top, std::size_t bottom) {
      for_each_run(leaf.cells[second], [&](std::size_t left, std::size_t right) {
        grid[top * stride + left] += part;
        grid[top * stride + right] -= part;
        grid[bottom * stride + left] -= part;
        grid[bottom * stride + right] += part;
      });
    });
  }
  std::vector<double> out(rows * columns);
  for (std::size_t r = 0; r < rows; ++r) {
    double along = 0;
    for (std::size_t c = 0; c < columns; ++c) {
      along += grid[r * stride + c];
      // The row above contains its sums already.
      out[r * columns + c] = along + (r > 0 ? out[(r - 1) * columns + c] : 0.0);
    }
  }
  return out;
}

double Forest::pair_variance(const Tree& tree, std::size_t first, std::size_t second) const {
  if (tree.main_effects[first].empty() || tree.main_effects[second].empty()) return 0;
  const std::size_t rows = axes_[first].weights.size(), columns = axes_[second].weights.size();
  const std::vector<double> means = pair_means(tree, first, second);
  double variance = 0;
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < columns; ++c) {
      const double own =
          means[r * columns + c] - tree.main_effects[first][r] - tree.main_effects[second][c] + tree.mean;
      variance += axes_[first].weights[r] * axes_[second].weights[c] * own * own;
    }
  }
  return variance;
}

}  // namespace lanista::report

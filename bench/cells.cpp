#include "bench/cells.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "bench/case_net.h"
#include "lanista/base/check.h"
#include "lanista/base/rng.h"

namespace lanista::bench {
namespace {

constexpr std::size_t kValues = 4;
constexpr std::int64_t kChannels = 16;

// The function of a cell as text. Sums are sorted, and a skip is replaced by its value, so equal functions have equal
// texts. Nullopt if a value has no path from the input or to the result.
std::optional<std::string> function_of(const Cell& cell) {
  std::array<std::vector<std::string>, kValues> terms;
  terms[0] = {"x"};
  std::array<bool, kValues> read{};
  const auto text = [&](std::size_t value) {
    std::string all;
    std::ranges::sort(terms[value]);
    for (const std::string& term : terms[value]) all += "+" + term;
    return all;
  };
  for (std::size_t i = 0; i < Cell::kEdges.size(); ++i) {
    const auto [from, to] = Cell::kEdges[i];
    if (cell.ops[i] == Cell::kNone) continue;
    if (terms[from].empty()) return {};
    read[from] = true;
    if (cell.ops[i] == Cell::kSkip) {
      terms[to].insert(terms[to].end(), terms[from].begin(), terms[from].end());
    } else {
      terms[to].push_back("(" + text(from) + ")" + std::string(Cell::kNames[cell.ops[i]]));
    }
  }
  if (!read[0] || !read[1] || !read[2] || terms[3].empty()) return {};
  return text(3);
}

// True if an edge has a convolution.
bool has_convolution(const Cell& cell) {
  return std::ranges::any_of(cell.ops, [](Cell::Op op) { return op == Cell::kConv1 || op == Cell::kConv3; });
}

}  // namespace

std::vector<Cell> random_cells(std::int64_t count) {
  LANISTA_CHECK(count >= 1 && count <= kMaxCells, std::to_string(count) + " cells; allowed are 1 to 64");
  Rng rng(201);
  std::vector<Cell> cells;
  std::set<std::string> known;
  while (std::ssize(cells) < count) {
    Cell cell;
    for (Cell::Op& op : cell.ops) op = static_cast<Cell::Op>(rng.below(Cell::kNames.size()));
    const auto function = function_of(cell);
    if (function && has_convolution(cell) && known.insert(*function).second) cells.push_back(cell);
  }
  return cells;
}

Case cell_case(const Cell& cell) {
  using List = Net::List;
  const List sample{3, 8, 8};
  Net net(sample);
  std::array<std::optional<graph::Port>, kValues> values, active;
  std::array<std::vector<graph::Port>, kValues> terms;
  values[0] = net.conv_norm(net.input(), kChannels, 3);
  for (std::size_t to = 1; to < kValues; ++to) {
    for (std::size_t i = 0; i < Cell::kEdges.size(); ++i) {
      if (Cell::kEdges[i].to != to || cell.ops[i] == Cell::kNone) continue;
      const std::size_t from = Cell::kEdges[i].from;
      const graph::Port x = *values[from];
      const bool convolves = cell.ops[i] == Cell::kConv1 || cell.ops[i] == Cell::kConv3;
      if (convolves && !active[from]) active[from] = net.append(x, "relu");
      if (convolves) {
        terms[to].push_back(net.conv_norm(*active[from], kChannels, cell.ops[i] == Cell::kConv1 ? 1 : 3));
      } else if (cell.ops[i] == Cell::kPool) {
        terms[to].push_back(
            net.append(x, "avg_pool2d",
                       {{"kernel", List{3}}, {"stride", List{1}}, {"padding", List{1}}, {"count_include_pad", false}}));
      } else {
        terms[to].push_back(x);
      }
    }
    values[to] = terms[to].size() == 1 ? terms[to][0] : net.add(terms[to]);
  }
  return {.name = "cell",
          .model = std::move(net).classify(net.append(*values[3], "global_avg_pool")),
          .sample = sample,
          .rate = 0.01};
}

}  // namespace lanista::bench

#include "lanista/model/spaces/nasbench201.h"

#include <algorithm>
#include <vector>

#include "lanista/base/check.h"

namespace lanista::mutate {

using Cell = Nasbench201Cell;

Cell Cell::at(std::int64_t index) {
  LANISTA_CHECK(index >= 0 && index < kCount, "there is no cell " + std::to_string(index) + " of NAS-Bench-201");
  Cell cell;
  for (auto op = cell.ops.rbegin(); op != cell.ops.rend(); ++op, index /= 5) *op = static_cast<Op>(index % 5);
  return cell;
}

std::int64_t Cell::index() const {
  std::int64_t index = 0;
  for (const Op op : ops) index = index * 5 + op;
  return index;
}

std::string nasbench201_text(const Cell& cell) {
  std::string text;
  for (std::size_t i = 0; i < Cell::kEdges.size(); ++i) {
    if (Cell::kEdges[i].from == 0) text += i == 0 ? "|" : "+|";
    text += std::string(Cell::kOpNames[cell.ops[i]]) + "~" + std::to_string(Cell::kEdges[i].from) + "|";
  }
  return text;
}

namespace {

using Terms = std::vector<std::string>;

std::string sum(Terms terms) {
  std::sort(terms.begin(), terms.end());
  std::string text;
  for (const std::string& term : terms) text += (text.empty() ? "" : "+") + term;
  return text;
}

// Returns the terms that an edge adds to the sum at its target. `from` are the terms of its source; none means zero.
Terms edge_terms(const Terms& from, Cell::Op op, Nasbench201Same same) {
  const bool zeros = same != Nasbench201Same::kSkips;
  if (zeros && (op == Cell::kNone || from.empty() || from == Terms{"#"})) {
    return same == Nasbench201Same::kFunction ? Terms{} : Terms{"#"};
  }
  if (op != Cell::kSkip) return {"(" + sum(from) + ")@" + std::to_string(op)};
  return same == Nasbench201Same::kFunction ? from : Terms{sum(from)};
}

}  // namespace

std::string nasbench201_key(const Cell& cell, Nasbench201Same same) {
  std::array<Terms, 4> values{Terms{"x"}};
  for (std::size_t i = 0; i < Cell::kEdges.size(); ++i) {
    const auto [from, to] = Cell::kEdges[i];
    const Terms more = edge_terms(values[static_cast<std::size_t>(from)], cell.ops[i], same);
    Terms& terms = values[static_cast<std::size_t>(to)];
    terms.insert(terms.end(), more.begin(), more.end());
  }
  return sum(values.back());
}

bool nasbench201_live(const Cell& cell) { return !nasbench201_key(cell, Nasbench201Same::kFunction).empty(); }

}  // namespace lanista::mutate

#include "lanista/io/data/deal.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "lanista/base/rng.h"

namespace lanista::data {
namespace {

constexpr std::uint64_t kDealSeed = 0x666f6c6473;  // part of every such study's identity: never change it

using Dealt = std::vector<std::vector<std::int64_t>>;

Error refused_folds(std::string message) { return {Code::kInvalidArgument, std::move(message), "data.folds"}; }

Result<void> check_folds(std::int64_t folds, std::int64_t most, const std::string& what) {
  if (folds <= most) return {};
  return refused_folds("is " + std::to_string(folds) + ", allowed are 2 to " + std::to_string(most) + ": " + what);
}

std::string count_text(std::size_t count, const char* what) { return std::to_string(count) + " " + what; }

Rng rng_of(std::int64_t repetition) {
  return Rng(kDealSeed).split("folds").split(static_cast<std::uint64_t>(repetition));
}

/// Row by row, class after class, so that no fold is more than one row ahead in anything.
Result<Dealt> deal_row_by_row(const Deck& deck, std::int64_t folds, std::int64_t repetition) {
  LANISTA_TRY(check_folds(folds, std::ssize(deck.rows), count_text(deck.rows.size(), "rows are to be dealt")));
  std::vector<std::vector<std::int64_t>> members(deck.labels.empty() ? 1 : static_cast<std::size_t>(deck.classes));
  for (const std::int64_t row : deck.rows) {
    members[deck.labels.empty() ? 0 : static_cast<std::size_t>(deck.labels[static_cast<std::size_t>(row)])].push_back(row);
  }
  for (std::size_t c = 0; c < members.size(); ++c) {
    if (members[c].empty()) continue;  // all of it is in the test part
    LANISTA_TRY(check_folds(folds, std::ssize(members[c]),
                             "class " + std::to_string(c) + " has " + count_text(members[c].size(), "rows to be dealt")));
  }
  Dealt out(static_cast<std::size_t>(folds));
  const Rng rng = rng_of(repetition);
  std::size_t next = 0;
  for (std::size_t c = 0; c < members.size(); ++c) {
    for (const std::uint32_t i : rng.split(c).permutation(static_cast<std::uint32_t>(members[c].size()))) {
      out[next++ % out.size()].push_back(members[c][i]);
    }
  }
  return out;
}

/// A group's rows, and how many of them each class has.
struct Hand {
  std::vector<std::int64_t> rows;
  std::vector<double> of_class;
};

std::vector<Hand> hands_of(const Deck& deck, std::size_t classes) {
  std::map<std::int64_t, Hand> found;
  for (const std::int64_t row : deck.rows) {
    const auto r = static_cast<std::size_t>(row);
    Hand& hand = found[deck.groups[r]];
    hand.of_class.resize(classes);
    hand.rows.push_back(row);
    ++hand.of_class[deck.labels.empty() ? 0 : static_cast<std::size_t>(deck.labels[r])];
  }
  std::vector<Hand> out;
  for (auto& [number, hand] : found) out.push_back(std::move(hand));
  return out;
}

/// A fold in the making: what it lacks of each class, the groups that it has.
struct Pile {
  std::vector<double> lacking;
  std::vector<const Hand*> hands;
  std::size_t rows = 0;
};

/// By how much the squared distance to what the fold should have changes with this group; each class counts alike.
double change_of(const Hand& hand, const Pile& pile, const std::vector<double>& class_rows) {
  double change = 0;
  for (std::size_t c = 0; c < class_rows.size(); ++c) {
    if (class_rows[c] > 0) change += hand.of_class[c] * (hand.of_class[c] - 2 * pile.lacking[c]) / class_rows[c];
  }
  return change;
}

void put(const Hand& hand, Pile& pile) {
  for (std::size_t c = 0; c < pile.lacking.size(); ++c) pile.lacking[c] -= hand.of_class[c];
  pile.hands.push_back(&hand);
  pile.rows += hand.rows.size();
}

Result<Dealt> deal_groups(const Deck& deck, std::int64_t folds, std::int64_t repetition) {
  const std::size_t classes = deck.labels.empty() ? 1 : static_cast<std::size_t>(deck.classes);
  const std::vector<Hand> hands = hands_of(deck, classes);
  LANISTA_TRY(check_folds(folds, std::ssize(hands), count_text(hands.size(), "groups are to be dealt")));
  std::vector<double> class_rows(classes);
  for (const Hand& hand : hands) {
    for (std::size_t c = 0; c < classes; ++c) class_rows[c] += hand.of_class[c];
  }
  std::vector<const Hand*> order;
  for (const std::uint32_t i : rng_of(repetition).split("groups").permutation(static_cast<std::uint32_t>(hands.size()))) {
    order.push_back(&hands[i]);
  }
  std::ranges::stable_sort(order, std::greater<>(), [](const Hand* hand) { return hand->rows.size(); });

  std::vector<Pile> piles(static_cast<std::size_t>(folds));
  for (Pile& pile : piles) {
    for (const double all : class_rows) pile.lacking.push_back(all / static_cast<double>(folds));
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto empty = static_cast<std::size_t>(std::ranges::count_if(piles, [](const Pile& p) { return p.hands.empty(); }));
    const bool must_fill = order.size() - i <= empty;
    Pile* best = nullptr;
    std::pair<double, std::size_t> least;
    for (Pile& pile : piles) {
      if (must_fill && !pile.hands.empty()) continue;
      const std::pair<double, std::size_t> rank(change_of(*order[i], pile, class_rows), pile.rows);
      if (best == nullptr || rank < least) {
        best = &pile;
        least = rank;
      }
    }
    put(*order[i], *best);
  }
  Dealt out;
  for (const Pile& pile : piles) {
    auto& fold = out.emplace_back();
    for (const Hand* hand : pile.hands) fold.insert(fold.end(), hand->rows.begin(), hand->rows.end());
  }
  return out;
}

/// Blocks of whole times; each time goes where its middle row belongs, but every block gets one.
Result<Dealt> deal_in_time(const Deck& deck, std::int64_t folds) {
  std::map<double, std::vector<std::int64_t>> rows_at;
  for (const std::int64_t row : deck.rows) rows_at[deck.times[static_cast<std::size_t>(row)]].push_back(row);
  LANISTA_TRY(check_folds(folds, std::ssize(rows_at) - 1,
                           count_text(rows_at.size(), "times are to be dealt, and the first training needs one before its fold")));
  const std::int64_t each = std::ssize(deck.rows) / (folds + 1);
  Dealt out(static_cast<std::size_t>(folds) + 1);
  std::size_t at = 0, left = rows_at.size();
  std::int64_t before = 0;
  double until = static_cast<double>(std::ssize(deck.rows) - folds * each);
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

Result<Dealt> deal_blocks(const Deck& deck, std::int64_t folds) {
  const std::int64_t rows = std::ssize(deck.rows);
  LANISTA_TRY(check_folds(folds, rows, count_text(deck.rows.size(), "rows are to be dealt")));
  Dealt out;
  auto next = deck.rows.begin();
  for (std::int64_t f = 0; f < folds; ++f) {
    const auto end = next + rows / folds + (f < rows % folds ? 1 : 0);
    out.emplace_back(next, end);
    next = end;
  }
  return out;
}

}  // namespace

std::vector<std::int64_t> Dealing::train_rows(std::size_t fold) const {
  std::vector<std::int64_t> out = before;
  for (std::size_t f = 0; f < folds.size(); ++f) {
    if (in_time ? f < fold : f != fold) out.insert(out.end(), folds[f].begin(), folds[f].end());
  }
  std::ranges::sort(out);
  return out;
}

Result<Dealing> deal(const Deck& deck, std::int64_t folds, std::int64_t repetition) {
  if (folds < 2) return refused_folds("is " + std::to_string(folds) + "; it must be at least 2");
  if (deck.rows.size() > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
    return refused_folds("more than 2^31 - 1 rows");
  }
  Dealing out;
  if (deck.in_order) {
    LANISTA_ASSIGN(out.folds, deal_blocks(deck, folds));
  } else if (!deck.times.empty()) {
    LANISTA_ASSIGN(out.folds, deal_in_time(deck, folds));
    out.before = std::move(out.folds.front());
    out.folds.erase(out.folds.begin());
    out.in_time = true;
    std::ranges::sort(out.before);
  } else if (!deck.groups.empty()) {
    LANISTA_ASSIGN(out.folds, deal_groups(deck, folds, repetition));
  } else {
    LANISTA_ASSIGN(out.folds, deal_row_by_row(deck, folds, repetition));
  }
  for (auto& fold : out.folds) std::ranges::sort(fold);
  return out;
}

}  // namespace lanista::data

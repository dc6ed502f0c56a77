#include "lanista/base/csv_header.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>
#include <string_view>

#include "lanista/base/text_cursor.h"

namespace lanista::formats {
namespace {

constexpr std::size_t kMaxRows = 10'000, kFewestRows = 20, kMaxCells = 4'000'000;
constexpr std::size_t kRowsForRange = 5;  ///< Fewer rows do not show the range of a column.
constexpr std::size_t kFewestInRun = 3;   ///< Fewer numbers that ascend by 1 are a coincidence.
constexpr double kNearlyAll = 0.9;

enum class Shape { kEmpty, kNumberWord, kNumber, kDate, kText };

/// What one cell looks like.
struct Cell {
  Shape shape = Shape::kEmpty;
  std::string_view text;      ///< Without blanks and tabs around it.
  double value = 0;           ///< Of a number without other signs, else 0.
  bool has_point = false;     ///< A number with a decimal sign or a percent sign.
  bool has_exponent = false;  ///< A number such as 1e3.
  bool is_plain = false;      ///< A number that `value` holds.
  bool has_digit = false, has_letter = false;

  bool is_whole() const { return is_plain && !has_point && !has_exponent; }
};

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool equals_lower(std::string_view text, std::string_view word) {
  return std::ranges::equal(text, word, [](char a, char b) { return lower(a) == b; });
}

template <std::size_t N>
bool is_one_of(std::string_view text, const std::array<std::string_view, N>& words) {
  return std::ranges::any_of(words, [&](std::string_view word) { return equals_lower(text, word); });
}

/// Numbers with a sign of a currency, groups of digits, a percent sign or a decimal comma.
bool is_formatted_number(std::string_view text) {
  for (const std::string_view sign : {"$", "\xE2\x82\xAC", "\xC2\xA3", "\xC2\xA5"}) {
    if (text.starts_with(sign)) text.remove_prefix(sign.size());
    if (text.ends_with(sign)) text.remove_suffix(sign.size());
  }
  return std::ranges::all_of(
      text, [](char c) { return is_digit(c) || std::string_view(".,' %+-()").find(c) != std::string_view::npos; });
}

/// Digits in two or three parts: 2024-01-31, 31.01.2024, 01/31/2024, 2024-01, with a time or without, or a time.
bool looks_like_date(std::string_view text) {
  std::size_t digits = 0, signs = 0;
  for (const char c : text) {
    if (is_digit(c)) {
      ++digits;
    } else if (c == '-' || c == '/' || c == ':' || c == '.') {
      ++signs;
    } else if (c != 'T' && c != 'Z' && c != ' ' && c != '+') {
      return false;
    }
  }
  return is_digit(text.front()) && digits >= 3 && signs >= 1;
}

Cell cell_of(std::string_view text) {
  text = trim(text);
  Cell out{.text = text};
  if (text.empty()) return out;
  constexpr std::array<std::string_view, 7> kMissing{"?", "na", "n/a", "null", "none", "<na>", "#n/a"};
  if (is_one_of(text, kMissing)) return out;
  const std::string_view unsigned_text = text.substr(text[0] == '+' || text[0] == '-' ? 1 : 0);
  constexpr std::array<std::string_view, 3> kWords{"nan", "inf", "infinity"};
  out.has_digit = std::ranges::any_of(text, is_digit);
  out.has_letter = std::ranges::any_of(
      text, [](char c) { return (lower(c) >= 'a' && lower(c) <= 'z') || static_cast<unsigned char>(c) >= 0x80; });
  out.shape = Shape::kText;
  if (is_one_of(unsigned_text, kWords)) {
    out.shape = Shape::kNumberWord;
  } else if (out.has_digit) {
    const std::string_view parsed = text[0] == '+' ? unsigned_text : text;
    const auto [end, failed] = std::from_chars(parsed.data(), parsed.data() + parsed.size(), out.value);
    const bool whole_text = end == parsed.data() + parsed.size();
    out.is_plain = failed == std::errc() && whole_text;
    const bool is_number = whole_text && failed != std::errc::invalid_argument;
    if (is_number || is_formatted_number(text)) {
      out.shape = Shape::kNumber;
      out.has_point = text.find_first_of(".,%") != std::string_view::npos;
      out.has_exponent = is_number && text.find_first_of("eE") != std::string_view::npos;
    }
    if (!is_number && looks_like_date(text)) out.shape = Shape::kDate;
  }
  return out;
}

/// The cells of a column below the first line.
struct ColumnBelow {
  std::size_t present = 0, numbers = 0, points = 0, exponents = 0, dates = 0, texts = 0, with_digit = 0;
  std::size_t plain = 0;
  double least = 0, most = 0;        ///< Of the plain numbers.
  bool counts_up = true;             ///< Whole numbers, each by 1 above that before it.
  double last = 0;                   ///< The last number.
  std::set<std::string_view> words;  ///< The different texts.

  void add(const Cell& cell) {
    if (cell.shape == Shape::kEmpty || cell.shape == Shape::kNumberWord) return;
    counts_up &= cell.is_whole() && (present == 0 || cell.value == last + 1);
    last = cell.value;
    ++present;
    with_digit += cell.has_digit ? 1 : 0;
    dates += cell.shape == Shape::kDate ? 1 : 0;
    if (cell.shape == Shape::kText) {
      ++texts;
      words.insert(cell.text);
    }
    if (cell.shape != Shape::kNumber) return;
    ++numbers;
    points += cell.has_point ? 1 : 0;
    exponents += cell.has_exponent ? 1 : 0;
    if (!cell.is_plain) return;
    least = plain == 0 ? cell.value : std::min(least, cell.value);
    most = plain == 0 ? cell.value : std::max(most, cell.value);
    ++plain;
  }
  double share(std::size_t count) const {
    return present == 0 ? 0 : static_cast<double>(count) / static_cast<double>(present);
  }
  bool is_numeric() const { return present > 0 && share(numbers) >= kNearlyAll; }
  bool is_dates() const { return present > 0 && share(dates) >= kNearlyAll; }
  /// Whether a number is so far outside that it is no value of the column.
  bool is_far_outside(double value) const {
    const double width = most - least;
    return plain >= kRowsForRange && (value < least - width || value > most + width);
  }
};

/// Points for each reading.
struct Votes {
  int names = 0, row = 0;
};

void vote_on_text(const Cell& first, const ColumnBelow& below, Votes& votes) {
  if (!first.has_letter) return;  // such as "-", which may mean a missing value
  const bool recurs = below.words.contains(first.text);
  if (below.is_numeric() || below.is_dates()) {
    (recurs ? votes.row : votes.names) += recurs ? 1 : 3;
  } else if (recurs) {
    votes.row += 3;
  } else if (below.texts > 0 && below.present >= 4 && below.words.size() * 2 <= below.texts) {
    votes.names += 2;
  } else if (below.share(below.with_digit) >= kNearlyAll && !first.has_digit) {
    votes.names += 2;
  }
}

void vote_on_number(const Cell& first, const ColumnBelow& below, Votes& votes) {
  if (below.is_dates()) {
    votes.names += 1;
  } else if (!below.is_numeric()) {
    votes.names += below.present > 0 && below.numbers == 0 && below.share(below.with_digit) < 0.5 ? 2 : 0;
  } else if (first.is_plain && below.is_far_outside(first.value)) {
    votes.names += 1;
  } else if (first.has_exponent) {
    (below.exponents > 0 ? votes.row : votes.names) += below.exponents > 0 ? 2 : 1;
  } else if (first.has_point) {
    (below.points > 0 ? votes.row : votes.names) += below.points > 0 ? 2 : 1;
  } else if (first.value < 0) {
    votes.row += 2;
  } else if (below.share(below.points) < 0.95) {
    votes.row += 1;
  }
}

/// The votes of the numbers in the first line together.
void vote_on_numbers(const std::vector<Cell>& first, const std::vector<ColumnBelow>& below, Votes& votes) {
  std::vector<double> values;
  bool all_whole = true;
  int above_fractions = 0;
  for (std::size_t c = 0; c < first.size(); ++c) {
    if (first[c].shape != Shape::kNumber) continue;
    all_whole &= first[c].is_plain && first[c].value == std::floor(first[c].value) && !first[c].has_point;
    values.push_back(first[c].value);
    above_fractions +=
        below[c].is_numeric() && below[c].share(below[c].points) >= 0.95 && !below[c].is_far_outside(first[c].value)
            ? 1
            : 0;
  }
  if (values.empty()) return;
  std::vector<double> sorted = values;
  std::ranges::sort(sorted);
  const bool twice = std::ranges::adjacent_find(sorted) != sorted.end();
  if (twice) votes.row += 2;
  if (!all_whole || twice || sorted.front() < 0) return;
  votes.names += above_fractions;
  const auto follows = [](double a, double b) { return b != a + 1; };
  const bool is_run = std::ranges::adjacent_find(values, follows) == values.end();
  if (is_run && values.size() >= kFewestInRun) {
    votes.names += static_cast<int>(values.size()) + 1;
  } else if (is_run && values.size() == first.size()) {
    votes.names += 1;
  }
}

/// Whether two texts of the first line are equal, which names of columns seldom are.
bool has_equal_texts(const std::vector<Cell>& first) {
  std::set<std::string_view> seen;
  return std::ranges::any_of(
      first, [&](const Cell& cell) { return cell.shape == Shape::kText && !seen.insert(cell.text).second; });
}

bool are_known(const std::vector<Cell>& first, const std::vector<std::string>& known) {
  std::set<std::string_view> found;
  std::size_t present = 0;
  for (const Cell& cell : first) {
    if (cell.text.empty()) continue;
    ++present;
    if (std::ranges::find(known, cell.text) != known.end()) found.insert(cell.text);
  }
  return !found.empty() && found.size() * 2 >= present;
}

}  // namespace

HeaderDecision decide_header(const CsvTable& lines, const std::vector<std::string>& known) {
  const std::size_t columns = lines.columns();
  std::vector<Cell> first;
  for (std::size_t c = 0; c < columns; ++c) first.push_back(cell_of(lines.cell(0, c)));
  if (are_known(first, known)) return {.has_names = true};
  const bool has_number = std::ranges::any_of(
      first, [](const Cell& cell) { return cell.shape == Shape::kNumber || cell.shape == Shape::kDate; });
  if (lines.rows() == 1) return {.has_names = !has_number};

  std::vector<ColumnBelow> below(columns);
  const std::size_t most = std::min(kMaxRows, std::max(kFewestRows, kMaxCells / columns));
  for (std::size_t row = 1; row < std::min(lines.rows(), most + 1); ++row) {
    for (std::size_t c = 0; c < columns; ++c) below[c].add(cell_of(lines.cell(row, c)));
  }
  Votes votes;
  for (std::size_t c = 0; c < columns; ++c) {
    switch (first[c].shape) {
      case Shape::kEmpty:
        // The index of a data frame has no name.
        if (c == 0 && first[c].text.empty() && below[c].counts_up && below[c].present > 0) votes.names += 3;
        break;
      case Shape::kNumberWord:
        break;
      case Shape::kText:
        vote_on_text(first[c], below[c], votes);
        break;
      case Shape::kDate:
        (below[c].dates > 0 ? votes.row : votes.names) += 2;
        break;
      case Shape::kNumber:
        vote_on_number(first[c], below[c], votes);
        break;
    }
  }
  vote_on_numbers(first, below, votes);
  if (has_equal_texts(first)) votes.row += 2;
  const int weaker = std::min(votes.names, votes.row), stronger = std::max(votes.names, votes.row);
  const bool has_names = votes.names > votes.row || (votes.names == votes.row && !has_number);
  // Other programs take a line of texts as names.
  const bool unusual = !has_number && !has_names;
  return {.has_names = has_names, .is_doubtful = unusual || weaker == stronger || weaker * 5 >= stronger};
}

}  // namespace lanista::formats

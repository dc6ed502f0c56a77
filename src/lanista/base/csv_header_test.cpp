#include "lanista/base/csv_header.h"

#include <gtest/gtest.h>

#include "lanista/base/rng.h"

namespace lanista::formats {
namespace {

struct Case {
  const char* what;
  std::string first;
  std::string below;  ///< each letter is a column of random cells; see add_cell()
  bool has_names;
  bool is_doubtful = false;
};

/// f: fraction, w: whole number below 100, y: yes or no, t: different text, d: date, c: currency, i: counts from 0,
/// k: class 0 to 2, e: number with an exponent.
void add_cell(char kind, int row, Rng& rng, std::string& out) {
  const std::string number = std::to_string(rng.below(100));
  if (kind == 'f') out += "0." + number + "5";
  if (kind == 'w') out += number;
  if (kind == 'y') out += rng.bernoulli(0.5) ? "yes" : "no";
  if (kind == 't') out += "id" + std::to_string(row);
  if (kind == 'd') out += "2024-01-" + std::to_string(10 + rng.below(20));
  if (kind == 'c') out += "$" + number + ".50";
  if (kind == 'i') out += std::to_string(row);
  if (kind == 'k') out += std::to_string(rng.below(3));
  if (kind == 'e') out += "1." + number + "e-05";
}

CsvTable read(const std::string& first, const std::string& below, std::vector<std::string> known = {}) {
  Rng rng(3);
  std::string text = first + "\n";
  for (int row = 0; row < 60; ++row) {
    for (std::size_t c = 0; c < below.size(); ++c) {
      if (c > 0) text += ',';
      add_cell(below[c], row, rng, text);
    }
    text += "\n";
  }
  const auto table = parse_csv(text, {.header_rule = HeaderRule::kTypesBelow, .known_names = std::move(known)});
  EXPECT_TRUE(table.ok()) << first;
  return *table;
}

TEST(CsvHeader, FollowsTheKindsOfCellsBelow) {
  const std::vector<Case> cases{
      {"names above numbers", "a,b,y", "ffy", true},
      {"numbers in a header", "0,1,target", "ffy", true},
      {"years as names", "2019,2020,2021", "fff", true},
      {"whole numbers above fractions", "1,0", "ff", true},
      {"years above small whole numbers", "2019,2020,y", "wwy", true},
      {"a name that is nan", "nan,x,y", "ffy", true},
      {"names nan and inf", "nan,inf,y", "ffy", true},
      {"a name with an exponent", "1e3,2e3,y", "ffy", true},
      {"an index without a name", ",a,b", "iff", true},
      {"dates as names", "2019-01,2019-02,y", "ffy", true},
      {"a name above currencies", "price,y", "cy", true},
      {"a name above dates", "when,y", "dy", true},
      {"a name above identifiers", "id,y", "ty", true},
      {"texts above texts that recur", "colour,answer", "yy", true},
      {"fractions", "0.15,0.25,yes", "ffy", false},
      {"whole numbers", "5,17,no", "wwy", false},
      {"zeros above fractions", "0,0,yes", "ffy", false},
      {"a class among numbers", "0.15,0.25,1", "ffk", false},
      {"a row with a missing value", "0.15,?,yes", "ffy", false},
      {"a date in a row", "2024-01-15,0.35,yes", "dfy", false},
      {"a currency in a row", "$15.50,yes", "cy", false},
      {"exponents", "1.15e-05,1.5e-05,yes", "eey", false},
      {"negative numbers", "-1,-2,-3", "www", false},
      {"a class that no other row has", "0.15,0.25,maybe", "ffy", false, true},
      {"texts that recur", "yes,no", "yy", false, true},
      {"a count above whole numbers", "0,1,2,3", "wwww", true, true},
      {"two numbers that count", "0,1", "ww", false, true},
      {"equal texts", "q,q,r", "ttt", true, true},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.what);
    const CsvTable table = read(c.first, c.below);
    EXPECT_EQ(table.has_header(), c.has_names);
    EXPECT_EQ(table.is_header_doubtful(), c.is_doubtful);
    EXPECT_EQ(table.rows(), c.has_names ? 60U : 61U);
    EXPECT_EQ(table.header()[0], c.has_names ? c.first.substr(0, c.first.find(',')) : "c0");
  }
}

TEST(CsvHeader, KeepsAllRowsBelowTheNames) {
  const auto table = parse_csv("1,2\n0.5,0.25\n0.75,1.5\n", {.header_rule = HeaderRule::kTypesBelow});
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(table->header(), (std::vector<std::string>{"1", "2"}));
  ASSERT_EQ(table->rows(), 2U);
  EXPECT_EQ(table->cell(0, 0), "0.5");
  EXPECT_EQ(table->cell(0, 1), "0.25");
  EXPECT_EQ(table->cell(1, 1), "1.5");
}

TEST(CsvHeader, KnownNamesDecideFirst) {
  EXPECT_FALSE(read("5,17,no", "wwy").has_header());
  EXPECT_TRUE(read("5,17,no", "wwy", {"5", "17", "answer"}).has_header());
  EXPECT_FALSE(read("5,17,no", "wwy", {"5", "a", "b"}).has_header());
}

TEST(CsvHeader, OptionAndTheFirstRuleDoNotCompare) {
  const std::string text = "0,1,target\n0.5,0.25,yes\n";
  const auto by_first_rule = parse_csv(text);
  ASSERT_TRUE(by_first_rule.ok());
  EXPECT_FALSE(by_first_rule->has_header());
  const auto declared = parse_csv(text, {.header = false, .header_rule = HeaderRule::kTypesBelow});
  ASSERT_TRUE(declared.ok());
  EXPECT_FALSE(declared->has_header());
  EXPECT_FALSE(declared->is_header_doubtful());
  EXPECT_EQ(declared->rows(), 2U);
}

}  // namespace
}  // namespace lanista::formats

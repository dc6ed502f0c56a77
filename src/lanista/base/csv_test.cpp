#include "lanista/base/csv.h"

#include <gtest/gtest.h>

#include "lanista/base/rng.h"

namespace lanista::formats {
namespace {

using Row = std::vector<std::string>;

std::vector<Row> rows_of(const CsvTable& table) {
  std::vector<Row> rows(table.rows());
  for (std::size_t r = 0; r < table.rows(); ++r) {
    for (std::size_t c = 0; c < table.columns(); ++c) rows[r].emplace_back(table.cell(r, c));
  }
  return rows;
}

void expect_broken(const std::string& text, const std::string& what, const CsvOptions& options = {}) {
  const auto result = parse_csv(text, options);
  ASSERT_FALSE(result.ok()) << text;
  EXPECT_EQ(result.error().code, Code::kDataLoss);
  EXPECT_NE(result.error().message.find(what), std::string::npos) << result.error().message;
}

TEST(Csv, ReadsAHeaderAndRows) {
  const auto table = parse_csv("a,b\n1,x\n2,y\n");

  ASSERT_TRUE(table.ok());
  EXPECT_EQ(table->header(), (Row{"a", "b"}));
  EXPECT_EQ(rows_of(*table), (std::vector<Row>{{"1", "x"}, {"2", "y"}}));
}

TEST(Csv, ReadsFirstLineWithNumberAsData) {
  for (const std::string first : {"1,x", "x, -2.5e3 ", "x,+7"}) {
    const auto table = parse_csv(first + "\n2,y\n");
    ASSERT_TRUE(table.ok());
    EXPECT_EQ(table->header(), (Row{"c0", "c1"}));
    EXPECT_EQ(table->rows(), 2U);
  }
  const auto parsed = parse_csv("1,x\n2,y\n", {.separator = 0, .header = true});
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->header(), (Row{"1", "x"}));
  const auto none = parse_csv("a,b\n", {.separator = 0, .header = false});
  ASSERT_TRUE(none.ok());
  EXPECT_EQ(none->rows(), 1U);
}

TEST(Csv, FindsTheSeparator) {
  for (const char separator : {',', ';', '\t'}) {
    const std::string s(1, separator);
    const auto table = parse_csv("a" + s + "\"b,;,;,;\"" + s + "c\n1" + s + "2" + s + "3");
    ASSERT_TRUE(table.ok()) << table.error().message;
    EXPECT_EQ(table->header().size(), 3U);
  }
  const auto parsed = parse_csv("a,b|c\n", {.separator = '|', .header = std::nullopt});
  ASSERT_TRUE(parsed.ok());
  EXPECT_EQ(parsed->header(), (Row{"a,b", "c"}));
}

TEST(Csv, FindsBarsAndNamedSeparatorsIfAsked) {
  const auto header_of = [](std::string_view text, CsvOptions options) {
    const auto table = parse_csv(text, options);
    return table ? table->header() : std::vector<std::string>{table.error().message};
  };
  using Names = std::vector<std::string>;
  const CsvOptions later{.finds_separator = true};
  EXPECT_EQ(header_of("a|b\nx|y\n", later), (Names{"a", "b"}));
  EXPECT_EQ(header_of("a|b\nx|y\n", {}), (Names{"a|b"}));
  EXPECT_EQ(header_of("a|b,c|d\nx,y\n", later), (Names{"a|b", "c|d"}));
  EXPECT_EQ(header_of("sep=;\r\na;b,c\r\n1;2\r\n", later), (Names{"a", "b,c"}));
  EXPECT_EQ(header_of("sep=|\na|b\n1\n", later), (Names{"csv: line 3: 1 cells, the first line has 2"}));
  const CsvOptions blanks{.separator = ' ', .joins_blanks = true};
  const auto joined = parse_csv("  a  b \n\n 1   \"2  3\"\n4 5", blanks);
  ASSERT_TRUE(joined.ok());
  EXPECT_EQ(joined->header(), (Names{"a", "b"}));
  EXPECT_EQ(joined->rows(), 2U);
  EXPECT_EQ(joined->cell(0, 1), "2  3");
}

TEST(Csv, ReadsQuotedCells) {
  const auto table = parse_csv("a,b\n\"x, \"\"y\"\"\",\"two\nlines\"\n\"\",\n");

  ASSERT_TRUE(table.ok()) << table.error().message;
  EXPECT_EQ(rows_of(*table), (std::vector<Row>{{"x, \"y\"", "two\nlines"}, {"", ""}}));
}

TEST(Csv, ReadsTheSameTableWithEveryLineEndAndAByteOrderMark) {
  for (const std::string text : {"a,b\n1,2\n", "a,b\r\n1,2\r\n", "a,b\r1,2",
                                 "\xEF\xBB\xBF"
                                 "a,b\n\n1,2\n\n"}) {
    const auto table = parse_csv(text);
    ASSERT_TRUE(table.ok());
    EXPECT_EQ(table->header(), (Row{"a", "b"}));
    EXPECT_EQ(rows_of(*table), (std::vector<Row>{{"1", "2"}}));
  }
}

TEST(Csv, NamesLineOfError) {
  expect_broken("a,b\n1,2\n3\n", "line 3: 1 cells, the first line has 2");
  expect_broken("a,b\r\n1,2\r\n\r\n3,4,5\r\n", "line 4: 3 cells");
  expect_broken("a,b\n\"x\ny\",2\n3,4,\n", "line 4: 3 cells");
  expect_broken("a,b\n1,x\"y\n", "line 2: a quote inside");
  expect_broken("a,b\n1,\"x\"y\n", "line 2: 'y' after a closing quote");
  expect_broken("a,b\n1,2\n1,\"xy\n3,4\n", "line 3: a quote is opened here");
  expect_broken(std::string("a,b\n1,\0\n", 8), "line 2: a zero byte");
  expect_broken("", "no rows");
  expect_broken("\n\n", "no rows");
  expect_broken(
      "\xFF\xFE"
      "a",
      "UTF-16");
  expect_broken("a,b\n1,caf\xE9\n", "line 2: the text is not UTF-8");
  expect_broken(std::string(10'000, ','), "line 1: more than 10000 columns");
}

std::string quoted_text(const CsvTable& table) {
  std::vector<Row> rows = rows_of(table);
  rows.insert(rows.begin(), table.header());
  std::string text;
  for (const Row& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) {
      text += c == 0 ? "\"" : ",\"";
      for (const char byte : row[c]) text += byte == '"' ? "\"\"" : std::string(1, byte);
      text += '"';
    }
    text += '\n';
  }
  return text;
}

TEST(Csv, RoundTripsRandomTextThroughQuoting) {
  Rng rng(7);
  int whole = 0;
  for (int round = 0; round < 5000; ++round) {
    std::string text;
    for (std::uint64_t n = rng.below(40); n-- > 0;) text += "\",;\t\r\n1a "[rng.below(9)];
    const auto table = parse_csv(text);
    if (!table) continue;
    ++whole;
    const auto reread = parse_csv(quoted_text(*table), {.separator = ',', .header = true});
    ASSERT_TRUE(reread) << reread.error().message;
    ASSERT_EQ(reread->header(), table->header());
    ASSERT_EQ(rows_of(*reread), rows_of(*table));
  }
  EXPECT_GT(whole, 50);
}

}  // namespace
}  // namespace lanista::formats

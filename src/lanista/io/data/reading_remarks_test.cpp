// Tables as programs write them: indices, booleans, names with special characters, separators; and warnings for users.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "lanista/io/data/catalog.h"
#include "lanista/io/data/columns.h"
#include "lanista/io/data/dataset.h"
#include "lanista/io/data/export.h"
#include "lanista/io/data/raw_input.h"
#include "lanista/io/data/source.h"
#include "lanista/io/data/undefined_metrics.h"
#include "support/io/data/test_support.h"

namespace lanista::data {
namespace {

using Names = std::vector<std::string>;

class ReadingRemarks : public RuledDataTest {
 protected:
  /// Rows with what `cells` returns for each row, and a class that alternates in pairs.
  template <class Cells>
  static std::string rows(const std::string& header, int count, Cells cells) {
    std::string out = header + "\n";
    for (int i = 0; i < count; ++i) out += cells(i) + (i / 2 % 2 == 0 ? ",a\n" : ",b\n");
    return out;
  }
  void expect_refused(const Result<Dataset>& set, const std::string& message) {
    ASSERT_FALSE(set.ok());
    EXPECT_TRUE(mentions(set.error().message, message)) << set.error().message;
  }
};

TEST_F(ReadingRemarks, ColumnsThatCountRowsAreNamed) {
  const auto counting = [&](const std::string& name, int first, int count, int step = 1) {
    return rows(name + ",x,y", count, [&](int i) {
      return std::to_string(first + i * step % count) + "," + std::to_string(i * 7 % 5) + ".5";
    });
  };
  const std::string unnamed = warnings(table(counting("", 0, 30)));
  EXPECT_TRUE(mentions(unnamed, "column 0, which has no name: it counts the rows")) << unnamed;
  EXPECT_TRUE(mentions(unnamed, "drop=0 leaves it out")) << unnamed;
  EXPECT_TRUE(mentions(warnings(table(counting("", 0, 30, 7))), "another whole number"));
  EXPECT_TRUE(mentions(warnings(table(counting("Unnamed: 0", 5, 8))), "drop=Unnamed: 0 leaves it out"));
  EXPECT_TRUE(mentions(warnings(table(counting("index", 1, 8))), "column \"index\": it counts the rows"));
  EXPECT_TRUE(mentions(warnings(table(counting("no", 1, 30))), "column \"no\": it counts the rows"));
  for (const std::string name : {"id", "user_id", "PassengerId", "row ID"}) {
    EXPECT_TRUE(mentions(warnings(table(counting(name, 1000, 30, 7))), "another whole number, as an identifier has"));
  }
  EXPECT_EQ(warnings(table(counting("grid", 1000, 30, 7))), "");
  EXPECT_EQ(warnings(table(counting("id", 1000, 12, 7))), "");
  for (const std::string& silent :
       {warnings(table(counting("no", 1, 19))), warnings(table(counting("no", 2, 30))),
        warnings(table(counting("no", 0, 30, 7))), warnings(table(counting("", 0, 30), "?drop=0")),
        warnings(table(counting("", 0, 30), "?numeric=0")),
        warnings(table(counting("", 0, 30), "", study::kFirstRules))}) {
    EXPECT_EQ(silent, "");
  }
}

TEST_F(ReadingRemarks, CountersRestartInATestFile) {
  const auto text = rows("id,x,y", 30, [](int i) { return std::to_string(i) + "," + std::to_string(i % 3) + ".5"; });
  write("test.csv", text);
  EXPECT_TRUE(mentions(warnings(table(text, "?test=test.csv")), "column \"id\": it counts the rows"));
}

TEST_F(ReadingRemarks, NewRowsWithoutTheUnnamedColumnAreExplained) {
  const auto set =
      table(rows(",x,y", 30, [](int i) { return std::to_string(i) + "," + std::to_string(i % 3) + ".5"; }));
  ASSERT_TRUE(set.ok());
  write("new.csv", "x\n1.5\n");
  const auto raw = read_raw(set->spec(), folder_ + "/new.csv", real_file_system());
  ASSERT_FALSE(raw.ok());
  EXPECT_TRUE(mentions(raw.error().message, "which has no name in the data set")) << raw.error().message;
}

TEST_F(ReadingRemarks, NamesOfClassesAreContent) {
  const auto of = [&](const std::string& one, const std::string& other, std::int64_t rules) {
    std::string text = "x,y\n";
    for (int i = 0; i < 40; ++i) text += std::to_string(i % 7) + ".5," + (i % 2 == 0 ? one : other) + "\n";
    const auto set = table(text, "", rules);
    EXPECT_TRUE(set.ok());
    return set->spec().hash;
  };
  EXPECT_NE(of("no", "yes", 2), of("no", "zes", 2)) << "the model of one would predict the names of the other";
  EXPECT_EQ(of("no", "yes", 1), of("no", "zes", 1)) << "studies of version 0.1";
  EXPECT_EQ(of("0", "1", 1), of("0", "1", 2)) << "numbers of classes are no names";
}

TEST_F(ReadingRemarks, NewRowsForColumnsWithoutNamesMayHaveThem) {
  std::string text;
  for (int i = 0; i < 40; ++i) text += std::to_string(i % 7) + ".25," + std::to_string(i % 5) + ".5," + "1.75\n";
  const auto set = table(text, "?task=numbers");
  ASSERT_TRUE(set.ok()) << set.error().message;
  const auto read = [&](const std::string& rows, const std::string& options) {
    write("new.csv", rows);
    return read_raw(set->spec(), "csv:" + folder_ + "/new.csv" + options, real_file_system());
  };
  const auto numeric = read("0,1,2\n1.5,2.25,1\n3.5,4.25,2\n5.5,4.5,3\n", "");
  ASSERT_TRUE(numeric.ok()) << numeric.error().message;
  EXPECT_EQ(numeric->rows(), 4);
  ASSERT_FALSE(numeric->data_warnings.empty());
  EXPECT_TRUE(mentions(numeric->data_warnings[0], "header=yes leaves it out")) << numeric->data_warnings[0];
  for (const char* names : {"0,1,2", "a,b,c", "c0,c1,c2"}) {
    const auto named = read(std::string(names) + "\n1.5,2.25,1\n3.5,4.25,2\n5.5,4.5,3\n", "?header=yes");
    ASSERT_TRUE(named.ok()) << names << ": " << named.error().message;
    EXPECT_EQ(named->rows(), 3) << names;
    EXPECT_EQ(named->targets, (std::vector<float>{1, 2, 3})) << names;
  }
  EXPECT_EQ(read("c0,c1\n1,2\n", "")->rows(), 1) << "the names that the columns have";
  const auto texts = read("a,b\n1,2\n3,4\n", "");
  ASSERT_FALSE(texts.ok()) << "the names are no numbers";
}

TEST_F(ReadingRemarks, NewRowsWithATargetButWithoutNamesAreExplained) {
  const auto set =
      table(rows("u,v,y", 30, [](int i) { return std::to_string(i % 7) + ".5,1." + std::to_string(i % 3); }));
  ASSERT_TRUE(set.ok());
  write("new.csv", "1.5,1.0,a\n2.5,1.1,b\n3.5,1.2,a\n");
  const auto raw = read_raw(set->spec(), "csv:" + folder_ + "/new.csv?header=no", real_file_system());
  ASSERT_FALSE(raw.ok());
  EXPECT_TRUE(mentions(raw.error().message, "has no names: add them, or give these columns alone"))
      << raw.error().message;
}

// 7 levels of 6 links are 335,922 folders.
TEST_F(ReadingRemarks, FoldersBehindManyLinksAreRefused) {
  namespace fs = std::filesystem;
  fs::create_directories(folder_ + "/set/cat");
  fs::create_directory(folder_ + "/set/dog");
  for (int level = 0; level <= 7; ++level) fs::create_directory(folder_ + "/" + std::to_string(level));
  for (int level = 1; level <= 7; ++level) {
    for (int link = 0; link < 6; ++link) {
      fs::create_directory_symlink(folder_ + "/" + std::to_string(level),
                                   folder_ + "/" + std::to_string(level - 1) + "/" + std::to_string(link));
    }
  }
  fs::create_directory_symlink(folder_ + "/0", folder_ + "/set/cat/all");
  expect_refused(get("folder:set"), "more than 50000 folders");
}

TEST_F(ReadingRemarks, OneTextForMissingNumbersIsNamed) {
  const auto of = [&](int numbers, std::int64_t rules) {
    return warnings(
        table(rows("v,y", 120,
                   [&](int i) { return i % 3 == 0 ? std::string("unknown") : std::to_string(i % numbers) + ".5"; }),
              "", rules));
  };
  EXPECT_TRUE(mentions(of(50, 2), "missing=unknown")) << of(50, 2);
  EXPECT_FALSE(mentions(of(4, 2), "missing=unknown")) << "few numbers may be categories";
  EXPECT_FALSE(mentions(of(50, 1), "missing=unknown"));
}

TEST_F(ReadingRemarks, SpellingsOfBooleansAreOneValueEach) {
  const Names mixed{"FALSE", "TRUE", "false", "true", "True", "NA"};
  const auto text = [](const Names& cells) {
    return rows("x,b,y", 60, [&](int i) {
      return std::to_string(i % 7) + ".5," + cells[static_cast<std::size_t>(i) * 5 / 3 % cells.size()];
    });
  };
  const auto columns = [](const Result<Dataset>& set) {
    return set.ok() ? *parse_columns(set->spec().schema.at("columns")) : std::vector<Column>(2);
  };
  EXPECT_EQ(columns(table(text(mixed)))[1].categories, (Names{"False", "True"}));
  EXPECT_EQ(columns(table(text(mixed)))[1].unique, 2);
  EXPECT_EQ(columns(table(text({"TRUE", "FALSE"})))[1].categories, (Names{"FALSE", "TRUE"}));
  EXPECT_EQ(columns(table(text({"true", "TRUE", "yes"})))[1].categories, (Names{"TRUE", "true", "yes"}));
  EXPECT_EQ(columns(table(text(mixed), "", study::kFirstRules))[1].categories.size(), 5U);
  write("s.json", R"({"columns": [{"name": "b", "kind": "category", "categories": ["true", "false"]}],
                      "target": {"name": "y"}})");
  const auto declared = table(text(mixed), "?schema=s.json");
  ASSERT_TRUE(declared.ok()) << declared.error().text();
  EXPECT_EQ(columns(declared)[0].unique, 2);

  const auto set = table(text({"True", "False"}));
  write("new.csv", "x,b\n1,TRUE\n1,false\n1,yes\n");
  const auto raw = read_raw(set->spec(), folder_ + "/new.csv", real_file_system());
  ASSERT_TRUE(raw.ok()) << raw.error().text();
  EXPECT_EQ(raw->unknown, 1);
  EXPECT_EQ(raw->features[1], 0);
  EXPECT_EQ(raw->features[2], 1);
  EXPECT_EQ(raw->features[4], 1);
}

TEST_F(ReadingRemarks, ClassesAndGroupsOfBooleansAreUnified) {
  const Names words{"TRUE", "False", "true", "FALSE"};
  std::string text = "x,g,y\n";
  for (std::size_t i = 0; i < 48; ++i) {
    text += std::to_string(i % 7) + ".5," + words[i / 3 % 4] + "," + words[(i * 7 + i / 4) % 4] + "\n";
  }
  const auto set = table(text, "?drop=g");
  ASSERT_TRUE(set.ok()) << set.error().text();
  EXPECT_EQ(set->spec().labels, (Names{"False", "True"}));
  write("new.csv", "x,y\n1,tRUE\n1,false\n");
  const auto raw = read_raw(set->spec(), folder_ + "/new.csv", real_file_system());
  ASSERT_TRUE(raw.ok()) << raw.error().text();
  EXPECT_EQ(raw->labels, (std::vector<std::int32_t>{1, 0}));
  EXPECT_EQ(table(text, "?drop=g", study::kFirstRules)->spec().labels.size(), 4U);
  expect_refused(table(text, "?group=g"), "group");  // two groups are too few for three parts
}

TEST_F(ReadingRemarks, NamesThatDifferInCaseHaveAWarning) {
  const Names words{"yes", "YES", "no", "NO"};
  const auto text = rows("x,c,y", 48, [&](int i) {
    return std::to_string(i % 7) + ".5," + words[static_cast<std::size_t>(i) * 3 / 2 % 4];
  });
  EXPECT_TRUE(mentions(warnings(table(text, "?drop=y&target=c")),
                       "classes \"NO\" and \"no\", \"YES\" and \"yes\" differ in upper"));
  EXPECT_TRUE(mentions(warnings(table(text)), "column \"c\": \"NO\" and \"no\", \"YES\" and \"yes\" differ in upper"));
  EXPECT_EQ(warnings(table(text, "", study::kFirstRules)), "");
}

TEST_F(ReadingRemarks, TargetsInAnotherNotationHaveAWarning) {
  std::string text = "x;y\n";
  for (int i = 0; i < 48; ++i) text += std::to_string(i % 7) + ";" + std::to_string(i % 9) + ",5\n";
  EXPECT_TRUE(
      mentions(warnings(table(text)), "target \"y\": these look like numbers such as \"0,5\"; decimal=, reads"));
  for (const std::string option : {"?decimal=,", "?task=classes"}) EXPECT_EQ(warnings(table(text, option)), "");
  EXPECT_EQ(warnings(table(text, "", study::kFirstRules)), "");
}

TEST_F(ReadingRemarks, CodesStandForSpecialCharacters) {
  EXPECT_EQ(unescaped("b%26c%2cd%3f%25%zz%4%00"), "b&c,d?%%zz%4%00");
  EXPECT_EQ(escaped("b&c,d%26"), "b%26c%2Cd%2526");
  EXPECT_EQ(unescaped(escaped("b&c,d%26")), "b&c,d%26");
  EXPECT_EQ(escaped("50%25 off"), "50%25 off");
  const auto text = rows("\"x,1\",b&c,d%26e,y", 24, [](int i) {
    return std::to_string(i % 7) + ".5," + std::to_string(i) + "," + std::to_string(i % 5);
  });
  const auto features = [](const Result<Dataset>& set) {
    return set.ok() ? feature_names(set->spec()) : Names{set.error().message};
  };
  EXPECT_EQ(features(table(text, "?drop=b%26c")), (Names{"x,1", "d%26e"}));
  EXPECT_EQ(features(table(text, "?drop=x%2C1,b%26c")), (Names{"d%26e"}));
  EXPECT_EQ(features(table(text, "?drop=x,1")), (Names{"b&c", "d%26e"}));
  EXPECT_EQ(features(table(text, "?drop=d%26e")), (Names{"x,1", "b&c"}));
  EXPECT_TRUE(mentions(warnings(table(text)), "drop=b%26c leaves it out"));
  expect_refused(table(text, "?drop=b&c"), "inside a name, & is written %26");
  expect_refused(table(text, "?target=9"), "with the numbers 0 to 3");
  expect_refused(table(text, "?drop=x,2,b%26c"), "inside a name, a comma is written %2C");
  expect_refused(table(text, "?target=b%26d"), "did you mean \"b%26c\"?");
  write("q?x=1,2.csv", text);
  EXPECT_TRUE(get("csv:q%3Fx=1,2.csv?target=y").ok());
  write("q%3Fx=1.csv", text);
  EXPECT_TRUE(get("csv:q%3Fx=1.csv?target=y").ok());
  expect_refused(get("csv:q?x=1,2.csv?target=y"), "? is written %3F");
  const auto prefixed = [](const std::string& path) { return "/R&D, all/" + path; };
  EXPECT_EQ(map_paths("csv:q%3F.csv?test=t.csv&target=y", prefixed),
            "csv:/R&D, all/q%3F.csv?test=/R%26D, all/t.csv&target=y");
  EXPECT_EQ(map_paths("npy:x.npy,y.npy", prefixed), "npy:/R&D%2C all/x.npy,/R&D%2C all/y.npy");
}

TEST_F(ReadingRemarks, BlanksAroundNamesAreNoPartOfThem) {
  const auto text = rows("a, b, y", 24, [](int i) { return std::to_string(i % 7) + ".5, " + std::to_string(i % 5); });
  const auto set = table(text, "?target=y");
  ASSERT_TRUE(set.ok()) << set.error().text();
  write("new.csv", "b,a\n1,2\n");
  EXPECT_TRUE(read_raw(set->spec(), folder_ + "/new.csv", real_file_system()).ok());
}

TEST_F(ReadingRemarks, UnknownKeysOfASchemaAreRefused) {
  const auto text = rows("a,b,y", 24, [](int i) { return std::to_string(i % 7) + ".5," + std::to_string(i % 5); });
  const auto with = [&](const std::string& schema, std::int64_t rules = study::kLatestRules) {
    write("s.json", schema);
    return table(text, "?schema=s.json", rules);
  };
  const std::string a = R"([{"name": "a", "kind": "number"}])", y = R"({"name": "y"})";
  const std::string misspelled = "{\"columns\": " + a + ", \"target\": {\"name\": \"y\", \"knid\": \"classes\"}}";
  expect_refused(with(misspelled), "the target: unknown key \"knid\", did you mean \"kind\"?");
  EXPECT_TRUE(with(misspelled, study::kFirstRules).ok());
  expect_refused(with("{\"columns\": " + a + ", \"target\": " + y + ", \"extra\": 1}"), "unknown key \"extra\"");
  expect_refused(with(R"({"columns": [{"name": "a", "kind": "number", "sclae": 7}], "target": )" + y + "}"),
                 "column \"a\": unknown key \"sclae\"");
  expect_refused(with(R"({"columns": [{"name": "a", "kind": "number", "scale": 7}], "target": )" + y + "}"),
                 "\"scale\" is computed from the rows");
  const auto set = table(text);
  EXPECT_TRUE(with(set->spec().schema.dump()).ok());
}

TEST_F(ReadingRemarks, SeparatorsAreFoundOrNamed) {
  const auto with = [](char separator, const std::string& first = "") {
    std::string text = rows("a,b,y", 24, [](int i) { return std::to_string(i % 7) + ".5," + std::to_string(i % 5); });
    std::ranges::replace(text, ',', separator);
    return first + text;
  };
  EXPECT_TRUE(table(with('|')).ok());
  EXPECT_FALSE(table(with('|'), "", study::kFirstRules).ok());
  EXPECT_TRUE(table(with(';', "sep=;\r\n")).ok());
  EXPECT_TRUE(table(with('\t', "\"sep=\t\"\n"), "?sep=tab").ok());
  expect_refused(table(with(' ')), "sep=space reads cells between blanks");
  expect_refused(table(with(':')), "sep=: names what stands between cells");
  const auto joined = table("  a   b  y  \n" + with(' ').substr(6) + "  7   1  a", "?sep=space");
  ASSERT_TRUE(joined.ok()) << joined.error().text();
  EXPECT_EQ(joined->spec().rows, 25);
  expect_refused(table(with(',', "# made by a tool\n")), "lines that begin with # are not left out");
  EXPECT_TRUE(mentions(warnings(table(with(',', "#"))), "begins with # and is read as names"));
  expect_refused(table("PK\x03\x04 and more \xFF"), "packed with zip; unpack it");
  expect_refused(table("PK\x03\x04 [Content_Types].xml \xFF"), "save the sheet as CSV");
  expect_refused(table("\xFD"
                       "7zXZ\xFF"),
                 "packed with xz");
  expect_refused(table("a,b,\n1,2,\n2,3,\n"), "target=NAME names another column");
}

TEST_F(ReadingRemarks, PartsWithoutAClassAreNamed) {
  std::string text = "a,g,y\n";
  for (int i = 0; i < 120; ++i) {
    text += std::to_string(i % 7) + ".5,p" + std::to_string(i % 5) + (i % 5 < 2 ? ",yes\n" : ",no\n");
  }
  const auto set = table(text, "?group=g");
  ASSERT_TRUE(set.ok()) << set.error().text();
  std::string found;
  for (const std::string& warning : part_class_warnings(*set)) found += warning + "\n";
  EXPECT_TRUE(mentions(found, "the test part has rows of class \"")) << found;
  EXPECT_TRUE(mentions(found, "alone, so a constant prediction is right")) << found;
  EXPECT_TRUE(part_class_warnings(*table(text, "?group=g", study::kFirstRules)).empty());
  EXPECT_TRUE(part_class_warnings(*table(text, "?drop=g")).empty());

  std::string sorted = "t,x,y\n";
  for (int i = 0; i < 120; ++i) {
    sorted += std::to_string(i) + "," + std::to_string(i % 7) +
              (i < 40   ? ",a\n"
               : i < 80 ? ",b\n"
               : i % 2  ? ",c\n"
                        : ",b\n");
  }
  const auto in_time = table(sorted, "?order=t");
  const auto lacking = part_class_warnings(*in_time);
  ASSERT_EQ(lacking.size(), 3U);
  EXPECT_TRUE(mentions(lacking[0], "the training part has no row of class \"c\"")) << lacking[0];
  EXPECT_TRUE(mentions(lacking[1], "the validation part has no row of class \"a\"")) << lacking[1];
}

TEST_F(ReadingRemarks, ExportKeepsNamesAndShortNumbers) {
  const auto text = rows("area,when,y", 24, [](int i) {
    return "0." + std::to_string(346 + i) + ",17000000" + std::to_string(10 + i) + ".25";
  });
  study::DataConfig config;
  write("t.csv", text);
  config.source = "csv:t.csv";
  auto raw = open_raw(config, folder_, real_file_system());
  ASSERT_TRUE(raw.ok()) << raw.error().text();
  const auto set = Dataset::make(std::move(raw->first), std::move(raw->second), "none", "raw");
  ASSERT_FALSE(set->spec().origin.empty());
  const auto files = export_rows(*set, {0, 1}, ExportFormat::kCsv);
  ASSERT_TRUE(files.ok());
  EXPECT_EQ(files->at("data.csv"), "area,when,y\r\n0.346,1700000010.25,a\r\n0.347,1700000011.25,a\r\n");
}

}  // namespace
}  // namespace lanista::data

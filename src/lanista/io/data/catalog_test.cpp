#include "lanista/io/data/catalog.h"

#include <algorithm>

#include "support/io/data/test_support.h"

namespace lanista::data {
namespace {

class Check : public InMemoryDataTest {
 protected:
  DataReport report(const std::string& source) {
    study::DataConfig config;
    config.source = source;
    const auto checked = check_source(config, "", disk_);
    EXPECT_TRUE(checked.ok()) << checked.error().text();
    return checked ? *checked : DataReport();
  }
};

// The text of a cell or a header never starts a line, and never controls a terminal.
TEST_F(Check, ShowsTextsOfAFileOnOneLineEach) {
  std::string table = "size,\"col\nour\",kind\n";
  for (int i = 0; i < 40; ++i) {
    table += std::to_string(i) + (i % 3 == 0 ? ",\"re\x1b[31md\nrows      9: 9 training\"," : ",blue,");
    table += i % 2 == 0 ? "\"a\nhash      0000\"\n" : "b\x1b]0;owned\x07\n";
  }
  write("t.csv", table);

  const std::string text = report("csv:t.csv").text();

  EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
  EXPECT_EQ(text.find('\x07'), std::string::npos) << text;
  EXPECT_EQ(text.find("\nhash      0000"), std::string::npos) << text;
  EXPECT_EQ(text.find("\nrows      9"), std::string::npos) << text;
  EXPECT_NE(text.find("\ncol?our  category  blue, re?[31md?rows"), std::string::npos) << text;
  EXPECT_NE(text.find("    a?hash      0000: "), std::string::npos) << text;
}

TEST(Catalog, ListsBuiltInDataAndSourceKinds) {
  const auto entries = catalog();

  EXPECT_EQ(entries.front().notation, "builtin:digits");
  EXPECT_EQ(entries.front().rows, 1797);
  EXPECT_EQ(entries.front().licence, "CC BY 4.0");
  EXPECT_EQ(entries.front().hash, "fb7ed6cc095478506d9efde4cb79e992");
  const std::string text = catalog_text(entries);
  for (const char* part : {"csv:FILE\n", "    header=auto|yes|no", "idx:FOLDER or idx:IMAGES,LABELS\n",
                           "1797 rows, CC BY 4.0, hash fb7ed6cc095478506d9efde4cb79e992"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  const auto json = catalog_json(entries);
  EXPECT_EQ(json.size(), entries.size());
  EXPECT_EQ(json[0]["rows"], 1797);
  EXPECT_EQ(json[1]["options"][0]["name"], "target");
}

TEST(MapPaths, FindsEveryPathAndKeepsTheOrder) {
  const auto mapped = [](const std::string& source) {
    return map_paths(source, [](const std::string& path) { return "<" + path + ">"; });
  };
  EXPECT_EQ(mapped("csv:t.csv?target=y&schema=s.json&drop=a,b"), "csv:<t.csv>?target=y&schema=<s.json>&drop=a,b");
  EXPECT_EQ(mapped("npy:x.npy,y.npy"), "npy:<x.npy>,<y.npy>");
  EXPECT_EQ(mapped("tokens:t.bin?dtype=u16&rows=3"), "tokens:<t.bin>?dtype=u16&rows=3");
  for (const char* same : {"builtin:digits", "synthetic:blobs?rows=9", "", "x", "zip:a", "csv:", "csv:?x", "idx:a?b"}) {
    EXPECT_EQ(mapped(same), same);
  }
}

TEST_F(Check, DescribesTheDigits) {
  const DataReport digits = report("builtin:digits");

  EXPECT_EQ(digits.min, 0);
  EXPECT_EQ(digits.max, 16);
  EXPECT_EQ(digits.class_rows[0], (std::array<std::int64_t, 3>{124, 27, 27}));
  EXPECT_EQ(digits.seen_test_rows, 0);
  EXPECT_EQ(digits.text().substr(0, digits.text().find("    0:")),
            "digits  (builtin:digits, CC BY 4.0)\n"
            "rows      1797: 1257 training, 270 validation, 270 test\n"
            "samples   [1, 8, 8], from 0 to 16\n"
            "classes   10 (training, validation, test)\n");
  EXPECT_EQ(digits.json()["data"]["name"], "digits");
  EXPECT_EQ(digits.json()["class_rows"].size(), 10U);
}

TEST_F(Check, WarnsOfUnusualData) {
  std::string text = "a,same,y\n";
  for (int i = 0; i < 120; ++i) {
    text += (i % 3 == 0 ? "?" : std::to_string(i % 5)) + std::string(",7,") + (i < 6 ? "rare" : "common") + "\n";
  }
  write("t.csv", text);

  const DataReport odd = report("csv:t.csv");

  EXPECT_EQ(odd.missing, 40);
  EXPECT_EQ(odd.constant_features, 1);
  EXPECT_EQ(odd.seen_test_rows, 18) << "six different rows, over and over";
  ASSERT_EQ(odd.warnings.size(), 4U);
  EXPECT_EQ(odd.warnings[0],
            "classes are unequal: \"common\" has 114 rows, \"rare\" has 6 (train.class_weights: balanced makes them "
            "count alike)");
  EXPECT_EQ(odd.warnings[1], "1 of 2 features are the same in all training rows");
  EXPECT_EQ(odd.warnings[2], "18 test rows have the features of a training row; the test will look better than it is");
  EXPECT_EQ(odd.warnings[3], "40 cells have no value");
  EXPECT_NE(odd.text().find("warning: 40 cells have no value\n"), std::string::npos);
  EXPECT_NE(odd.text().find("same  number    7 to 7; 1 different\n"), std::string::npos) << odd.text();
}

TEST_F(Check, DescribesNumbers) {
  write("t.csv", "a,y\n1,0.5\n2,-3.25\n3,1.5\n4,2.5\n5,3.5\n6,4.5\n7,5.5\n8,6.5\n9,7.5\n10,8.5\n");

  const DataReport numbers = report("csv:t.csv");

  EXPECT_EQ(numbers.target_min, -3.25);
  EXPECT_EQ(numbers.target_max, 8.5);
  EXPECT_NE(numbers.text().find("targets   1 number from -3.25 to 8.5\n"), std::string::npos) << numbers.text();
  EXPECT_TRUE(numbers.warnings.empty());
}

TEST_F(Check, FailsLikeOpen) {
  study::DataConfig config;
  config.source = "csv:none.csv";
  const auto checked = check_source(config, "", disk_);
  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(checked.error().code, Code::kNotFound);
}

}  // namespace
}  // namespace lanista::data

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "formats/formats.h"

// The formats in the sources must equal the tables in tests/formats.

namespace lanista::stored_formats {
namespace {

const std::string kRoot = LANISTA_SOURCE_DIR;

const Formats& formats_of_product() {
  static const Formats kFormats = formats_of(kRoot);
  return kFormats;
}

std::string text_of(const std::string& table) {
  std::ostringstream text;
  text << std::ifstream(kRoot + "/tests/formats/" + table + ".txt").rdbuf();
  return text.str();
}

void expect_equal_to_sources(const std::string& table) {
  std::vector<std::string> mistakes;
  const std::map<Format, int> rows = read_rows(text_of(table), mistakes);
  EXPECT_GT(rows.size(), 80U) << "the table tests/formats/" << table << ".txt is short or missing";
  for (const std::string& each : differences(rows, formats_of_product(), tables().at(table))) mistakes.push_back(each);
  for (const std::string& mistake : mistakes) ADD_FAILURE() << "tests/formats/" << table << ".txt: " << mistake;
}

TEST(Formats, HasARowForEachIdentity) { expect_equal_to_sources("identities"); }
TEST(Formats, HasARowForEachName) { expect_equal_to_sources("names"); }
TEST(Formats, HasARowForEachNumber) { expect_equal_to_sources("numbers"); }
TEST(Formats, HasARowForEachWord) { expect_equal_to_sources("words"); }

TEST(Formats, ReadsProductSourcesOnly) {
  std::vector<std::string> paths;
  for (const inventory::Source& source : product_sources(kRoot)) paths.push_back("/" + source.path);
  const auto has = [&](const std::string& name) {
    return std::ranges::any_of(paths, [&](const std::string& path) { return path.ends_with("/" + name); });
  };
  EXPECT_GT(paths.size(), 500U);
  EXPECT_TRUE(has("log.h"));
  EXPECT_FALSE(has("onnx_cases.cpp")) << "an entry of a list TESTS";
  EXPECT_FALSE(has("counting_backend.h")) << "the header of an entry of a list TESTS in another module";
  EXPECT_FALSE(has("fake_executor.cpp"));
}

Formats formats_in(const std::string& text) {
  Formats out;
  add_formats({"engine/x.cpp", text}, out);
  return out;
}

std::string rows_in(const std::string& text, const std::string& kind) { return rows_of(formats_in(text), {kind}); }

TEST(FormatScan, FindsChainsOfStreams) {
  EXPECT_EQ(rows_in(R"(
    constexpr std::uint64_t kSeed = 0x66;
    Rng a = Rng(kSeed).split("folds")
                      .split(number(i, 2));
    Rng b = Rng(config.run.seed).split("trial").split(trial.value);
    Rng c = rng->split("x" + name); Rng d = streams().split(i); auto e = words.split(text, ',');)",
                    "stream"),
            "stream | 1 | */trial/*\nstream | 1 | /*\nstream | 1 | /x*\nstream | 1 | 0x66/folds/*\n");
}

TEST(FormatScan, FindsHashedTextsAndDecisions) {
  EXPECT_EQ(rows_in(R"(
    hasher.number(2).text("lanista data 1").text(name); hash_text("a b" + c); return "file:" + sha256_hex(d);
    args.text("mode", "none");)",
                    "hashed text"),
            "hashed text | 1 | a b*\nhashed text | 1 | file:*\nhashed text | 1 | lanista data 1\n");
  EXPECT_EQ(rows_in(R"(choose.one_of("site", sites); choose->index("base", n); choice("block" + i, x); value.index();)",
                    "decision"),
            "decision | 1 | base\ndecision | 1 | block*\ndecision | 1 | site\n");
}

TEST(FormatScan, FindsNamesOfValuesAndEvents) {
  EXPECT_EQ(rows_in(R"(
    {{Kind::kStopped, "stopped"}, {kEnded, "ended"}, {kBad, "a message"}};
    case Kind::kOpen: return "open"; x == Kind::kA ? "a" : "b";)",
                    "name of a value"),
            "name of a value | 1 | a\nname of a value | 1 | b\nname of a value | 1 | ended\n"
            "name of a value | 1 | open\nname of a value | 1 | stopped\n");
  EXPECT_EQ(rows_in(R"(line["event"] = "proposed"; json{{"event", "begin"}}; warn("log_cut", {});)", "event"),
            "event | 1 | begin\nevent | 1 | log_cut\nevent | 1 | proposed\n");
}

TEST(FormatScan, FindsNumbers) {
  const std::string source = R"(
    enum class Wire : std::uint16_t { kHello = 1, kReady, kWord = 0x40 };  enum class ElementType { kF32, kF64 };
    constexpr int kNew = 3, kOldSchema = 2; constexpr int kPackageSchema = kNew;
    constexpr std::string_view kMagic{"\x93NUMPY"}; constexpr int kMost = 5;  json out{{"v", 2}};)";
  EXPECT_EQ(rows_in(source, "enumerator"),
            "enumerator | 1 | ElementType::kF32 = 0\nenumerator | 1 | ElementType::kF64 = 1\n"
            "enumerator | 1 | Wire::kHello = 1\nenumerator | 1 | Wire::kWord = 0x40\n");
  EXPECT_EQ(rows_in(source, "version"),
            "version | 1 | \"v\" = 2\nversion | 1 | kOldSchema = 2\nversion | 1 | kPackageSchema = 3\n");
  EXPECT_EQ(rows_in(source, "magic"), "magic | 1 | \\x93NUMPY\n");
}

TEST(FormatScan, FindsLiterals) {
  const std::string source =
      "auto a = R\"(CREATE TABLE t(\n  x TEXT);\nCREATE INDEX i ON t(x);\n)\";\n"
      "#include \"no.h\"\n// \"no\"\n"
      "b = \"own-2/fma\"; c = \"/log/lock\"; d = \"two words\"; e = R\"({\"event\":1)\"; f = \"word\";";
  EXPECT_EQ(rows_in(source, "sql"), "sql | 1 | CREATE INDEX i ON t(x)\nsql | 1 | CREATE TABLE t( x TEXT)\n");
  EXPECT_EQ(rows_in(source, "numeric class"), "numeric class | 1 | own-2/fma\n");
  EXPECT_EQ(rows_in(source, "file name"), "file name | - | /log/lock\n");
  EXPECT_EQ(rows_in(source, "json text"), "json text | 1 | {\"event\":1\n");
  EXPECT_EQ(rows_in(source, "word"), "word | - | word\n");
}

TEST(FormatTable, ReadsTheRowsThatItWrites) {
  const Formats formats = formats_in(R"(h.text(""); h.text(" " + a); h.text("a | b"); h.text("c").text("c");)");
  std::vector<std::string> mistakes;
  const std::string text = rows_of(formats, {"hashed text"});
  EXPECT_EQ(differences(read_rows(text, mistakes), formats, {"hashed text"}), std::vector<std::string>());
  EXPECT_EQ(mistakes, std::vector<std::string>());
  EXPECT_EQ(text, "hashed text | 1 | \"\"\nhashed text | 1 | \" *\"\nhashed text | 1 | a | b\nhashed text | 2 | c\n");
}

TEST(FormatTable, ReportsNewChangedAndMissingRows) {
  std::vector<std::string> mistakes;
  const auto rows = read_rows("# comment\nstream | 2 | /a\nstream | 1 | /b\nstream | 1\nstream | 1 | /b\n", mistakes);
  EXPECT_EQ(mistakes, (std::vector<std::string>{"line 4 is 'stream | 1'; it must be KIND | COUNT | VALUE",
                                                "line 5 is a second row for '/b'"}));
  const auto found = differences(rows, formats_in(R"(r.split("a"); r.split("c");)"), {"stream"});
  EXPECT_EQ(found, (std::vector<std::string>{"the count was 2: 'stream | 1 | /a' in engine/x.cpp",
                                             "new: 'stream | 1 | /c' in engine/x.cpp",
                                             "gone: 'stream | 1 | /b'; stored files still have it"}));
}

}  // namespace
}  // namespace lanista::stored_formats

#include "lanista/io/data/spec.h"

#include <cmath>

#include "lanista/io/data/raw_input.h"
#include "lanista/io/data/unfitted_spec.h"
#include "support/io/data/test_support.h"

namespace lanista::data {
namespace {

class Spec : public InMemoryDataTest {
 protected:
  DataSpec spec_of(const std::string& source) {
    write("t.csv",
          "length,colour,species\n1,red,x\n2.5,blue,y\n,red,x\n4,green,y\n5,red,x\n6,blue,y\n7,red,x\n8,blue,y\n");
    const auto set = get(source);
    EXPECT_TRUE(set.ok()) << set.error().text();
    return set ? set->spec() : DataSpec();
  }
  static nlohmann::json round_trip(const DataSpec& spec) {
    const auto parsed = parse_spec(spec_json(spec));
    return parsed ? spec_json(*parsed) : nlohmann::json(parsed.error().text());
  }
};

TEST_F(Spec, RoundTripsThroughJson) {
  for (const char* source : {"builtin:digits", "csv:t.csv", "synthetic:regression?rows=20"}) {
    const DataSpec spec = spec_of(source);
    EXPECT_EQ(round_trip(spec), spec_json(spec)) << source;
  }
}

TEST_F(Spec, NamesInvalidEntry) {
  const nlohmann::json digits = spec_json(spec_of("builtin:digits")), table = spec_json(spec_of("csv:t.csv"));
  const auto refused = [](nlohmann::json json, const char* pointer, const nlohmann::json& value) {
    json[nlohmann::json::json_pointer(pointer)] = value;
    const auto parsed = parse_spec(json);
    if (parsed) return std::string("accepted");
    EXPECT_EQ(parsed.error().code, Code::kDataLoss);
    return parsed.error().message;
  };
  const std::string prefix = "data specification: ";
  EXPECT_EQ(parse_spec(nlohmann::json(3)).error().message, prefix + "is no object");
  EXPECT_EQ(refused(digits, "/name", 3), prefix + "\"name\" is missing or of another kind");
  EXPECT_EQ(refused(digits, "/hash", "xyz"), prefix + "\"hash\" is \"xyz\", expected 32 hexadecimal digits");
  EXPECT_EQ(refused(digits, "/labels", {"a"}), prefix + "1 labels for 10 classes");
  EXPECT_EQ(refused(digits, "/features", nlohmann::json::array()), prefix + "\"features\" is empty");
  for (const nlohmann::json& dims : {nlohmann::json{0, 8}, {-1, 64}, {1LL << 40, 1LL << 40}}) {
    EXPECT_NE(refused(digits, "/features", dims).find("is no shape of at most"), std::string::npos);
  }
  EXPECT_EQ(refused(digits, "/target_size", 0), prefix + "there are neither classes nor numbers to predict");
  EXPECT_EQ(refused(digits, "/normalization/mean", {1, 2, 3}),
            "normalization: 3 means and 1 scales do not fit 64 features");
  EXPECT_EQ(refused(table, "/schema/columns/0/kind", "text"),
            "schema: column 0: \"kind\" is \"text\", allowed are number, category and date");
  EXPECT_EQ(refused(table, "/schema/columns/0/mean", "x"), "schema: column 0: \"mean\" is no finite number");
  EXPECT_EQ(refused(table, "/schema/columns/1/categories", {"b", "a"}),
            "schema: column 1: \"categories\" are not sorted, or one stands twice");
  EXPECT_EQ(refused(table, "/schema/columns/1/categories", {"a"}), prefix + "the columns make 2 features, not [4]");
  EXPECT_EQ(refused(table, "/schema/target", nullptr), prefix + "\"name\" is missing or of another kind");
}

TEST_F(Spec, ListsReplacementsOfMissingNumbers) {
  const DataSpec table = spec_of("csv:t.csv");
  double sum = 0;
  const auto set = get("csv:t.csv", "none");
  ASSERT_TRUE(set.ok());
  std::vector<float> features(4);
  std::int64_t present = 0;
  for (const std::int64_t row : set->rows(Part::kTrain)) {
    set->gather_features({&row, 1}, features);
    if (row == 2) continue;  // its length is missing
    sum += double{features[0]};
    ++present;
  }
  const std::vector<double> stands = missing_numbers(table);
  ASSERT_EQ(stands.size(), 4U);
  EXPECT_DOUBLE_EQ(stands[0], sum / static_cast<double>(present));
  EXPECT_EQ(std::vector<double>(stands.begin() + 1, stands.end()), std::vector<double>(3, 0));
  EXPECT_TRUE(missing_numbers(spec_of("builtin:digits")).empty());

  // Raw data keep gaps, also after the text form.
  const DataSpec raw = *parse_spec(spec_json(spec_without_fitted_stats(table)));
  EXPECT_EQ(raw.normalization, Normalization());
  EXPECT_EQ(raw.features, table.features);
  EXPECT_EQ(feature_names(raw), feature_names(table));
  EXPECT_TRUE(unseen_features(raw).empty());
  write("gap.csv", "length,colour\n,red\n2,\n");
  const auto gap = read_raw(raw, "gap.csv", disk_);
  ASSERT_TRUE(gap.ok()) << gap.error().text();
  EXPECT_TRUE(std::isnan(gap->features[0]));
  EXPECT_EQ(std::vector<float>(gap->features.begin() + 1, gap->features.end()),
            (std::vector<float>{0, 0, 1, 2, 0, 0, 0}));
}

TEST_F(Spec, ListsFeatureNamesInOrder) {
  EXPECT_EQ(feature_names(spec_of("csv:t.csv")),
            (std::vector<std::string>{"length", "colour=blue", "colour=green", "colour=red"}));
  EXPECT_TRUE(feature_names(spec_of("builtin:digits")).empty());
  write("d.csv",
        "day,y\n2020-01-01,1.5\n2021-02-03,2.5\n2021-05-06,3.5\n2022-07-01,4.5\n2023-01-08,5.5\n2020-06-05,6.5\n");
  const auto dated = get("csv:d.csv?dates=day&target=y");
  ASSERT_TRUE(dated.ok()) << dated.error().text();
  const auto names = feature_names(dated->spec());
  ASSERT_EQ(std::ssize(names), dated->spec().features.elements_per_sample());
  EXPECT_EQ(names.front(), "day.year");
}

TEST_F(Spec, SchemasAreReadable) {
  EXPECT_EQ(schema_text(spec_of("csv:t.csv")),
            "length   number    1 to 8; 7 different, 1 missing (become the mean)\n"
            "colour   category  blue, green, red; 3 different\n"
            "species  target    2 classes: x, y\n");
  EXPECT_EQ(schema_text(spec_of("builtin:digits")),
            "samples [1, 8, 8], target 10 classes: 0, 1, 2, 3, 4, 5, 6, 7, … (10)\n");
  const std::string numbers = schema_text(spec_of("synthetic:regression"));
  EXPECT_TRUE(numbers.starts_with("samples [8], target 1 number, standardised (mean ")) << numbers;
}

TEST_F(Spec, TheHashCoversNumbersSplitNormalisationAndSchema) {
  const std::string text = "a,b,y\n1,u,p\n2,v,q\n3,u,p\n4,v,q\n5,u,p\n6,v,q\n7,u,p\n8,v,q\n";
  const auto hash = [&](std::string table, const char* normalize = "auto",
                        std::array<double, 3> split = {0.5, 0.25, 0.25}) {
    write("h.csv", table);
    const auto set = get("csv:h.csv", normalize, split);
    EXPECT_TRUE(set.ok()) << set.error().text();
    return set ? set->spec().hash.hex() : std::string();
  };
  const auto with = [&](std::string from, const std::string& to) {
    std::string out = text;
    for (std::size_t at = 0; (at = out.find(from, at)) != std::string::npos; at += to.size())
      out.replace(at, from.size(), to);
    return out;
  };
  const std::string own = hash(text);

  EXPECT_EQ(hash(text), own);
  EXPECT_NE(hash(with("8,v,q", "9,v,q")), own);
  EXPECT_NE(hash(with("u", "t")), own) << "the category has another name";
  EXPECT_NE(hash(with("1,u,p", "1,u,q")), own);
  EXPECT_NE(hash(text, "none"), own);
  EXPECT_NE(hash(text, "auto", {0.75, 0.25, 0}), own);
}

}  // namespace
}  // namespace lanista::data

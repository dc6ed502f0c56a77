// Targets that are numbers, as training uses them.
#include <cmath>
#include <limits>

#include "lanista/base/rng.h"
#include "lanista/io/formats/npy.h"
#include "support/io/data/test_support.h"

namespace lanista::data {
namespace {

constexpr std::int64_t kRows = 40;

class Targets : public InMemoryDataTest {
 protected:
  Result<Dataset> with(const std::string& source, const std::string& targets) {
    study::DataConfig config;
    config.source = source;
    config.split = {0.5, 0.25, 0.25};
    config.targets = targets;
    return open(config, "", disk_);
  }
  /// kRows rows of two features and `width` targets, each with its own scale.
  void write_arrays(const std::vector<float>& targets, std::int64_t width) {
    std::vector<float> x;
    Rng rng(2);
    for (std::int64_t i = 0; i < 2 * kRows; ++i) x.push_back(static_cast<float>(rng.normal()));
    write("x.npy", formats::encode_npy(tensor_of(ElementType::kF32, {kRows, 2}, x)));
    write("y.npy", formats::encode_npy(tensor_of(ElementType::kF32, {kRows, width}, targets)));
  }
  Dataset arrays(const std::vector<float>& targets, std::int64_t width, const std::string& how = "auto") {
    write_arrays(targets, width);
    auto set = with("npy:x.npy,y.npy?task=numbers", how);
    EXPECT_TRUE(set.ok()) << set.error().text();
    return *std::move(set);
  }
  static std::vector<float> random_targets(Rng rng, std::int64_t width) {
    std::vector<float> out;
    for (std::int64_t i = 0; i < kRows * width; ++i) {
      const auto column = static_cast<double>(i % width);
      out.push_back(static_cast<float>(std::pow(10.0, 3 * column - 2) * (rng.normal() + 5 * column)));
    }
    return out;
  }
  static std::vector<float> seen(const Dataset& set) {
    std::vector<float> out(static_cast<std::size_t>(set.spec().rows * set.spec().target_size));
    set.gather_targets(all_rows(set), out);
    return out;
  }
};

// Compares with two passes in long double, with the rows in reverse order.
TEST_F(Targets, AreStandardisedByTrainingRows) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const auto width = static_cast<std::int64_t>(1 + seed % 4);
    const std::vector<float> raw = random_targets(Rng(seed).split("targets"), width);

    const Dataset set = arrays(raw, width);

    ASSERT_TRUE(set.spec().target_normalization);
    const auto& [mean, scale] = *set.spec().target_normalization;
    ASSERT_EQ(std::ssize(mean), width);
    ASSERT_EQ(std::ssize(scale), width);
    const std::vector<float> standard = seen(set);
    const auto& train = set.rows(Part::kTrain);
    for (std::int64_t k = 0; k < width; ++k) {
      const auto column = static_cast<std::size_t>(k);
      const auto at = [&](std::int64_t row) { return static_cast<std::size_t>(row * width + k); };
      long double sum = 0, squares = 0;
      for (auto row = train.rbegin(); row != train.rend(); ++row) sum += static_cast<long double>(raw[at(*row)]);
      const long double middle = sum / static_cast<long double>(train.size());
      for (auto row = train.rbegin(); row != train.rend(); ++row) {
        const long double away = static_cast<long double>(raw[at(*row)]) - middle;
        squares += away * away;
      }
      const long double deviation = std::sqrt(squares / static_cast<long double>(train.size()));
      EXPECT_NEAR(mean[column], static_cast<double>(middle),
                  1e-14 * std::abs(static_cast<double>(deviation)) + 1e-14 * std::abs(mean[column]));
      EXPECT_NEAR(scale[column], static_cast<double>(deviation), 1e-13 * static_cast<double>(deviation));
      for (std::int64_t row = 0; row < kRows; ++row) {
        const double exact = (static_cast<double>(raw[at(row)]) - mean[column]) / scale[column];
        EXPECT_EQ(standard[at(row)], static_cast<float>(exact)) << "rounded once";
      }
    }
    EXPECT_EQ(targets_of(set), raw) << "to the bit";
  }
}

TEST_F(Targets, IgnoreValidationAndTestRows) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Rng rng = Rng(seed).split("changes");
    std::vector<float> raw = random_targets(Rng(seed).split("targets"), 2);
    const Dataset set = arrays(raw, 2);
    std::vector<float> others = raw;
    for (const Part part : {Part::kValidation, Part::kTest}) {
      for (const std::int64_t row : set.rows(part)) {
        others[static_cast<std::size_t>(2 * row)] = static_cast<float>(1e9 * rng.normal());
        others[static_cast<std::size_t>(2 * row + 1)] = static_cast<float>(1e-9 * rng.normal());
      }
    }

    const Dataset changed = arrays(others, 2);

    EXPECT_EQ(changed.spec().target_normalization, set.spec().target_normalization);
    EXPECT_NE(changed.spec().hash, set.spec().hash);
    const auto& train = set.rows(Part::kTrain);
    std::vector<float> before(train.size() * 2), after(train.size() * 2);
    set.gather_targets(train, before);
    changed.gather_targets(train, after);
    EXPECT_EQ(before, after);

    others = raw;
    others[static_cast<std::size_t>(2 * train[rng.below(train.size())])] += 1;
    EXPECT_NE(arrays(others, 2).spec().target_normalization, set.spec().target_normalization);
  }
}

TEST_F(Targets, ConstantTargetsKeepScaleOne) {
  for (const float value : {0.0F, 0.1F, -3e30F, 16777217.0F}) {
    const Dataset set = arrays(std::vector<float>(kRows, value), 1);
    EXPECT_EQ(*set.spec().target_normalization, (Normalization{.mean = {double{value}}, .scale = {1}}));
    EXPECT_EQ(seen(set), std::vector<float>(kRows, 0));
  }
}

TEST_F(Targets, AndFeaturesThatAreConstantHaveScaleOne) {
  std::string csv = "k,near,a,y\n";
  for (int row = 0; row < 200; ++row) {
    csv += std::string("14.62,") + (row % 2 == 0 ? "14.62," : "14.620000000000001,") + std::to_string(row) + ",0.1\n";
  }
  write("constant.csv", csv);
  study::DataConfig config;
  config.source = "csv:constant.csv?target=y";
  for (const std::optional<std::int64_t> folds : {std::optional<std::int64_t>(), std::optional<std::int64_t>(4)}) {
    config.folds = folds;
    config.rules = study::kLatestRules;
    const auto set = open(config, "", disk_);
    ASSERT_TRUE(set.ok()) << set.error().text();
    const DataSpec& spec = folds ? set->spec().folds[1] : set->spec();
    for (std::size_t f = 0; f < 2; ++f) {
      EXPECT_FLOAT_EQ(static_cast<float>(spec.normalization.mean[f]), 14.62F);
      EXPECT_EQ(spec.normalization.scale[f], 1);
    }
    EXPECT_GT(spec.normalization.scale[2], 40) << "another column keeps its deviation";
    EXPECT_EQ(spec.target_normalization->scale[0], 1);
    config.rules = study::kFirstRules;
    const auto first = open(config, "", disk_);
    ASSERT_TRUE(first.ok()) << first.error().text();
    if (folds) continue;
    EXPECT_LT(first->spec().normalization.scale[0], 1e-12) << "as in studies of version 0.1";
  }
}

TEST_F(Targets, StayRawWhenStudyRequestsIt) {
  const std::vector<float> raw = random_targets(Rng(3), 2);
  const Dataset plain = arrays(raw, 2, "raw"), standard = arrays(raw, 2, "standardize"), usual = arrays(raw, 2);
  EXPECT_FALSE(plain.spec().target_normalization);
  EXPECT_EQ(seen(plain), raw);
  EXPECT_EQ(targets_of(plain), raw);
  EXPECT_FALSE(spec_json(plain.spec()).contains("target_normalization"));
  EXPECT_EQ(seen(usual), seen(standard));
  EXPECT_EQ(usual.spec().hash, standard.spec().hash);
  EXPECT_NE(plain.spec().hash, standard.spec().hash);
  // The identity of studies from before this setting.
  study::DataConfig old;
  old.source = "synthetic:regression?rows=100";
  old.targets = "raw";
  EXPECT_EQ(open(old, "", disk_)->spec().hash.hex(), "369184101c9d3225de51b675f6abb593");

  const auto refused = with("synthetic:regression?rows=100", "row");
  ASSERT_FALSE(refused.ok());
  expect_error(refused.error(), Code::kInvalidArgument, "targets is \"row\", allowed are auto, standardize and raw");
}

TEST_F(Targets, ClassesStayUnchanged) {
  for (const char* how : {"auto", "standardize", "raw"}) {
    const auto digits = with("builtin:digits", how);
    ASSERT_TRUE(digits.ok());
    EXPECT_FALSE(digits->spec().target_normalization);
    EXPECT_EQ(digits->spec().hash, get("builtin:digits")->spec().hash);
  }
}

TEST_F(Targets, OfTablesAndSyntheticDataAreStandardised) {
  std::string table = "a,kind,y\n";
  Rng rng(4);
  for (int i = 0; i < 60; ++i) {
    table += (i % 7 == 0 ? "" : std::to_string(i)) + (i % 2 == 0 ? ",u," : ",v,") +
             std::to_string(1e4 + 5e4 * rng.normal()) + "\n";
  }
  write("t.csv", table);
  for (const char* source : {"csv:t.csv", "synthetic:regression?rows=60"}) {
    const auto set = get(source);
    ASSERT_TRUE(set.ok()) << set.error().text();
    ASSERT_TRUE(set->spec().target_normalization) << source;
    const auto& train = set->rows(Part::kTrain);
    std::vector<float> targets(train.size());
    set->gather_targets(train, targets);
    double sum = 0, squares = 0;
    for (const float t : targets) {
      sum += double{t};
      squares += double{t} * double{t};
    }
    EXPECT_NEAR(sum / static_cast<double>(train.size()), 0, 1e-6) << source;
    EXPECT_NEAR(squares / static_cast<double>(train.size()), 1, 1e-6) << source;
    if (std::string(source) == "csv:t.csv") expect_same_rows(*set, "t.csv");
  }
}

TEST_F(Targets, AreKeptByTransformedData) {
  const Dataset set = arrays(random_targets(Rng(5), 2), 2);
  Transform twice{.features = {{2}}, .key = {}, .apply = [](std::span<const float> in, std::span<float> out) {
                    for (std::size_t i = 0; i < in.size(); ++i) out[i] = 2 * in[i];
                  }};
  const auto other = Dataset::transformed(set, twice, StoredSamples::kAll, nullptr);
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(seen(*other), seen(set));
  EXPECT_EQ(targets_of(*other), targets_of(set));
  EXPECT_EQ(other->spec().target_normalization, set.spec().target_normalization);
}

TEST_F(Targets, AreStoredWithUnitInSpec) {
  const DataSpec spec = arrays(random_targets(Rng(6), 2), 2).spec();
  const auto repeated = parse_spec(nlohmann::json::parse(spec_json(spec).dump()));
  ASSERT_TRUE(repeated.ok()) << repeated.error().text();
  EXPECT_EQ(repeated->target_normalization, spec.target_normalization);

  const auto refused = [&](const std::string& pointer, const nlohmann::json& value) {
    nlohmann::json json = spec_json(spec);
    json[nlohmann::json::json_pointer(pointer)] = value;
    const auto parsed = parse_spec(json);
    return parsed ? std::string("accepted") : parsed.error().message;
  };
  EXPECT_EQ(refused("/target_normalization", nullptr), "normalization: \"mean\" is not a list of numbers");
  EXPECT_EQ(refused("/target_normalization/scale/0", 0), "normalization: a scale is 0");
  EXPECT_EQ(refused("/target_normalization", {{"mean", {1}}, {"scale", {1}}}),
            "data specification: \"target_normalization\" has 1 entries for 2 targets");
  EXPECT_EQ(refused("/target_normalization", {{"mean", {1, 2, 3}}, {"scale", {1, 2, 3}}}),
            "normalization: 3 means and 3 scales do not fit 2 targets");
  EXPECT_EQ(refused("/classes", 2), "data specification: \"target_normalization\" stands where targets are classes");
  // An old specification.
  nlohmann::json old = spec_json(spec);
  old.erase("target_normalization");
  EXPECT_FALSE(parse_spec(old)->target_normalization);
}

TEST_F(Targets, AreListedInText) {
  EXPECT_EQ(schema_text(arrays(random_targets(Rng(7), 2), 2).spec()), "samples [2], target 2 numbers, standardised\n");
  EXPECT_EQ(schema_text(arrays(random_targets(Rng(7), 2), 2, "raw").spec()), "samples [2], target 2 numbers\n");
  std::vector<float> one(kRows, 1234.5F);
  EXPECT_EQ(schema_text(arrays(one, 1).spec()),
            "samples [2], target 1 number, standardised (mean 1234.5, deviation 1)\n");
}

}  // namespace
}  // namespace lanista::data

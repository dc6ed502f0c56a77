#include <gtest/gtest.h>

#include <set>

#include "lanista/model/space/chooser.h"
#include "lanista/model/space/domain.h"

namespace lanista::space {
namespace {

std::vector<Parameter::Condition> when(std::string name, Value value) {
  return {{std::move(name), {std::move(value)}}};
}

void add(SearchSpace& space, Parameter parameter) {
  const auto added = space.add(std::move(parameter));
  ASSERT_TRUE(added.ok()) << added.error().text();
}

const Domain kOptimizers = Categorical{{std::string("sgd"), std::string("adam"), std::string("adamw")}};

/// lr has its own range per optimiser; nesterov depends on a value that is itself conditional.
SearchSpace optimizers(bool countable) {
  const double quant = countable ? 0.1 : 0;
  SearchSpace space;
  add(space, {"optimizer", kOptimizers, {}});
  add(space, {"lr", FloatRange{0.1, 0.5, quant}, when("optimizer", std::string("sgd"))});
  add(space, {"lr", FloatRange{0.1, 0.2, quant}, when("optimizer", std::string("adam"))});
  add(space, {"momentum", Categorical{{0.0, 0.9}}, when("optimizer", std::string("sgd"))});
  add(space, {"nesterov", Categorical{{true, false}}, when("momentum", 0.9)});
  add(space, {"batch", IntRange{16, 64, 16}, {}});
  return space;
}

TEST(SearchSpace, SamplesOnlyActiveParameters) {
  const SearchSpace space = optimizers(false);
  std::set<std::string> optimizer_seen;

  for (std::uint64_t i = 0; i < 300; ++i) {
    RandomChooser choose(Rng(1).split(i));
    const Sample sample = space.sample(choose);

    const auto& optimizer = std::get<std::string>(sample.at("optimizer"));
    optimizer_seen.insert(optimizer);
    EXPECT_EQ(sample.contains("lr"), optimizer != "adamw");
    EXPECT_EQ(sample.contains("momentum"), optimizer == "sgd");
    EXPECT_EQ(sample.contains("nesterov"), optimizer == "sgd" && sample.at("momentum") == Value(0.9));
    EXPECT_TRUE(sample.contains("batch"));
    if (optimizer == "adam") {
      EXPECT_LE(std::get<double>(sample.at("lr")), 0.2);
    }
    EXPECT_TRUE(space.check(sample).ok());
    EXPECT_EQ(choose.trace().size(), sample.size());
  }
  EXPECT_EQ(optimizer_seen.size(), 3U);
}

TEST(SearchSpace, ReplaysASample) {
  const SearchSpace space = optimizers(false);
  RandomChooser choose(Rng(9));
  const Sample sample = space.sample(choose);

  ReplayChooser replay(choose.trace());

  EXPECT_EQ(space.sample(replay), sample);
  EXPECT_TRUE(replay.status().ok());
}

TEST(SearchSpace, SizeCountsConditionalSamples) {
  // batch 4 x (sgd: lr 5 x (momentum 0 | momentum 0.9 x nesterov 2); adam: lr 2; adamw: 1)
  EXPECT_EQ(optimizers(true).size(), 4.0 * (5 * 3 + 2 + 1));
  EXPECT_EQ(optimizers(false).size(), std::nullopt);
  EXPECT_EQ(SearchSpace().size(), 1.0);
}

TEST(SearchSpace, AGridFindsEverySampleOnce) {
  const SearchSpace space = optimizers(true);
  std::set<std::string> seen;

  int fitting = 0;
  for (std::uint64_t i = 0; i < 3 * 5 * 2 * 2 * 4; ++i) {
    GridChooser choose(i, 10);
    const Sample sample = space.sample(choose);
    if (choose.exhausted()) continue;  // this branch has fewer combinations than the largest
    ++fitting;
    seen.insert(sample_json(sample).dump());
    EXPECT_TRUE(space.check(sample).ok());
  }

  EXPECT_EQ(static_cast<double>(seen.size()), space.size());
  EXPECT_EQ(static_cast<double>(fitting), space.size());
}

void expect_refused(SearchSpace space, Parameter parameter, const std::string& part) {
  const std::string name = parameter.name;
  const std::size_t before = space.parameters().size();

  const auto added = space.add(std::move(parameter));

  ASSERT_FALSE(added.ok());
  EXPECT_EQ(added.error().code, Code::kInvalidArgument);
  EXPECT_EQ(added.error().where, name);
  EXPECT_NE(added.error().message.find(part), std::string::npos) << added.error().message;
  EXPECT_EQ(space.parameters().size(), before);
}

TEST(SearchSpace, RefusesBadParameters) {
  const SearchSpace space = optimizers(false);
  const Domain unit = FloatRange{0, 1};

  expect_refused(space, {"", unit, {}}, "needs a name");
  expect_refused(space, {"x", FloatRange{1, 0}, {}}, "lower bound");
  expect_refused(space, {"x", unit, when("y", true)}, "'y', which is not declared before it");
  expect_refused(space, {"x", unit, when("optimizer", std::string("lion"))}, "choice(sgd, adam, adamw)");
  expect_refused(space, {"batch", unit, {}}, "declared twice");
  expect_refused(space, {"lr", unit, {}}, "both declarations may be active");
  expect_refused(space, {"lr", unit, when("optimizer", std::string("adam"))}, "declared twice");
  expect_refused(space, {"lr", unit, when("batch", std::int64_t{16})}, "declared twice");
}

TEST(SearchSpace, DetectsExclusionThroughChain) {
  SearchSpace space = optimizers(false);

  // nesterov exists only under sgd, so this beta and that of adam never meet.
  add(space, {"beta", FloatRange{0, 1}, when("nesterov", true)});
  add(space, {"beta", FloatRange{0, 1}, when("optimizer", std::string("adam"))});

  expect_refused(space, {"beta", FloatRange{0, 1}, when("momentum", 0.9)}, "declared twice");
}

TEST(SearchSpace, CheckNamesWhatIsWrong) {
  const SearchSpace space = optimizers(false);
  const Sample good = {{"optimizer", std::string("adam")}, {"lr", 0.15}, {"batch", std::int64_t{16}}};
  ASSERT_TRUE(space.check(good).ok());
  const auto message = [&](const Sample& sample) {
    const auto checked = space.check(sample);
    return checked.ok() ? std::string("fine") : checked.error().text();
  };
  Sample missing = good;
  missing.erase("batch");
  Sample outside = good;
  outside["lr"] = 0.4;
  Sample inactive = good;
  inactive["momentum"] = 0.9;
  Sample unknown = good;
  unknown["colour"] = true;

  EXPECT_EQ(message(missing), "batch: no value; wanted int(16, 64, 16)");
  EXPECT_EQ(message(outside), "lr: 0.4 is not in range(0.1, 0.2)");
  EXPECT_EQ(message(inactive), "momentum: 0.9 is given, but the parameter is not active in this sample");
  EXPECT_EQ(message(unknown), "colour: true is given, but the space has no such parameter");
}

}  // namespace
}  // namespace lanista::space

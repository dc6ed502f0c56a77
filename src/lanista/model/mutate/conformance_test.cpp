// The conformance suite of mutators. It tests every mutator of builtin_mutators().
#include <algorithm>
#include <optional>

#include "support/model/mutate/test_models.h"

namespace lanista::mutate {
namespace {

using testing::all_bases;
using testing::output_type;

constexpr std::uint64_t kSequences = 200;  // tests/mutation_proof.cpp has more, and trains them

std::unique_ptr<Mutator> with_defaults(const MutatorPlugin& plugin) {
  auto options = resolve_options(plugin.example, plugin.options);
  EXPECT_TRUE(options.ok()) << plugin.name << ": " << options.error().text();
  auto made = plugin.make(*options);
  EXPECT_TRUE(made.ok()) << plugin.name << ": " << made.error().text();
  return *std::move(made);
}

ModelSpace space_of(std::vector<BaseModel> bases, std::vector<std::shared_ptr<const Mutator>> mutators) {
  auto space = ModelSpace::make(graph::builtin_ops(), std::move(bases), std::move(mutators), {}, {});
  EXPECT_TRUE(space.ok()) << space.error().text();
  return *std::move(space);
}

/// One mutation with all checks of its result; nullopt if it does not apply.
std::optional<Candidate> checked_step(const ModelSpace& space, const Candidate& parent, const Rng& rng) {
  space::RandomChooser choose(rng);
  auto child = space.mutate(parent, choose);
  if (!child) {
    EXPECT_EQ(child.error().code, Code::kNotApplicable) << child.error().message;
    EXPECT_FALSE(child.error().message.empty());
    return std::nullopt;
  }
  const auto verified = graph::verify(child->graph, space.ops());
  EXPECT_TRUE(verified.ok()) << verified.error().text();
  EXPECT_EQ(output_type(child->graph), output_type(parent.graph));
  EXPECT_NE(child->hash, parent.hash) << "nothing changed:\n" << graph::to_text(child->graph);
  return *std::move(child);
}

void check_sequence(const ModelSpace& space, std::int64_t base, std::uint64_t seed, int* applied) {
  const Rng rng = Rng(seed).split("conformance");
  Candidate now = space.base(base);
  const std::uint64_t length = 1 + seed % 8;
  for (std::uint64_t i = 0; i < length; ++i) {
    if (auto next = checked_step(space, now, rng.split(i))) {
      now = *std::move(next);
      ++*applied;
    }
  }
  const auto rebuilt = space.rebuild(base, now.edits);
  ASSERT_TRUE(rebuilt.ok()) << rebuilt.error().text();
  EXPECT_EQ(*rebuilt, now.graph);
  const auto parsed = graph::parse(graph::to_text(now.graph));
  ASSERT_TRUE(parsed.ok()) << parsed.error().text();
  EXPECT_EQ(*parsed, now.graph);
  EXPECT_EQ(graph::canonical_hash(*parsed, space.ops()), now.hash);

  Candidate replayed = space.base(base);
  for (const auto& step : now.steps) {
    space::ReplayChooser replay(step.trace);
    auto next = space.mutate(replayed, replay);
    ASSERT_TRUE(next.ok()) << next.error().text();
    EXPECT_TRUE(replay.status().ok()) << replay.status().error().text();
    replayed = *std::move(next);
  }
  EXPECT_EQ(replayed.graph, now.graph);
  EXPECT_EQ(replayed.steps, now.steps);
  EXPECT_EQ(replayed.edits, now.edits);
}

/// The base models, and each of them after some mutations.
std::vector<BaseModel> mutated_bases() {
  std::vector<std::shared_ptr<const Mutator>> mutators;
  for (const auto& plugin : builtin_mutators()) mutators.push_back(with_defaults(plugin));
  const ModelSpace space = space_of(all_bases(), std::move(mutators));
  std::vector<BaseModel> bases = all_bases();
  for (std::int64_t base = 0; base < 4; ++base) {
    const auto mutated = space.mutate(space.base(base), 4, Rng(static_cast<std::uint64_t>(base)));
    if (mutated) bases.push_back({"mutated", mutated->graph});
  }
  EXPECT_GT(bases.size(), all_bases().size());
  return bases;
}

class EveryBase : public ::testing::TestWithParam<std::size_t> {};

TEST_P(EveryBase, SurvivesSequencesOfAllMutators) {
  std::vector<std::shared_ptr<const Mutator>> mutators;
  for (const auto& plugin : builtin_mutators()) mutators.push_back(with_defaults(plugin));
  const ModelSpace space = space_of(all_bases(), std::move(mutators));
  const auto base = static_cast<std::int64_t>(GetParam());

  int applied = 0;
  for (std::uint64_t seed = 0; seed < kSequences; ++seed) check_sequence(space, base, seed, &applied);

  EXPECT_GT(applied, static_cast<int>(kSequences)) << "most attempts should apply";
}

INSTANTIATE_TEST_SUITE_P(Mutators, EveryBase, ::testing::Range<std::size_t>(0, 4), [](const auto& param) {
  std::string name = all_bases()[param.param].name;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

class EveryMutator : public ::testing::TestWithParam<MutatorPlugin> {};

TEST_P(EveryMutator, SurvivesRepeatedApplication) {
  const ModelSpace space = space_of(all_bases(), {with_defaults(GetParam())});

  int applied = 0;
  for (std::int64_t base = 0; base < 4; ++base) {
    for (std::uint64_t seed = 0; seed < kSequences / 10; ++seed) check_sequence(space, base, seed, &applied);
  }

  EXPECT_GT(applied, 0);
}

TEST_P(EveryMutator, HasANameAndAHelpAndLeavesItsBaseAlone) {
  const auto mutator = with_defaults(GetParam());
  const auto ops = graph::builtin_ops();
  EXPECT_EQ(mutator->name(), GetParam().name);
  EXPECT_FALSE(GetParam().help.empty());
  for (const auto& option : GetParam().options) EXPECT_FALSE(option.help.empty()) << option.name;

  for (const BaseModel& base : all_bases()) {
    const graph::Graph before = base.graph;
    space::RandomChooser choose(Rng(1));
    (void)mutator->apply(base.graph, ops, {}, choose);
    EXPECT_EQ(base.graph, before);
  }
}

TEST_P(EveryMutator, ReportsWhyMinimalModelHasNoSite) {
  const auto barest = testing::model("%0 = input(shape=[4])\n%1 = linear(%0, out=3)\n%2 = output(%1)\n");
  // Joins need repair here; without it no mutation fits.
  const RepairPolicy strict{RepairPolicy::Channels::kReject, RepairPolicy::Spatial::kReject};
  space::RandomChooser choose(Rng(1));

  const auto edited = testing::apply(*with_defaults(GetParam()), barest, choose, strict);

  ASSERT_FALSE(edited.ok());
  EXPECT_EQ(edited.error().code, Code::kNotApplicable);
  EXPECT_TRUE(edited.error().message.starts_with(GetParam().name + ": ")) << edited.error().message;
  EXPECT_TRUE(choose.trace().empty()) << "the mutator asked for a decision without a site";
}

TEST_P(EveryMutator, KeepsTheOutputUnderEveryRepairPolicy) {
  using Channels = RepairPolicy::Channels;
  using Spatial = RepairPolicy::Spatial;
  const auto mutator = with_defaults(GetParam());
  const std::vector<BaseModel> bases = mutated_bases();
  for (const Channels channels : {Channels::kProject, Channels::kPad, Channels::kReject}) {
    for (const Spatial spatial : {Spatial::kPool, Spatial::kInterpolate, Spatial::kReject}) {
      for (const BaseModel& base : bases) {
        for (std::uint64_t seed = 0; seed < 8; ++seed) {
          space::RandomChooser choose{Rng(seed)};
          const auto edited = testing::apply(*mutator, base.graph, choose, {channels, spatial});
          if (edited) {
            EXPECT_EQ(output_type(edited->graph), output_type(base.graph));
          } else {
            EXPECT_EQ(edited.error().code, Code::kNotApplicable) << edited.error().message;
            EXPECT_TRUE(choose.trace().empty())
                << "the mutator offered a site that does not fit: " << edited.error().message;
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Mutators, EveryMutator, ::testing::ValuesIn(builtin_mutators()),
                         [](const auto& param) { return param.param.name; });

}  // namespace
}  // namespace lanista::mutate

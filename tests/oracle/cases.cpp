#include "cases.h"

#include <cmath>
#include <cstring>
#include <set>

#include "lanista/base/check.h"
#include "lanista/model/autodiff/loss.h"
#include "lanista/model/autodiff/optimizer.h"
#include "lanista/model/graph/infer.h"
#include "lanista/model/mutate/model_space.h"
#include "lanista/model/space/chooser.h"
#include "lanista/model/spaces/published.h"
#include "mutation_spaces.h"
#include "random_models.h"
#include "support/io/formats/foreign_networks.h"

namespace lanista::oracle {
namespace {

using program::LaneHyper;

constexpr std::int64_t kTokens = 8;  // vocabulary of mutated and published models

const graph::OpTable& shipped() {
  static const graph::OpTable kOps = graph::builtin_ops();
  return kOps;
}

template <class T>
T must(Result<T> result) {
  LANISTA_CHECK(result.ok(), result ? "" : result.error().text());
  return *std::move(result);
}

mutate::ModelInterface ends_for(const std::string& space, bool everywhere) {
  if (space == "wide_deep") return mutate::model_interface(graph::Shape{{7}}, 3);
  if (space != "transformer") return mutate::model_interface(graph::Shape{{1, 8, 8}}, 4);
  return {{{"shape", std::vector<std::int64_t>{6}}, {"dtype", "index"}}, 4, kTokens, everywhere ? 6 : 0};
}

double log_uniform(Rng& rng, double lo, double hi) { return lo * std::exp(rng.uniform() * std::log(hi / lo)); }

LaneHyper random_hyper(Rng& rng, const std::string& optimizer) {
  LaneHyper hyper;
  hyper.lr = log_uniform(rng, 1e-3, optimizer == "sgd" ? 0.3 : 0.03);
  if (rng.bernoulli(0.7)) hyper.momentum = rng.uniform(0.3, 0.99);
  hyper.nesterov = hyper.momentum > 0 && rng.bernoulli(0.5);
  if (rng.bernoulli(0.6)) hyper.weight_decay = log_uniform(rng, 1e-4, 0.3);
  hyper.beta1 = rng.uniform(0.5, 0.99);
  hyper.beta2 = rng.uniform(0.8, 0.9999);
  hyper.eps = log_uniform(rng, 1e-9, 1e-3);
  if (rng.bernoulli(0.5)) hyper.clip_norm = log_uniform(rng, 0.02, 3);
  if (rng.bernoulli(0.5)) hyper.label_smoothing = rng.uniform(0, 0.5);
  return hyper;
}

program::testing::OwnedBatch random_batch(Rng& rng, const program::testing::Derived& derived, std::int64_t size) {
  program::testing::OwnedBatch batch;
  batch.size = size;
  batch.features = testing::random_features(rng, derived.model, shipped(), size);
  const graph::Shape& prediction = derived.train.types.at(derived.train.prediction).shape;
  const autodiff::Loss& loss = *autodiff::find_loss(derived.train.options.loss);
  if (!loss.of_classes()) {
    batch.targets.resize(static_cast<std::size_t>(prediction.elements(size)));
    for (float& value : batch.targets) {
      const double sampled = rng.normal();
      value =
          loss.kind == autodiff::TargetKind::kMultilabel ? (sampled > 0 ? 1.0F : 0.0F) : static_cast<float>(sampled);
    }
  } else {
    const std::int64_t classes = prediction.dims.back();
    for (std::int64_t i = 0; i < prediction.elements(size) / classes; ++i) {
      batch.labels.push_back(static_cast<std::int32_t>(rng.below(static_cast<std::uint64_t>(classes))));
    }
  }
  for (std::int64_t i = 0; i < size; ++i) batch.sample_index.push_back(static_cast<std::int64_t>(rng.below(100'000)));
  return batch;
}

/// Adds cases of a published space with this input and output.
void add_published(const mutate::PublishedSpace& published, const mutate::ModelInterface& between, std::uint64_t each,
                   std::uint64_t first, std::vector<Case>& cases) {
  const graph::OpTable& ops = shipped();
  const std::string name = published.name + (between.positions > 0 ? " everywhere" : "");
  const auto blueprint = must(mutate::published_space(published.name, nlohmann::json::object(), ops, between));
  space::SearchSpace choices;
  for (const space::Parameter& parameter : blueprint.parameters()) {
    LANISTA_CHECK(choices.add(parameter).ok(), published.name + ": two choices of one name");
  }
  std::set<Digest> seen;
  for (std::uint64_t number = first; seen.size() < each && number < first + 40 * each; ++number) {
    const Rng rng = Rng(7).split(name).split(number);
    space::RandomChooser choose(rng.split("sample"));
    auto model = blueprint.expand(choices.sample(choose), ops, between);
    if (!model || !seen.insert(graph::canonical_hash(*model, ops)).second) continue;
    cases.push_back(
        {"published " + name + " " + std::to_string(number), rng.key(), *std::move(model), "cross_entropy"});
  }
}

}  // namespace

Case random_case(std::uint64_t number) {
  const Rng rng = Rng(2026).split(number);
  const bool classes = number % 2 == 0;
  std::vector<std::string> losses;
  for (const autodiff::Loss& loss : autodiff::losses()) {
    if (loss.of_classes() == classes) losses.push_back(loss.name);
  }
  return {"random " + std::to_string(number), rng.key(),
          testing::random_model(rng.split("model"), shipped(), {.classes = classes}),
          losses[rng.split("loss").key() % losses.size()]};
}

std::vector<Case> published_cases(std::uint64_t each, std::uint64_t first, std::string_view only) {
  std::vector<Case> cases;
  for (const mutate::PublishedSpace& published : mutate::published_spaces()) {
    if (!only.empty() && published.name != only) continue;
    for (const bool everywhere : {false, true}) {
      if (everywhere && published.name != "transformer") continue;
      add_published(published, ends_for(published.name, everywhere), each, first, cases);
    }
  }
  return cases;
}

std::vector<Case> mutated_cases(std::uint64_t count, std::uint64_t first) {
  auto bases = must(testing::shipped_bases(kTokens));
  for (auto& network : testing::small_networks()) bases.push_back(std::move(network));
  for (auto& foreign : formats::testing::foreign_networks()) {
    bases.push_back({"foreign " + foreign.name, std::move(foreign.model.graph)});
  }
  const auto spaces = must(testing::mutation_spaces(std::move(bases), {.params = 3e5, .flops = 1e7}));
  std::vector<Case> cases;
  for (std::uint64_t number = first; number < first + count; ++number) {
    const Rng rng = Rng(2020).split("mutated").split(number);
    const auto& space = spaces[number % spaces.size()];
    const auto base = static_cast<std::int64_t>(number / spaces.size() % space.bases().size());
    const auto steps = 1 + static_cast<std::int64_t>(rng.split("length").key() % 12);
    const auto mutated = space.mutate(space.base(base), steps, rng);
    if (!mutated) continue;
    cases.push_back({"mutated " + std::to_string(number) + " of " + space.bases()[static_cast<std::size_t>(base)].name,
                     rng.key(), mutated->graph, "mse"});
  }
  return cases;
}

CaseInputs inputs_of(const Case& c, const program::testing::Derived& derived) {
  Rng rng = Rng(c.seed).split("draws");
  CaseInputs inputs;
  inputs.max_batch = rng.between(1, 4);
  const auto isas = kernels::available_isas();
  inputs.isa = isas[rng.below(isas.size())];
  inputs.trial_seed = rng.next() >> 1;  // a state stores it as a signed number
  inputs.lane_attr_values = rng.bernoulli(0.3);
  // A stream of its own, so that the division of batches does not change the other inputs of a case.
  Rng parts = rng.split("parts");
  if (parts.bernoulli(0.6)) inputs.shards = parts.between(1, 5);
  if (parts.bernoulli(0.4)) inputs.accumulate = parts.between(1, 3);
  if (parts.bernoulli(0.3)) inputs.max_batch += parts.between(1, 6);
  // A full batch, then batches of random sizes.
  for (const std::int64_t size : {inputs.max_batch, rng.between(1, inputs.max_batch), rng.between(1, inputs.max_batch),
                                  rng.between(1, inputs.max_batch)}) {
    inputs.batches.push_back(random_batch(rng, derived, size));
  }
  for (const autodiff::Optimizer& optimizer : autodiff::optimizers()) {
    inputs.hyper.emplace_back().fill(random_hyper(rng, optimizer.name));
    for (LaneHyper& hyper : inputs.hyper.back()) hyper.lr *= rng.uniform(0.3, 1);
  }
  return inputs;
}

double number_of(const Case& c, const program::LaneAttr& number) {
  return Rng(c.seed).split("numbers").split(number.node.value).split(number.attr).uniform() * 0.9;
}

std::vector<Tensor> perturbed_state(const Case& c, std::vector<Tensor> state) {
  for (Tensor& tensor : state) {
    if (tensor.type != ElementType::kF64 || tensor.name.find('/') != std::string::npos) continue;
    Rng rng = Rng(c.seed).split(tensor.name);
    std::vector<double> values(tensor.bytes.size() / sizeof(double));
    std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
    const bool positive = tensor.name.ends_with("running_var");
    for (double& value : values) value = positive ? rng.uniform(0.3, 2) : value + 0.2 * rng.normal();
    std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  }
  return state;
}

}  // namespace lanista::oracle

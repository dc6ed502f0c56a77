// Mutated models are valid and trainable. Random sequences apply all mutators to many bases. Each accepted mutation
// gives a model that verifies, trains one step with finite numbers, and is equal after its text form is read. Its ONNX
// form gives equal results.
//
//   mutation_proof [SEQUENCES [FIRST]]      500 sequences from number 0 by default
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "lanista/exec/program/program.h"
#include "lanista/io/formats/float_weights.h"
#include "lanista/io/formats/onnx/onnx.h"
#include "lanista/io/formats/onnx/onnx_export.h"
#include "lanista/io/formats/onnx/onnx_import.h"
#include "lanista/model/autodiff/training_step.h"
#include "lanista/model/graph/infer.h"
#include "lanista/model/graph/text.h"
#include "lanista/model/mutate/model_space.h"
#include "mutation_spaces.h"
#include "support/io/formats/foreign_networks.h"

namespace lanista {
namespace {

constexpr std::int64_t kBatchSize = 3;
constexpr std::uint64_t kMaxEdits = 20;
constexpr std::int64_t kTokens = 8;
constexpr double kTolerance = 1e-5;

/// Counts of all sequences.
struct Tally {
  std::map<std::string, std::int64_t> accepted;  ///< accepted mutations by mutator
  std::int64_t refused = 0;
  double worst = 0;  ///< largest |difference of outputs| / (1 + |y|)
};

Error broken(const std::string& what, const std::string& why) { return Error{Code::kInternal, what + ": " + why, ""}; }

/// A compiled model with random weights and an input.
struct Trained {
  program::Program program;
  std::vector<float> x;
  std::vector<float> y;

  static Result<Trained> make(const graph::Graph& model, const Rng& rng) {
    const graph::OpTable ops = autodiff::training_ops(graph::builtin_ops());
    LANISTA_ASSIGN(const auto train, autodiff::derive_training_step(model, {.loss = "mse"}, ops));
    LANISTA_ASSIGN(const auto infer, autodiff::derive_inference_step(model, ops));
    LANISTA_ASSIGN(auto program, program::Program::compile(train, infer, {.max_batch = kBatchSize}));
    LANISTA_TRY(program.begin(0, rng.key()));
    LANISTA_ASSIGN(const auto types, graph::infer_shapes(model, ops));
    const graph::ValueType& input = types.outputs(model.nodes_of("input").front()).front();
    Trained made{std::move(program), {}, {}};
    made.x.resize(static_cast<std::size_t>(input.shape.elements(kBatchSize)));
    Rng choices = rng.split("x");
    for (float& value : made.x) {
      const bool token = input.dtype == graph::DType::kIndex;
      value = token ? static_cast<float>(choices.below(kTokens)) : static_cast<float>(choices.normal());
    }
    made.y.resize(static_cast<std::size_t>(kBatchSize * made.program.prediction_size()));
    return made;
  }

  program::Batch batch(std::span<const float> targets) const {
    static constexpr std::array<std::int64_t, kBatchSize> kRows{0, 1, 2};
    return {.size = kBatchSize, .features = x, .labels = {}, .targets = targets, .sample_index = kRows};
  }

  void predict() { program.predict(0, batch({}), std::span(y)); }

  /// Trains one step. Errors: the loss or an element of the state is not finite.
  Result<void> train_step() {
    const std::vector<float> targets(y.size(), 0.5F);
    const program::Batch one = batch(targets);
    const std::array<program::LaneHyper, 1> hyper{program::LaneHyper{.lr = 1e-3}};
    const std::array<std::uint8_t, 1> active{1};
    std::array<double, 1> loss{};
    program.train_step(std::span(&one, 1), hyper, active, loss);
    if (!std::isfinite(loss[0])) return broken("training", "the loss is " + std::to_string(loss[0]));
    for (const Tensor& tensor : program.extract(0)) {
      if (tensor.type != ElementType::kF32) continue;
      const auto values = elements_of<float>(tensor);
      if (!std::all_of(values.begin(), values.end(), [](float v) { return std::isfinite(v); })) {
        return broken("training", tensor.name + " is not finite after one step");
      }
    }
    return {};
  }
};

Result<void> check_text(const mutate::Candidate& model, const graph::OpTable& ops) {
  LANISTA_TRY(graph::verify(model.graph, ops));
  LANISTA_ASSIGN(const auto read, graph::parse(graph::to_text(model.graph)));
  if (!(read == model.graph)) return broken("text", "the parsed graph differs");
  if (graph::canonical_hash(read, ops) != model.hash) return broken("text", "the hash of the parsed graph differs");
  return {};
}

/// Writes an ONNX file with all weights and reads it.
Result<formats::ImportedModel> through_onnx(const graph::Graph& model, const std::vector<Tensor>& weights) {
  LANISTA_ASSIGN(const auto exported, formats::to_onnx(model, weights, {}));
  LANISTA_ASSIGN(const auto decoded, formats::decode_onnx(formats::encode_onnx(exported)));
  return formats::from_onnx(decoded);
}

Result<void> check_numbers(const graph::Graph& model, const Rng& rng, Tally& tally) {
  LANISTA_ASSIGN(Trained ours, Trained::make(model, rng));
  LANISTA_TRY(ours.train_step());
  ours.predict();

  LANISTA_ASSIGN(const auto weights, formats::float_weights(model, graph::builtin_ops(), ours.program.extract(0)));
  LANISTA_ASSIGN(const auto imported, through_onnx(model, weights));
  // Other initial weights, so that a lost weight changes the result.
  LANISTA_ASSIGN(Trained theirs, Trained::make(imported.graph, rng.split("elsewhere")));
  theirs.x = ours.x;
  std::vector<Tensor> state = theirs.program.extract(0);
  for (Tensor& tensor : state) {
    const auto given = std::ranges::find(imported.weights, tensor.name, &Tensor::name);
    if (given != imported.weights.end()) tensor = *given;
  }
  LANISTA_TRY(theirs.program.insert(0, state));
  theirs.predict();
  if (theirs.y.size() != ours.y.size()) return broken("onnx", "another number of outputs");
  for (std::size_t i = 0; i < ours.y.size(); ++i) {
    const double distance = std::abs(double{ours.y[i]} - theirs.y[i]) / (1 + std::abs(double{ours.y[i]}));
    if (!(distance <= kTolerance)) {
      return broken("onnx", "output " + std::to_string(i) + " is " + std::to_string(theirs.y[i]) + " instead of " +
                                std::to_string(ours.y[i]));
    }
    tally.worst = std::max(tally.worst, distance);
  }
  return {};
}

/// Returns the builtin bases, small networks after a round trip through ONNX, and networks of other tools.
Result<std::vector<mutate::BaseModel>> all_bases() {
  LANISTA_ASSIGN(auto bases, testing::shipped_bases(kTokens));
  for (mutate::BaseModel& network : testing::small_networks()) {
    LANISTA_ASSIGN(const Trained trained, Trained::make(network.graph, Rng(5)));
    LANISTA_ASSIGN(const auto weights,
                   formats::float_weights(network.graph, graph::builtin_ops(), trained.program.extract(0)));
    LANISTA_ASSIGN(auto imported, through_onnx(network.graph, weights));
    bases.push_back({"onnx " + network.name, std::move(imported.graph)});
  }
  for (auto& foreign : formats::testing::foreign_networks()) {
    bases.push_back({"foreign " + foreign.name, std::move(foreign.model.graph)});
  }
  return bases;
}

Result<std::vector<mutate::ModelSpace>> all_spaces() {
  LANISTA_ASSIGN(auto bases, all_bases());
  return testing::mutation_spaces(std::move(bases), {.params = 3e5, .flops = 1e7});
}

/// Runs sequence number `seed`, which determines space, base, number of mutations and all samples.
Result<void> run_sequence(const std::vector<mutate::ModelSpace>& spaces, std::uint64_t seed, Tally& tally) {
  const Rng rng = Rng(2020).split(seed);
  const auto& space = spaces[seed % spaces.size()];
  const std::uint64_t base = seed / spaces.size() % space.bases().size();
  mutate::Candidate now = space.base(static_cast<std::int64_t>(base));
  const std::uint64_t expected = 1 + rng.split("length").key() % kMaxEdits;
  std::uint64_t accepted = 0;
  for (std::uint64_t attempt = 0; accepted < expected && attempt < 4 * expected; ++attempt) {
    space::RandomChooser choose(rng.split(attempt));
    auto next = space.mutate(now, choose);
    if (!next) {
      if (next.error().code != Code::kNotApplicable) return next.error();
      ++tally.refused;
      continue;
    }
    now = *std::move(next);
    ++accepted;
    ++tally.accepted[now.steps.back().mutator];
    const auto where = [&](const Error& error) {
      return broken(
          space.bases()[base].name + ", mutation " + std::to_string(accepted) + " (" + now.steps.back().mutator + ")",
          error.message + "\n" + graph::to_text(now.graph));
    };
    if (const auto text = check_text(now, space.ops()); !text) return where(text.error());
    if (const auto numbers = check_numbers(now.graph, rng.split("numbers"), tally); !numbers) {
      return where(numbers.error());
    }
  }
  return {};
}

int run(std::uint64_t count, std::uint64_t first) {
  const auto spaces = all_spaces();
  if (!spaces) {
    std::fprintf(stderr, "mutation_proof: %s\n", spaces.error().text().c_str());
    return 1;
  }
  Tally tally;
  std::uint64_t failures = 0;
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    if (const auto done = run_sequence(*spaces, seed, tally); !done) {
      if (++failures <= 10)
        std::fprintf(stderr, "sequence %d: %s\n", static_cast<int>(seed), done.error().text().c_str());
    }
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::int64_t mutations = 0;
  for (const auto& [name, times] : tally.accepted) mutations += times;
  std::printf("%d sequences over %d bases, %d mutations, %d attempts refused, %d failures; %.1f sequences/s\n",
              static_cast<int>(count), static_cast<int>(spaces->front().bases().size()), static_cast<int>(mutations),
              static_cast<int>(tally.refused), static_cast<int>(failures), static_cast<double>(count) / seconds);
  std::printf("largest difference of an output after ONNX: %.2g of 1 + |y|\n", tally.worst);
  for (const auto& [name, times] : tally.accepted) std::printf("  %-10s %d\n", name.c_str(), static_cast<int>(times));
  const bool all_took_part = tally.accepted.size() == mutate::builtin_mutators().size() || count < 100;
  if (!all_took_part) std::fprintf(stderr, "mutation_proof: a mutator never applied\n");
  return failures == 0 && all_took_part ? 0 : 1;
}

}  // namespace
}  // namespace lanista

int main(int argc, char** argv) {
  const auto number = [&](int i, std::uint64_t otherwise) {
    return argc > i ? std::strtoull(argv[i], nullptr, 10) : otherwise;
  };
  return lanista::run(number(1, 500), number(2, 0));
}

#include "lanista/exec/train/causality.h"

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "lanista/base/rng.h"
#include "lanista/base/tensor.h"
#include "lanista/exec/kernels/flush_to_zero.h"

namespace lanista::train {
namespace {

/// Moves fresh weights a little: some begin as zeros, which would hide what a model reads.
void perturb_weights(std::vector<Tensor>& state, Rng& rng) {
  const auto move = [&](auto elements) {
    for (auto& value : elements) value += static_cast<std::remove_reference_t<decltype(value)>>(0.1 * rng.normal());
  };
  for (Tensor& tensor : state) {
    if (tensor.type == ElementType::kF32) move(elements_of<float>(tensor));
    if (tensor.type == ElementType::kF64) move(elements_of<double>(tensor));
  }
}

constexpr std::uint32_t kMaxDifferences = 64;

/// Returns the tokens from which two texts differ: all but the first; for long texts sampled ones, and the last.
std::vector<std::size_t> first_differences(std::size_t length, Rng& rng) {
  const auto all = static_cast<std::uint32_t>(length - 1);
  std::vector<std::size_t> out{length - 1};
  for (const std::uint32_t i : rng.sample_without_replacement(all, std::min(all, kMaxDifferences))) {
    if (i + 1 != all) out.push_back(i + 1);
  }
  return out;
}

Error reads_ahead_error(std::int64_t position, std::int64_t token) {
  return {Code::kInvalidArgument,
          "the model answers at position " + std::to_string(position) + " from the token of position " +
              std::to_string(token) + ", which it must predict or which is later: with task=next_token no position " +
              "may read a later one (attention needs causal=true)",
          ""};
}

}  // namespace

Result<void> check_causality(const autodiff::InferenceStep& infer, const data::DataSpec& spec,
                             program::ProgramOptions options) {
  if (spec.positions < 2 || spec.vocab < 2) return {};  // no later token, or no other token
  options.lanes = options.threads = 1;
  options.shards = options.accumulate = 1;
  options.max_batch = 2;
  options.before_commit = {};
  LANISTA_ASSIGN(auto program, program::Program::compile(infer, options));
  Rng rng = Rng(1).split("causality");
  LANISTA_TRY(program.begin(0, rng.key()));
  std::vector<Tensor> state = program.extract(0);
  perturb_weights(state, rng);
  LANISTA_TRY(program.insert(0, state));

  const kernels::FlushToZero as_workers;
  const auto length = static_cast<std::size_t>(spec.positions), width = static_cast<std::size_t>(spec.width());
  const auto vocab = static_cast<std::uint64_t>(spec.vocab);
  for (const std::size_t part : first_differences(length, rng)) {
    std::vector<float> tokens(2 * length);
    for (std::size_t i = 0; i < length; ++i) {
      const std::uint64_t token = rng.below(vocab);
      tokens[i] = static_cast<float>(token);
      tokens[length + i] = static_cast<float>(i < part ? token : (token + 1 + rng.below(vocab - 1)) % vocab);
    }
    std::vector<double> predictions(2 * length * width);
    const std::vector<std::int64_t> samples{0, 0};
    program.predict(0, {.size = 2, .features = tokens, .labels = {}, .targets = {}, .sample_index = samples},
                    predictions);
    for (std::size_t i = 0; i < part * width; ++i) {
      const bool same =
          std::bit_cast<std::uint64_t>(predictions[i]) == std::bit_cast<std::uint64_t>(predictions[length * width + i]);
      if (!same) return reads_ahead_error(static_cast<std::int64_t>(i / width), static_cast<std::int64_t>(part));
    }
  }
  return {};
}

}  // namespace lanista::train

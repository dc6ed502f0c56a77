#include "lanista/inference/predictor.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "lanista/base/blend.h"
#include "lanista/base/rng.h"
#include "lanista/exec/kernels/flush_to_zero.h"
#include "lanista/exec/program/backend.h"
#include "lanista/exec/program/program.h"
#include "lanista/exec/train/evaluation.h"
#include "lanista/io/formats/onnx/onnx_export.h"
#include "lanista/io/formats/onnx/onnx_import.h"
#include "lanista/model/autodiff/loss.h"
#include "lanista/model/autodiff/training_step.h"
#include "lanista/model/graph/infer.h"
#include "lanista/search/study/metric.h"

namespace lanista::inference {
namespace {

constexpr std::int64_t kBatch = 64;

/// The program's initial state with the package's weights. Optimiser slots are not used here.
Result<std::vector<Tensor>> state_with_weights(std::vector<Tensor> state, const graph::Graph& model,
                                               std::span<const Tensor> weights, const graph::OpTable& ops) {
  LANISTA_ASSIGN(const auto wanted, graph::parameters(model, ops));
  for (const graph::NamedParam& param : wanted) {
    const auto same_name = [&](const Tensor& tensor) { return tensor.name == param.name; };
    const auto given = std::find_if(weights.begin(), weights.end(), same_name);
    if (given == weights.end()) return Error{Code::kDataLoss, "the weights lack '" + param.name + "'", ""};
    *std::find_if(state.begin(), state.end(), same_name) = *given;
  }
  if (wanted.size() != weights.size()) {
    return Error{
        Code::kDataLoss,
        "there are " + std::to_string(weights.size()) + " tensors; the model has " + std::to_string(wanted.size()), ""};
  }
  return state;
}

Result<program::Program> compile(const graph::Graph& model, std::span<const Tensor> weights,
                                 const std::string& precision, kernels::Isa isa, const program::Operators& operators,
                                 std::int64_t batch = kBatch) {
  const auto ops = autodiff::training_ops(operators.table());
  LANISTA_ASSIGN(const auto infer, autodiff::derive_inference_step(model, ops));
  program::ProgramOptions program_options;
  program_options.max_batch = batch;
  program_options.precision = stored(precision_of(precision));  // lanista kernels have no other
  program_options.backend = &program::cpu_backend(isa);
  program_options.operators = &operators;
  LANISTA_ASSIGN(auto program, program::Program::compile(infer, program_options));
  LANISTA_TRY(program.begin(0, 0));
  LANISTA_ASSIGN(const auto state, state_with_weights(program.extract(0), model, weights, operators.table()));
  if (auto inserted = program.insert(0, state); !inserted) return Error{Code::kDataLoss, inserted.error().message, ""};
  return program;
}

std::vector<double> run(program::Program& program, std::span<const float> features, std::size_t width,
                        std::size_t batch_size = kBatch) {
  const std::size_t rows = features.size() / width;
  const auto outputs = static_cast<std::size_t>(program.prediction_size());
  std::vector<double> out(rows * outputs);
  const kernels::FlushToZero as_workers;  // part of the numeric class
  for (std::size_t at = 0; at < rows; at += batch_size) {
    const std::size_t count = std::min(batch_size, rows - at);
    program::Batch batch;
    batch.size = static_cast<std::int64_t>(count);
    batch.features = features.subspan(at * width, count * width);
    program.predict(0, batch, std::span(out).subspan(at * outputs, count * outputs));
  }
  return out;
}

/// Normalises inputs as the file does.
void normalize(const formats::ImportedModel& model, std::span<float> features, std::int64_t per_sample) {
  if (!model.missing.empty()) {
    const auto width = static_cast<std::size_t>(per_sample);
    for (std::size_t i = 0; i < features.size(); ++i) {
      // One entry for all features, for each run of features (a channel), or for each feature.
      const std::size_t run = width / model.missing.size();
      if (std::isnan(features[i])) features[i] = static_cast<float>(model.missing[i % width / run]);
    }
  }
  const std::size_t entries = std::max({model.mean.size(), model.scale.size(), std::size_t{1}});
  data::Normalization inside{model.mean, model.scale};
  inside.mean.resize(entries, 0);
  inside.scale.resize(entries, 1);
  inside.apply(features, per_sample);
}

/// Scaling of the file's outputs.
program::TargetScaling target_scaling_in(const formats::ImportedModel& model) {
  return {model.target_mean, model.target_scale};
}

program::TargetScaling target_scaling_of(const std::optional<data::Normalization>& targets) {
  return targets ? program::TargetScaling{targets->mean, targets->scale} : program::TargetScaling{};
}

/// Conversion of raw features for a member with its own normalisation.
data::PostProcess post_process_of(const engine::ModelMember::Preprocessing& units) {
  data::PostProcess out{units.features, {}, units.unseen};
  for (const double value : units.missing) out.missing.push_back(static_cast<float>(value));
  return out;
}

/// The known metrics of a package's study, and all others for its task. Metrics of a caller are unknown here.
Result<std::vector<std::string>> metrics_of(const engine::ModelPackage& package) {
  const study::Targets targets = package.data.targets();
  const autodiff::Loss* loss = autodiff::find_loss(package.loss);
  if (loss == nullptr || loss->kind != targets.kind) {
    return Error{Code::kDataLoss, "loss '" + package.loss + "' does not fit the package's data", ""};
  }
  std::vector<std::string> metrics = study::applicable_metrics(targets);
  // Every position of a text is a row, so ranking metrics would need memory for vocabulary times text.
  std::erase_if(metrics, [&](const std::string& name) {
    return package.data.positions > 0 &&
           train::Evaluation(package.loss, {name}, package.data.width()).requested().scores;
  });
  for (const std::string& name : package.metrics) {
    const bool there = std::ranges::find(metrics, name) != metrics.end();
    if (!there && study::check_metric(name, targets)) metrics.push_back(name);
  }
  return metrics;
}

/// The elements of an input as float32, less `origin`: one number for each equal run of a row of `width`, or empty.
Result<std::vector<float>> as_features(const Tensor& input, std::size_t width, const std::vector<double>& origin) {
  std::vector<float> features;
  const auto take = [&](const auto& elements) {
    for (const auto element : elements) {
      if (origin.empty()) {
        features.push_back(static_cast<float>(element));
      } else {
        const double from = origin[features.size() % width * origin.size() / width];
        features.push_back(static_cast<float>(static_cast<double>(element) - from));
      }
    }
  };
  switch (input.type) {
    case ElementType::kF32:
      take(elements_of<float>(input));
      return features;
    case ElementType::kI64:
      take(elements_of<std::int64_t>(input));
      return features;
    case ElementType::kI32:
      take(elements_of<std::int32_t>(input));
      return features;
    case ElementType::kU8:
      take(elements_of<std::uint8_t>(input));
      return features;
    case ElementType::kF64:
      if (origin.empty()) break;
      take(elements_of<double>(input));
      return features;
  }
  return Error{Code::kInvalidArgument, "the input is float64; allowed: float32 and integers", ""};
}

}  // namespace

/// One compiled model of a package.
struct CompiledMember {
  program::Program program;
  std::optional<data::PostProcess> post_process;  ///< Conversion of raw features, if the package has none.
  program::TargetScaling unit;
};

struct Predictor::Impl {
  std::vector<CompiledMember> members;
  std::vector<double> shares;
  Blend how;
  std::string loss;
  std::vector<std::string> metrics;
  study::Targets targets;
  std::size_t width;
  std::int64_t answer;  ///< Numbers in one prediction (data::DataSpec::width).
  kernels::Isa isa;
  program::TargetScaling unit;  ///< Unit of the loss.
};

Predictor::Predictor(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Predictor::Predictor(Predictor&&) noexcept = default;
Predictor& Predictor::operator=(Predictor&&) noexcept = default;
Predictor::~Predictor() = default;

Result<Predictor> Predictor::create(const engine::ModelPackage& package, kernels::Isa isa,
                                    const program::Operators& operators) {
  const std::int64_t wanted = package.data.outputs();
  std::vector<CompiledMember> members;
  for (const engine::ModelMember& member : package.members) {
    LANISTA_ASSIGN(auto program, compile(member.model, member.weights, member.precision, isa, operators));
    if (program.prediction_size() != wanted) {
      return Error{Code::kDataLoss,
                   "the model gives " + std::to_string(program.prediction_size()) +
                       " numbers for each sample, the package needs " + std::to_string(wanted),
                   ""};
    }
    const engine::ModelMember::Preprocessing units = package.stored_preprocessing_of(member);
    CompiledMember& running =
        members.emplace_back(CompiledMember{std::move(program), {}, target_scaling_of(units.targets)});
    if (member.own_preprocessing) running.post_process = post_process_of(units);
  }
  LANISTA_ASSIGN(auto metrics, metrics_of(package));
  const auto width = static_cast<std::size_t>(package.data.features.elements_per_sample());
  return Predictor(std::make_unique<Impl>(Impl{std::move(members), package.shares(), package.blend(), package.loss,
                                               std::move(metrics), package.data.targets(), width, package.data.width(),
                                               isa, train::target_scaling_of(package.data)}));
}

std::int64_t Predictor::outputs() const { return impl_->members.front().program.prediction_size(); }

std::vector<double> Predictor::predict(std::span<const float> features) {
  LANISTA_CHECK(features.size() % impl_->width == 0, "features are not whole rows");
  std::vector<std::vector<double>> predictions;
  for (CompiledMember& member : impl_->members) {
    if (member.post_process) {
      std::vector<float> own(features.begin(), features.end());
      member.post_process->apply(own, static_cast<std::int64_t>(impl_->width));
      predictions.push_back(run(member.program, own, impl_->width));
    } else {
      predictions.push_back(run(member.program, features, impl_->width));
    }
    member.unit.to_original(predictions.back());
  }
  return blend(impl_->how, predictions, impl_->shares, static_cast<std::size_t>(impl_->answer));
}

Assessment Predictor::assess(std::span<const double> predictions, std::span<const std::int32_t> labels,
                             std::span<const float> targets) const {
  const train::Evaluation evaluation(impl_->loss, impl_->metrics, impl_->answer, {}, impl_->unit);
  program::Metrics requested = evaluation.requested();
  requested.confusion = impl_->targets.kind != autodiff::TargetKind::kNumbers;
  program::MetricSums sums;
  program::HostMetrics(requested, impl_->answer, impl_->isa).add(predictions, labels, targets, sums);
  Assessment out;
  out.rows = sums.samples;
  out.lost = sums.num_nan;
  out.metrics = evaluation.values(sums, "");
  out.classes = impl_->targets.classes;
  out.multilabel = impl_->targets.kind == autodiff::TargetKind::kMultilabel;
  out.confusion = std::move(sums.confusion);
  if (out.classes == 0 && !out.multilabel) out.residuals = residuals_of(predictions, targets, outputs());
  return out;
}

Result<Tensor> run_imported(const formats::ImportedModel& model, const Tensor& input) {
  LANISTA_ASSIGN(const graph::Types types, graph::infer_shapes(model.graph, graph::builtin_ops()));
  const auto shape_of = [&](std::string_view op) { return types.at({model.graph.nodes_of(op).front(), 0}).shape; };
  graph::Shape wanted = shape_of("input");
  std::vector<std::int64_t> features_shape = input.shape;
  if (!features_shape.empty()) features_shape.front() = graph::kBatch;
  if (features_shape != wanted.dims || input.elements() == 0) {
    return Error{Code::kInvalidArgument,
                 "the input is " + graph::Shape{input.shape}.text() + ", the model needs " + wanted.text(), ""};
  }
  const std::int64_t width = wanted.elements_per_sample();
  LANISTA_ASSIGN(std::vector<float> features, as_features(input, static_cast<std::size_t>(width), model.origins.input));
  normalize(model, features, width);

  const std::int64_t batch = std::min(kBatch, input.shape.front());
  LANISTA_ASSIGN(auto program, compile(model.graph, model.weights, "float32", kernels::best_isa(), {}, batch));
  auto values = run(program, features, static_cast<std::size_t>(width), static_cast<std::size_t>(batch));
  target_scaling_in(model).to_original(values);
  Tensor output{.name = "output", .type = ElementType::kF32, .shape = shape_of("output").dims, .bytes = {}};
  output.shape.front() = input.shape.front();
  if (const std::vector<double>& origin = model.origins.output; !origin.empty()) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += origin[i % origin.size()];
    output.type = ElementType::kF64;
    output.bytes.resize(values.size() * sizeof(double));
    std::ranges::copy(values, elements_of<double>(output).begin());
    return output;
  }
  output.bytes.resize(values.size() * sizeof(float));
  std::ranges::transform(values, elements_of<float>(output).begin(), [](double y) { return static_cast<float>(y); });
  return output;
}

namespace {

/// A package's ONNX file, read by our own reader and ready to predict.
class ReimportedModel {
 public:
  static Result<ReimportedModel> create(const engine::ModelPackage& package, const formats::OnnxModel& file) {
    ReimportedModel out(package);
    std::vector<formats::OnnxModel> members{file};
    if (package.members.size() > 1) {
      LANISTA_ASSIGN(members, formats::blended_members(file, package.blend(), out.shares_));
    }
    for (const formats::OnnxModel& member : members) {
      LANISTA_ASSIGN(auto imported, formats::from_onnx(member));
      LANISTA_ASSIGN(auto program, compile(imported.graph, imported.weights, "float32", kernels::best_isa(), {}));
      out.members_.push_back({std::move(imported), std::move(program)});
    }
    return out;
  }

  std::int64_t outputs() const { return members_.front().program.prediction_size(); }

  /// Predictions of raw samples.
  std::vector<double> predict(std::span<const float> raw, std::int64_t width) {
    std::vector<std::vector<double>> predictions;
    for (Member& member : members_) {
      std::vector<float> features(raw.begin(), raw.end());
      normalize(member.imported, features, width);
      predictions.push_back(run(member.program, features, static_cast<std::size_t>(width)));
      target_scaling_in(member.imported).to_original(predictions.back());
    }
    return blend(how_, predictions, shares_, width_);
  }

 private:
  struct Member {
    formats::ImportedModel imported;
    program::Program program;
  };
  explicit ReimportedModel(const engine::ModelPackage& package)
      : how_(package.blend()), width_(static_cast<std::size_t>(package.data.width())), shares_(package.shares()) {}

  Blend how_;
  std::size_t width_;
  std::vector<double> shares_;
  std::vector<Member> members_;
};

}  // namespace

Result<double> onnx_difference(const engine::ModelPackage& package, std::string_view onnx, std::int64_t samples) {
  LANISTA_ASSIGN(formats::OnnxModel decoded, formats::decode_onnx(onnx));
  // Origins are exact, so both sides are compared without them.
  const formats::OnnxOrigins expected_origins{package.data.origin, package.data.target_origin};
  if (formats::take_origins(decoded) != expected_origins) {
    return Error{Code::kDataLoss, "the ONNX model has other origins of its input or output", ""};
  }
  LANISTA_ASSIGN(auto theirs, ReimportedModel::create(package, decoded));
  LANISTA_ASSIGN(auto ours, Predictor::create(package));
  if (theirs.outputs() != ours.outputs()) {
    return Error{Code::kDataLoss, "the ONNX model has a different number of outputs", ""};
  }

  // Inputs similar to the first member's training rows: normally distributed, or tokens. Both sides start from raw
  // float32 values, less their origins.
  const auto width = static_cast<std::size_t>(package.data.features.elements_per_sample());
  std::vector<float> features(width * static_cast<std::size_t>(samples));
  Rng rng = Rng(1).split("onnx check");
  const auto vocab = static_cast<std::uint64_t>(package.data.vocab);
  for (float& x : features) {
    x = static_cast<float>(vocab > 0 ? static_cast<double>(rng.below(vocab)) : rng.normal());
  }
  std::vector<float> raw = features;
  const std::int64_t numbers = package.data.features.elements_per_sample();
  package.stored_preprocessing_of(package.members.front()).features.undo(raw, numbers);
  features = raw;
  package.data.stored_normalization().apply(features, numbers);

  const auto expected = ours.predict(features);
  const auto seen = theirs.predict(raw, numbers);
  // The value 1 in the unit of the targets.
  const auto& targets = package.data.target_normalization;
  const auto outputs = static_cast<std::size_t>(ours.outputs());
  double largest = 0;
  for (std::size_t first = 0; first < seen.size(); first += outputs) {
    double difference = 0, size = 0;
    for (std::size_t k = 0; k < outputs; ++k) {
      const double one = targets ? targets->scale[k] : 1;
      const double our_value = expected[first + k], their_value = seen[first + k];
      // A NaN or an infinity on one side only is the largest possible difference.
      if (std::isnan(their_value) != std::isnan(our_value)) return Error{Code::kDataLoss, "NaN on one side only", ""};
      if (std::isinf(their_value) || std::isinf(our_value)) {
        if (their_value == our_value) continue;
        return Error{Code::kDataLoss, "infinity on one side only", ""};
      }
      if (std::isnan(our_value)) continue;
      difference = std::max(difference, std::abs(their_value - our_value) / one);
      size = std::max(size, std::abs(our_value) / one);
    }
    largest = std::max(largest, difference / (1 + size));
  }
  return largest;
}

}  // namespace lanista::inference

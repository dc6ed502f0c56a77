#include "lanista/train/trainer.h"

#include <array>
#include <bit>
#include <charconv>
#include <span>

#include "lanista/data/augment.h"
#include "lanista/nn/program.h"
#include "lanista/step/training_step.h"
#include "lanista/study/metric.h"
#include "lanista/train/evaluation.h"
#include "lanista/train/schedule.h"

namespace lanista::train {
namespace {

step::Optimizer optimizer_of(const study::Recipe& recipe) {
  if (recipe.optimizer == "adam") return step::Optimizer::kAdam;
  if (recipe.optimizer == "adamw") return step::Optimizer::kAdamW;
  return step::Optimizer::kSgd;
}

// A fact is text; doubles travel as their bits, so that a resumed sum goes on exactly.
Result<std::uint64_t> read_number(const std::map<std::string, std::string>& facts, const std::string& name) {
  const auto it = facts.find(name);
  if (it == facts.end()) return Error{Code::kDataLoss, "checkpoint lacks '" + name + "'", ""};
  std::uint64_t value = 0;
  const char* end = it->second.data() + it->second.size();
  const auto parsed = std::from_chars(it->second.data(), end, value);
  if (parsed.ec != std::errc() || parsed.ptr != end) {
    return Error{Code::kDataLoss, "checkpoint's '" + name + "' is not a number: '" + it->second + "'", ""};
  }
  return value;
}

// Room for one mini-batch, filled again and again.
struct BatchBuffers {
  std::vector<float> features, targets;
  std::vector<std::int32_t> labels;
  std::vector<std::int64_t> rows;

  BatchBuffers(std::int64_t batch, const data::DataSpec& spec)
      : features(static_cast<std::size_t>(batch * spec.features.elements_per_sample())) {
    if (spec.classes > 0) {
      labels.resize(static_cast<std::size_t>(batch));
    } else {
      targets.resize(static_cast<std::size_t>(batch * spec.target_size));
    }
  }

  nn::Batch fill(const data::Dataset& data, std::span<const std::int64_t> wanted) {
    const auto features_used =
        std::span(features).first(wanted.size() * static_cast<std::size_t>(data.spec().features.elements_per_sample()));
    data.gather_features(wanted, features_used);
    return with_targets(data, wanted, features_used);
  }

  // A batch of features that lie ready.
  nn::Batch with_targets(const data::Dataset& data, std::span<const std::int64_t> wanted,
                         std::span<const float> ready) {
    const auto& spec = data.spec();
    nn::Batch batch;
    batch.size = static_cast<std::int64_t>(wanted.size());
    batch.sample_index = wanted;
    batch.features = ready;
    if (spec.classes > 0) {
      const auto used = std::span(labels).first(wanted.size());
      data.gather_labels(wanted, used);
      batch.labels = used;
    } else {
      const auto used = std::span(targets).first(wanted.size() * static_cast<std::size_t>(spec.target_size));
      data.gather_targets(wanted, used);
      batch.targets = used;
    }
    return batch;
  }

  // Changes the features that `fill` has put here for the same rows.
  void augment(const data::Augmenter& augmenter, std::uint64_t data_seed, std::int64_t epoch,
               std::span<const std::int64_t> wanted, std::size_t width) {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      augmenter.apply(data_seed, epoch, wanted[i], std::span(features).subspan(i * width, width));
    }
  }
};

}  // namespace

struct Trainer::Impl {
  TrainerInput input;
  nn::Program program;
  data::Augmenter augmenter;
  BatchBuffers buffers;
  std::vector<std::int64_t> order;                      // of the epoch in progress
  std::shared_ptr<const data::PreparedEpoch> prepared;  // of the epoch in progress, if others read it too
  std::int64_t order_epoch = -1;
  std::int64_t step = 0;
  double loss_sum = 0;  // of the epoch in progress, weighted by batch size
  std::vector<study::Measurement> measurements;
  std::vector<double> predictions;

  Impl(const TrainerInput& in, nn::Program p, data::Augmenter a)
      : input(in), program(std::move(p)), augmenter(std::move(a)), buffers(in.recipe.batch, in.data->spec()) {
    predictions.resize(static_cast<std::size_t>(in.recipe.batch * program.prediction_size()));
  }

  const std::vector<std::int64_t>& train_rows() const { return input.data->rows(data::Part::kTrain); }
  std::int64_t steps_per_epoch() const {
    const auto rows = static_cast<std::int64_t>(train_rows().size());
    return (rows + input.recipe.batch - 1) / input.recipe.batch;
  }

  nn::LaneHyper hyper() const {
    const auto& r = input.recipe;
    nn::LaneHyper h;
    h.lr = learning_rate(r, step, steps_per_epoch());
    h.momentum = r.momentum;
    h.nesterov = r.nesterov;
    h.weight_decay = r.weight_decay;
    h.beta1 = r.beta1;
    h.beta2 = r.beta2;
    h.eps = r.eps;
    h.clip_norm = r.clip_norm;
    h.label_smoothing = r.label_smoothing;
    return h;
  }

  std::map<std::string, double> evaluate(data::Part part, const std::string& prefix) {
    const auto width = static_cast<std::size_t>(program.prediction_size());
    Evaluation sums(loss_of(input.recipe), input.metrics, program.prediction_size(), input.isa);
    const auto& rows = input.data->rows(part);
    const auto chunk = static_cast<std::size_t>(input.recipe.batch);
    for (std::size_t at = 0; at < rows.size(); at += chunk) {
      const auto wanted = std::span(rows).subspan(at, std::min(chunk, rows.size() - at));
      const nn::Batch batch = buffers.fill(*input.data, wanted);
      const auto used = std::span(predictions).first(wanted.size() * width);
      program.predict(0, batch, used);
      sums.add(used, batch.labels, batch.targets);
    }
    return sums.means(prefix);
  }

  void begin_epoch(std::int64_t epoch) {
    prepared.reset();
    if (input.epochs != nullptr && !augmenter.empty()) {
      prepared = input.epochs->get(input.recipe.augment, augmenter, input.data_seed, epoch);
    }
    order = prepared ? prepared->rows : data::epoch_order(train_rows(), input.data_seed, epoch);
    order_epoch = epoch;
  }

  nn::Batch next_batch(std::int64_t epoch, std::size_t begin, std::size_t count) {
    const auto rows = std::span(order).subspan(begin, count);
    const auto width = static_cast<std::size_t>(input.data->spec().features.elements_per_sample());
    if (prepared) {
      return buffers.with_targets(*input.data, rows,
                                  std::span(prepared->features).subspan(begin * width, count * width));
    }
    const nn::Batch batch = buffers.fill(*input.data, rows);
    if (!augmenter.empty()) buffers.augment(augmenter, input.data_seed, epoch, rows, width);
    return batch;
  }

  bool train_one() {
    const std::int64_t epoch = step / steps_per_epoch();
    if (order_epoch != epoch) begin_epoch(epoch);
    const auto begin = static_cast<std::size_t>(step % steps_per_epoch() * input.recipe.batch);
    const auto count = std::min(static_cast<std::size_t>(input.recipe.batch), order.size() - begin);
    const nn::Batch batch = next_batch(epoch, begin, count);

    const std::array<nn::LaneHyper, 1> lane_hyper{hyper()};
    const std::array<std::uint8_t, 1> active{1};
    std::array<double, 1> lane_loss{};
    program.train_step(std::span(&batch, 1), lane_hyper, active, lane_loss);
    loss_sum += lane_loss[0] * static_cast<double>(count);
    ++step;
    if (step % steps_per_epoch() != 0) return false;

    prepared.reset();
    study::Measurement measurement;
    measurement.trial = input.trial;
    measurement.epoch = step / steps_per_epoch();
    measurement.step = step;
    measurement.metrics = evaluate(data::Part::kValidation, "val_");
    measurement.metrics["train_loss"] = loss_sum / static_cast<double>(train_rows().size());
    measurements.push_back(std::move(measurement));
    loss_sum = 0;
    return true;
  }
};

Result<std::vector<study::Measurement>> read_measurements(const std::map<std::string, std::string>& facts) {
  const auto it = facts.find("measurements");
  if (it == facts.end()) return Error{Code::kDataLoss, "checkpoint lacks 'measurements'", ""};
  const auto json = nlohmann::json::parse(it->second, nullptr, false);
  if (!json.is_array()) return Error{Code::kDataLoss, "checkpoint's 'measurements' is not a list", ""};
  std::vector<study::Measurement> out;
  for (const auto& item : json) {
    LANISTA_ASSIGN(auto measurement, study::measurement_from_json(item));
    out.push_back(std::move(measurement));
  }
  return out;
}

Trainer::Trainer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Trainer::Trainer(Trainer&&) noexcept = default;
Trainer& Trainer::operator=(Trainer&&) noexcept = default;
Trainer::~Trainer() = default;

Result<Trainer> Trainer::create(const TrainerInput& input) {
  const auto& spec = input.data->spec();
  const step::Loss loss = loss_of(input.recipe);
  if ((loss == step::Loss::kCrossEntropy) != (spec.classes > 0)) {
    return Error{Code::kInvalidArgument,
                 "loss '" + input.recipe.loss + "' does not fit data '" + spec.name + "' with " +
                     (spec.classes > 0 ? "classes" : "numbers") + " as targets",
                 "train.loss"};
  }
  for (const auto& name : input.metrics) LANISTA_TRY(study::check_metric(name, spec.classes));
  LANISTA_ASSIGN(auto augmenter, data::Augmenter::make(input.recipe.augment, spec));

  const step::StepOptions options{loss, optimizer_of(input.recipe)};
  LANISTA_ASSIGN(const auto train, step::derive_training_step(input.model, options, *input.step_ops));
  LANISTA_ASSIGN(const auto infer, step::derive_inference_step(input.model, *input.step_ops));
  nn::ProgramOptions program_options;
  program_options.max_batch = input.recipe.batch;
  program_options.precision = input.recipe.precision == "float64" ? nn::Precision::kFloat64 : nn::Precision::kFloat32;
  program_options.isa = input.isa;
  program_options.budget = input.budget;
  program_options.operators = input.operators;
  LANISTA_ASSIGN(auto program, nn::Program::compile(train, infer, program_options));

  const std::int64_t wanted = spec.classes > 0 ? spec.classes : spec.target_size;
  if (program.prediction_size() != wanted) {
    return Error{Code::kInvalidArgument,
                 "the model gives " + std::to_string(program.prediction_size()) + " numbers a sample, data '" +
                     spec.name + "' wants " + std::to_string(wanted),
                 ""};
  }
  program.initialise(0, input.trial_seed);
  return Trainer(std::make_unique<Impl>(input, std::move(program), std::move(augmenter)));
}

std::int64_t Trainer::steps_per_epoch() const { return impl_->steps_per_epoch(); }
std::int64_t Trainer::step_count() const { return impl_->step; }
std::int64_t Trainer::epochs_done() const { return static_cast<std::int64_t>(impl_->measurements.size()); }
bool Trainer::step() { return impl_->train_one(); }
const std::vector<study::Measurement>& Trainer::measurements() const { return impl_->measurements; }
std::string Trainer::describe() const { return impl_->program.describe(); }

std::map<std::string, double> Trainer::evaluate(data::Part part, const std::string& prefix) {
  return impl_->evaluate(part, prefix);
}

TrainerState Trainer::save() const {
  TrainerState state;
  state.tensors = impl_->program.extract(0);
  auto measurements = nlohmann::json::array();
  for (const auto& measurement : impl_->measurements) measurements.push_back(study::measurement_json(measurement));
  state.facts["epoch"] = std::to_string(epochs_done());
  state.facts["step"] = std::to_string(impl_->step);
  state.facts["loss_sum"] = std::to_string(std::bit_cast<std::uint64_t>(impl_->loss_sum));
  state.facts["measurements"] = measurements.dump();
  return state;
}

Result<void> Trainer::restore(const TrainerState& state) {
  LANISTA_ASSIGN(const auto step, read_number(state.facts, "step"));
  LANISTA_ASSIGN(const auto loss_bits, read_number(state.facts, "loss_sum"));
  LANISTA_ASSIGN(auto measurements, read_measurements(state.facts));
  const auto steps = static_cast<std::int64_t>(step);
  if (steps < 0 || static_cast<std::int64_t>(measurements.size()) != steps / steps_per_epoch()) {
    return Error{Code::kDataLoss,
                 "checkpoint has " + std::to_string(measurements.size()) + " measurements at step " +
                     std::to_string(steps) + " with " + std::to_string(steps_per_epoch()) + " steps an epoch",
                 ""};
  }
  if (auto inserted = impl_->program.insert(0, state.tensors); !inserted) {
    return Error{Code::kDataLoss, inserted.error().message, inserted.error().where};
  }
  impl_->step = steps;
  impl_->loss_sum = std::bit_cast<double>(loss_bits);
  impl_->measurements = std::move(measurements);
  impl_->order_epoch = -1;
  return {};
}

}  // namespace lanista::train

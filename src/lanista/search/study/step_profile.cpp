#include "lanista/search/study/step_profile.h"

#include <algorithm>
#include <cmath>

#include "lanista/model/autodiff/optimizer.h"
#include "lanista/model/graph/infer.h"
#include "lanista/search/study/program_key.h"
#include "lanista/search/study/record_fields.h"

namespace lanista::study {
namespace {

using nlohmann::json;

// A training step computes the forward pass and both gradients of every product.
constexpr double kTraining = 3;
// Speeds of the fictitious machine, and seconds of a call.
constexpr double kFlopsPerSecond = 2e10, kBytesPerSecond = 1e10, kCall = 1e-6;

double from(const json& in, const char* name, double least) {
  const double value = fields::real(in, name);
  if (!std::isfinite(value) || value < least) {
    throw fields::Malformed{std::string("'") + name + "' must be a number of at least " + (least > 0 ? "1" : "0")};
  }
  return value;
}

std::int64_t count(const json& in, const char* name, std::int64_t least) {
  const std::int64_t value = fields::integer(in, name);
  if (value < least) throw fields::Malformed{std::string("'") + name + "' is below " + std::to_string(least)};
  return value;
}

}  // namespace

std::array<double, 6> StepShape::features() const {
  const double rows = static_cast<double>(batch);
  const auto log_of = [](double value) { return std::log(std::max(value, 1.0)); };
  return {log_of(rows),       log_of(widest),       log_of(operators),
          log_of(parameters), log_of(flops * rows), log_of(bytes * rows)};
}

double StepShape::nominal_step() const {
  const double rows = static_cast<double>(batch);
  return kTraining * (rows * flops / kFlopsPerSecond + rows * bytes / kBytesPerSecond + operators * kCall);
}

double StepShape::nominal_update() const {
  const autodiff::Optimizer* known = autodiff::find_optimizer(optimizer);
  const double slots = known == nullptr ? 0 : static_cast<double>(known->slots.size());
  // Parameters and slots are read and written, gradients are read.
  return parameters * (3 + 2 * slots) * (precision == "float64" ? 8 : 4) / kBytesPerSecond;
}

Result<StepShape> step_shape(const graph::Graph& model, const graph::OpTable& ops, const Recipe& recipe) {
  LANISTA_ASSIGN(const graph::ModelCost cost, graph::model_cost(model, ops));
  LANISTA_ASSIGN(const graph::Types types, graph::infer_shapes(model, ops));
  const Digest structure = structure_key(model, ops);
  StepShape out{.program = program_key(structure, recipe).hex(),
                .structure = structure.hex(),
                .optimizer = recipe.optimizer,
                .precision = recipe.precision,
                .batch = recipe.batch,
                .shards = recipe.shards,
                .parameters = static_cast<double>(cost.parameters),
                .operators = static_cast<double>(model.nodes().size()),
                .widest = 0,
                .flops = cost.forward.flops,
                .bytes = cost.forward.bytes};
  for (const auto& node : model.nodes()) {
    for (const graph::ValueType& type : types.outputs(node->id)) {
      out.widest = std::max(out.widest, static_cast<double>(type.shape.elements(1)));
    }
  }
  return out;
}

json profile_json(const Profile& profile) {
  const StepShape& shape = profile.shape;
  return {{"program", shape.program},
          {"structure", shape.structure},
          {"optimizer", shape.optimizer},
          {"precision", shape.precision},
          {"batch", shape.batch},
          {"shards", shape.shards},
          {"parameters", shape.parameters},
          {"operators", shape.operators},
          {"widest", shape.widest},
          {"flops", shape.flops},
          {"bytes_moved", shape.bytes},
          {"device", profile.device},
          {"width", profile.width},
          {"lanes", profile.lanes},
          {"residents", profile.residents},
          {"spans", profile.spans},
          {"step_seconds", profile.step},
          {"evaluation_row_seconds", profile.evaluation_row},
          {"between_seconds", profile.between},
          {"set_up_seconds", profile.set_up},
          {"save_seconds", profile.save},
          {"restore_seconds", profile.restore},
          {"peak_bytes", profile.bytes},
          {"epochs_to_best", profile.epochs_to_best}};
}

Result<Profile> read_profile(const json& in) {
  return fields::read_record<Profile>("profile", [&] {
    Profile out;
    out.shape = {.program = fields::digest(in, "program").hex(),
                 .structure = fields::digest(in, "structure").hex(),
                 .optimizer = fields::text(in, "optimizer"),
                 .precision = fields::text(in, "precision"),
                 .batch = count(in, "batch", 1),
                 .shards = count(in, "shards", 1),
                 .parameters = from(in, "parameters", 0),
                 .operators = from(in, "operators", 1),
                 .widest = from(in, "widest", 0),
                 .flops = from(in, "flops", 0),
                 .bytes = from(in, "bytes_moved", 0)};
    out.device = fields::text(in, "device");
    out.width = count(in, "width", 1);
    out.lanes = count(in, "lanes", 1);
    out.residents = count(in, "residents", 1);
    out.spans = count(in, "spans", 1);
    out.step = from(in, "step_seconds", 0);
    out.evaluation_row = from(in, "evaluation_row_seconds", 0);
    out.between = from(in, "between_seconds", 0);
    out.set_up = from(in, "set_up_seconds", 0);
    out.save = from(in, "save_seconds", 0);
    out.restore = from(in, "restore_seconds", 0);
    out.bytes = count(in, "peak_bytes", 0);
    out.epochs_to_best = count(in, "epochs_to_best", 0);
    return out;
  });
}

}  // namespace lanista::study

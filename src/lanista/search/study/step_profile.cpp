#include "lanista/search/study/step_profile.h"

#include <algorithm>
#include <cmath>

#include "lanista/model/autodiff/optimizer.h"
#include "lanista/model/graph/infer.h"
#include "lanista/search/study/program_key.h"
#include "lanista/search/study/record_table.h"

namespace lanista::study {
namespace {

using fields::FieldTable;
using nlohmann::json;

// A training step computes the forward pass and both gradients of every product.
constexpr double kTraining = 3;
// Speeds of the fictitious machine, and seconds of a call.
constexpr double kFlopsPerSecond = 2e10, kBytesPerSecond = 1e10, kCall = 1e-6;

void amount(FieldTable& t, double least, const char* name, double& value) {
  t(name, value);
  if (t.reads() && (!std::isfinite(value) || value < least)) {
    throw fields::Malformed{std::string("'") + name + "' must be a number of at least " + (least > 0 ? "1" : "0")};
  }
}

void hash(FieldTable& t, const char* name, std::string& hex) {
  t.via(
      name, hex, [](const std::string& digits) { return digits; },
      [&](const json& in) {
        return fields::digest({{name, in}}, name).hex();
      });
}

void table(FieldTable& t, Profile& profile) {
  StepShape& shape = profile.shape;
  hash(t, "program", shape.program);
  hash(t, "structure", shape.structure);
  t("optimizer", shape.optimizer)("precision", shape.precision);
  t.at_least(1, "batch", shape.batch).at_least(1, "shards", shape.shards);
  amount(t, 0, "parameters", shape.parameters);
  amount(t, 1, "operators", shape.operators);
  amount(t, 0, "widest", shape.widest);
  amount(t, 0, "flops", shape.flops);
  amount(t, 0, "bytes_moved", shape.bytes);
  t("device", profile.device).at_least(1, "width", profile.width).at_least(1, "lanes", profile.lanes);
  t.at_least(1, "residents", profile.residents).at_least(1, "spans", profile.spans);
  amount(t, 0, "step_seconds", profile.step);
  amount(t, 0, "evaluation_row_seconds", profile.evaluation_row);
  amount(t, 0, "between_seconds", profile.between);
  amount(t, 0, "set_up_seconds", profile.set_up);
  amount(t, 0, "save_seconds", profile.save);
  amount(t, 0, "restore_seconds", profile.restore);
  t.at_least(0, "peak_bytes", profile.bytes).at_least(0, "epochs_to_best", profile.epochs_to_best);
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

json profile_json(const Profile& profile) { return fields::write_table(profile, table); }
Result<Profile> read_profile(const json& in) { return fields::read_table<Profile>("profile", in, table); }

}  // namespace lanista::study

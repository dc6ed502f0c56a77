#include "lanista/model/ops/op_rules.h"

namespace lanista::graph::ops {
namespace {

OpDef input_op() {
  OpDef def = named_op("input", "The input batch of the model.", 0);
  def.role = OpRole::kSource;
  AttrSpec dtype;
  dtype.name = "dtype";
  dtype.default_value = std::string("real");
  dtype.allowed = {"real", "index"};
  dtype.help = "real numbers, or token numbers";
  def.attrs = {required_list("shape", 1, AttrRole::kStatic, "shape of one sample, without the batch"),
               std::move(dtype)};
  def.infer = [](const OpArgs& args) {
    return value(batched(args.list("shape")), args.text("dtype") == "index" ? DType::kIndex : DType::kReal);
  };
  return def;
}

OpDef output_op() {
  OpDef def = named_op("output", "The result of the model; passes its input through.");
  def.facts = {.units = UnitFlow::kAll, .preserves_zero = true, .preserves_mean = true};
  def.infer = infer_same;
  def.is_view = true;
  return def;
}

}  // namespace

Result<void> add_source_ops(OpTable& table) { return add_all(table, {input_op(), output_op()}); }

}  // namespace lanista::graph::ops

#include "lanista/model/ops/op_rules.h"

namespace lanista::graph::ops {
namespace {

OpDef input_op() {
  OpDef def;
  def.name = "input";
  def.help = "The input batch of the model.";
  def.role = OpRole::kSource;
  def.min_inputs = 0;
  def.max_inputs = 0;
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
  OpDef def;
  def.name = "output";
  def.help = "The result of the model; passes its input through.";
  def.infer = infer_same;
  def.is_view = true;
  return def;
}

}  // namespace

Result<void> add_source_ops(OpTable& table) {
  LANISTA_TRY(table.add(input_op()));
  return table.add(output_op());
}

}  // namespace lanista::graph::ops

// Sequences: rows of a table by token number.
#include <utility>

#include "lanista/formats/onnx_rules.h"
#include "lanista/formats/onnx_tensor.h"

namespace lanista::formats::onnx {
namespace {

Result<Plan> gather(const Site& site) {
  LANISTA_TRY(site.only({"axis"}));
  LANISTA_TRY(site.must_be("axis", 0));
  LANISTA_ASSIGN(const Tensor* table, site.weight(0));
  LANISTA_ASSIGN(std::string tokens, site.data(1));
  if (table->shape.size() != 2) {
    return refused("its table has the shape " + graph::Shape{table->shape}.text() + "; read are [tokens, features]");
  }
  return direct({std::move(tokens)}, "embedding", {{"vocab", table->shape[0]}, {"dim", table->shape[1]}}, {table});
}

}  // namespace

Rules sequence_rules() { return {{"Gather", {gather}}}; }

}  // namespace lanista::formats::onnx

// The text form of models and edits: text and graph are inverse, and inference accepts or rejects any graph.
#include "fuzz.h"
#include "lanista/model/graph/editor.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/infer.h"
#include "lanista/model/graph/op.h"
#include "lanista/model/graph/text.h"

namespace {

// Checks the input as a model.
void check_model(std::string_view text) {
  using namespace lanista::graph;
  static const OpTable ops = builtin_ops();
  const auto graph = parse(text);
  if (!graph) return;
  const auto again = parse(to_text(*graph));
  LANISTA_CHECK(again.ok() && *again == *graph, "a model does not survive its text form");
  LANISTA_CHECK(!to_dot(*graph).empty(), "the DOT text of a model is empty");
  const auto cost = model_cost(*graph, ops);
  const bool valid = verify(*graph, ops).ok();
  LANISTA_CHECK(!valid || cost.ok(), "a valid model has no cost");
  if (valid) LANISTA_CHECK(canonical_hash(*graph, ops) == canonical_hash(*again, ops), "the hash is not stable");
}

// Checks the input as an edit.
void check_edit(std::string_view text) {
  using namespace lanista::graph;
  const auto edit = parse_edit(text);
  if (!edit) return;
  const auto again = parse_edit(edit_text(*edit));
  LANISTA_CHECK(again.ok() && edit_text(*again) == edit_text(*edit), "an edit does not survive its text form");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = lanista::fuzz::as_text(data, size);
  check_model(text);
  check_edit(text);
  return 0;
}

// The text form of models and of edits: what is read can be written, and reads as the same; whatever is read can be
// judged by inference.
#include "fuzz.h"
#include "lanista/model/graph/editor.h"
#include "lanista/model/graph/graph.h"
#include "lanista/model/graph/infer.h"
#include "lanista/model/graph/op.h"
#include "lanista/model/graph/text.h"

namespace {

void check_model(std::string_view text) {
  using namespace lanista::graph;
  static const OpTable ops = builtin_ops();
  const auto graph = parse(text);
  if (!graph) return;
  const auto again = parse(to_text(*graph));
  LANISTA_CHECK(again.ok() && *again == *graph, "a model does not survive its text form");
  LANISTA_CHECK(!to_dot(*graph).empty(), "no drawing");
  const auto cost = model_cost(*graph, ops);
  const bool sound = verify(*graph, ops).ok();
  LANISTA_CHECK(!sound || cost.ok(), "a sound model has no cost");
  if (sound) LANISTA_CHECK(canonical_hash(*graph, ops) == canonical_hash(*again, ops), "the hash is not stable");
}

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

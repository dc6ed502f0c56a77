#include <string>
#include <type_traits>

#include "lanista/model/graph/editor.h"
#include "lanista/model/graph/size_limits.h"
#include "lanista/model/graph/text.h"
#include "lanista/model/graph/text_reader.h"

// The forms are:  put %5 = relu(%3) "label"    remove %5    input %5 1 = %3.1    attr %5 out = 64

namespace lanista::graph {
namespace {

Result<Edit> read_put(LineReader& reader) {
  LANISTA_ASSIGN(Node node, reader.node());
  return Edit(PutNode{std::move(node)});
}

Result<Edit> read_remove(LineReader& reader) {
  LANISTA_ASSIGN(const NodeId id, reader.node_id());
  return Edit(RemoveNode{id});
}

Result<Edit> read_input(LineReader& reader) {
  SetInput edit;
  LANISTA_ASSIGN(edit.node, reader.node_id());
  reader.skip_blanks();
  LANISTA_ASSIGN(edit.slot, reader.natural("an input number", kMaxNodeId));
  LANISTA_TRY(reader.expect("="));
  LANISTA_ASSIGN(edit.source, reader.port());
  return Edit(edit);
}

Result<Edit> read_attr(LineReader& reader) {
  SetAttr edit;
  LANISTA_ASSIGN(edit.node, reader.node_id());
  LANISTA_ASSIGN(edit.name, reader.word("an attribute"));
  LANISTA_TRY(reader.expect("="));
  LANISTA_ASSIGN(edit.value, reader.value());
  return Edit(std::move(edit));
}

}  // namespace

std::string edit_text(const Edit& edit) {
  return std::visit(
      [](const auto& e) -> std::string {
        using T = std::decay_t<decltype(e)>;
        if constexpr (std::is_same_v<T, PutNode>) {
          return "put " + node_text(e.node);
        } else if constexpr (std::is_same_v<T, RemoveNode>) {
          return "remove " + port_text({e.id, 0});
        } else if constexpr (std::is_same_v<T, SetInput>) {
          return "input " + port_text({e.node, 0}) + " " + std::to_string(e.slot) + " = " + port_text(e.source);
        } else {
          return "attr " + port_text({e.node, 0}) + " " + e.name + " = " + attr_text(e.value);
        }
      },
      edit);
}

Result<Edit> parse_edit(std::string_view text) {
  if (const auto end = text.find('\n'); end != std::string_view::npos) {
    return LineReader(text, 1).error_at(end, "an edit is one line");
  }
  LineReader reader(text, 1);
  reader.skip_blanks();
  const std::size_t begin = reader.position();
  LANISTA_ASSIGN(const std::string verb, reader.word("put, remove, input or attr"));
  Result<Edit> edit = verb == "put"      ? read_put(reader)
                      : verb == "remove" ? read_remove(reader)
                      : verb == "input"  ? read_input(reader)
                      : verb == "attr"   ? read_attr(reader)
                                         : reader.error_at(begin, "unknown edit " + in_quotes(verb.substr(0, 64)) +
                                                                      "; known: put, remove, input, attr");
  if (edit) LANISTA_TRY(reader.expect_end());
  return edit;
}

}  // namespace lanista::graph

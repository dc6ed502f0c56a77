#include "lanista/io/studyfile/blueprint.h"

#include <algorithm>
#include <filesystem>

#include "lanista/base/edit_distance.h"
#include "lanista/io/studyfile/mistakes.h"
#include "lanista/io/studyfile/notation.h"
#include "lanista/io/studyfile/yaml_guard.h"
#include "lanista/model/spaces/published.h"

namespace lanista::studyfile {

using mutate::BlueprintSpace;
using nlohmann::json;

namespace {

constexpr std::string_view kBuiltin = "builtin:";

json described(json schema, const char* help) {
  schema["description"] = help;
  return schema;
}

json block_object(const char* help, json properties, std::vector<std::string> required) {
  return {{"type", "object"},
          {"description", help},
          {"additionalProperties", false},
          {"properties", std::move(properties)},
          {"required", std::move(required)}};
}

json text_schema() { return {{"type", "string"}}; }

json names_schema() { return {{"anyOf", {text_schema(), {{"type", "array"}, {"items", text_schema()}}}}}; }

json blocks_schema() { return {{"type", "array"}, {"items", {{"type", json::array({"string", "object"})}}}}; }

json choices_schema() {
  return {{"type", "object"},
          {"additionalProperties", {{"description", "a list of values, or int() range() log() quant() choice()"}}}};
}

json reduce_schema(const char* usual) {
  return {{"enum", {"sum", "mean", "concat", "mul"}},
          {"description", "operation that joins the values"},
          {"default", usual}};
}

json inputs_schema() {
  return block_object(
      "some of the named values, joined",
      {{"label", described(text_schema(), "name of the choice")},
       {"from", described(names_schema(), "values to choose from")},
       {"always", described(names_schema(), "values that are joined in any case")},
       {"choose", {{"description", "how many values: a number, [fewest, most], or any"}, {"default", 1}}},
       {"reduce", reduce_schema("sum")}},
      {"label", "from"});
}

json repeat_schema() {
  return block_object("layers several times",
                      {{"label", described(text_schema(), "name of the choice of the depth")},
                       {"depth", {{"description", "how many times"}}},
                       {"layers", described(blocks_schema(), "chain that is repeated")},
                       {"each",
                        {{"enum", {"shared", "own"}},
                         {"description", "whether rounds share choices; own: each round has its own, such as k/1"},
                         {"default", "shared"}}},
                       {"index", described(text_schema(), "name of the round (0, 1, …) in formulas")},
                       {"choices", described(choices_schema(), "values that formulas of the layers read")}},
                      {"depth", "layers"});
}

json cell_schema() {
  return block_object(
      "cell of the NASNet kind: each node reads earlier values through operators and sums them",
      {{"label", described(text_schema(), "beginning of the names of its choices")},
       {"nodes", {{"type", "integer"}, {"description", "number of nodes"}, {"default", 4}}},
       {"inputs", {{"type", "integer"}, {"description", "values that a node reads"}, {"default", 2}}},
       {"of", described(blocks_schema(), "operators to choose from")},
       {"previous", described(names_schema(), "values from outside that nodes may read")},
       {"distinct",
        {{"type", "boolean"}, {"description", "whether a node reads different values"}, {"default", false}}},
       {"join",
        {{"enum", {"all", "loose_end"}},
         {"description", "nodes that form the output: all, or those that no other node reads"},
         {"default", "all"}}},
       {"reduce", reduce_schema("concat")}},
      {"label", "of"});
}

}  // namespace

json blueprint_json_schema() {
  json block{{"type", "object"}, {"description", "one of these keys, or the name of an operator with its attributes"}};
  block["properties"] = {
      {"name", described(text_schema(), "name of the block's value")},
      {"from", described(names_schema(), "values that the block reads, instead of the value before")},
      {"label", described(text_schema(), "label of the operator's node")},
      {"layers", described(blocks_schema(), "chain, for a name of its own")},
      {"if", described(text_schema(), "formula that selects between then and else")},
      {"then", described(blocks_schema(), "chain if the formula is true")},
      {"else", described(blocks_schema(), "chain if the formula is false")},
      {"choice",
       block_object("one of several options",
                    {{"label", described(text_schema(), "name of the choice")},
                     {"of", described(blocks_schema(), "options to choose from: operators, skip, or {name, layers}")}},
                    {"label", "of"})},
      {"inputs", inputs_schema()},
      {"repeat", repeat_schema()},
      {"parallel",
       block_object("branches that read the same value, joined",
                    {{"branches", {{"type", "array"}, {"items", blocks_schema()}, {"description", "chains of blocks"}}},
                     {"reduce", reduce_schema("sum")}},
                    {"branches"})},
      {"cell", cell_schema()}};
  return block_object("blocks with choices",
                      {{"choices", described(choices_schema(), "values that formulas anywhere read")},
                       {"layers",
                        {{"type", "array"},
                         {"description", "chain from the input to the output of the model"},
                         {"items", {{"anyOf", {text_schema(), block}}}}}}},
                      {"layers"});
}

namespace {

// "2,3" is a list.
json option_value(const std::string& text) {
  if (text.find(',') == std::string::npos) return space::value_json(parse_value(text));
  json list = json::array();
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find(',', start), text.size());
    list.push_back(space::value_json(parse_value(text.substr(start, end - start))));
    start = end + 1;
  }
  return list;
}

}  // namespace

Result<NamedSpace> parse_named_space(const std::string& text) {
  const std::string rest = text.substr(kBuiltin.size());
  NamedSpace out;
  const auto mark = rest.find('?');
  out.name = rest.substr(0, mark);
  std::string options = mark == std::string::npos ? "" : rest.substr(mark + 1);
  while (!options.empty()) {
    const auto next = options.find('&');
    const std::string option = options.substr(0, next);
    options = next == std::string::npos ? "" : options.substr(next + 1);
    const auto equals = option.find('=');
    if (equals == std::string::npos || equals == 0) {
      return Error{Code::kInvalidArgument, "'" + option + "' is no option; option=value is wanted", ""};
    }
    out.options[option.substr(0, equals)] = option_value(option.substr(equals + 1));
  }
  return out;
}

Result<NamedSpace> check_named_space(const std::string& text) {
  LANISTA_ASSIGN(NamedSpace named, parse_named_space(text));
  const auto all = mutate::published_spaces();
  const auto space = std::ranges::find(all, named.name, &mutate::PublishedSpace::name);
  if (space == all.end()) {
    const std::string near = nearest_name(named.name, plugin_names(all));
    return Error{Code::kNotFound,
                 "there is no published space '" + named.name + "'" +
                     (near.empty() ? "; known: " + join(plugin_names(all)) : "; did you mean '" + near + "'?"),
                 ""};
  }
  if (auto resolved = mutate::resolve_space_options(*space, named.options); !resolved) {
    return Error{Code::kInvalidArgument, resolved.error().text(), ""};
  }
  return named;
}

Result<BlueprintSpace> make_blueprint(const study::StudyConfig& config, const graph::OpTable& ops,
                                      const mutate::ModelInterface& ends) {
  const auto at_key = [](Error error) {
    error.where = "model.space" + (error.where.empty() ? "" : "." + error.where);
    return error;
  };
  if (config.model.space.is_string()) {
    const auto text = config.model.space.get<std::string>();
    if (!text.starts_with(kBuiltin))
      return Error{Code::kInvalidArgument, "the file '" + text + "' was not read", "model.space"};
    auto named = parse_named_space(text);
    if (!named) return at_key(named.error());
    auto blueprint = mutate::published_space(named->name, named->options, ops, ends);
    if (!blueprint) return Error{blueprint.error().code, blueprint.error().text(), "model.space"};
    return BlueprintSpace{named->name, *std::move(blueprint), ends};
  }
  auto blueprint = read_blueprint(ops, config.model.space, config.data.rules);
  if (!blueprint) return at_key(blueprint.error());
  return BlueprintSpace{"space", *std::move(blueprint), ends};
}

Result<void> embed_model_space(study::StudyConfig& config, const std::string& folder, FileSystem& fs) {
  if (!config.model.space.is_string()) return {};
  const auto source = config.model.space.get<std::string>();
  if (source.starts_with(kBuiltin)) return {};
  std::string path = source.starts_with("/") || folder.empty() ? source : folder + "/" + source;
  if (!fs.exists(path)) path = std::filesystem::path(path).lexically_normal().string();
  const auto read = read_yaml(fs, path);
  if (!read && read.error().code == Code::kNotFound) {
    const std::string near = nearest_name(source, plugin_names(mutate::published_spaces()));
    return Error{Code::kNotFound,
                 "there is no file '" + path + "'; " +
                     (near.empty() ? "a published space is builtin:NAME, such as builtin:darts"
                                   : "did you mean '" + std::string(kBuiltin) + near + "'?"),
                 ""};
  }
  LANISTA_ASSIGN(const std::string text, read);
  const std::string protected_text = protect_calls(text);
  LANISTA_TRY(guard_yaml(protected_text, source));
  try {
    const YAML::Node root = YAML::Load(protected_text);
    Mistakes mistakes(source, {});
    json space = mistakes.to_json(root);
    if (auto good = read_blueprint(graph::builtin_ops(), space, config.data.rules); !good) {
      mistakes.add(find_node_at(root, good.error().where), good.error().where, good.error().message);
      return Error{Code::kInvalidArgument, mistakes.text(), ""};
    }
    config.model.space = std::move(space);
  } catch (const YAML::Exception& e) {
    return Error{Code::kInvalidArgument, e.msg,
                 source + ":" + std::to_string(e.mark.line + 1) + ":" + std::to_string(e.mark.column + 1)};
  }
  return {};
}

}  // namespace lanista::studyfile

// Blocks of strategies, operators, metrics, data sources and the command line.
#include <algorithm>
#include <functional>
#include <sstream>

#include "lanista/app/cli/command_text.h"
#include "lanista/app/cli/verbs.h"
#include "lanista/io/data/readers.h"
#include "lanista/io/formats/cpp_export/cpp_source.h"
#include "lanista/io/formats/onnx/onnx_export.h"
#include "lanista/io/studyfile/study_file.h"
#include "lanista/io/studyfile/tuning.h"
#include "lanista/model/autodiff/loss.h"
#include "lanista/model/autodiff/optimizer.h"
#include "lanista/model/graph/infer.h"
#include "lanista/model/graph/op.h"
#include "lanista/search/sampler/strategy.h"
#include "lanista/search/study/metric.h"
#include "lanista/search/tuning/tuner.h"
#include "reference/markdown.h"
#include "reference/pages.h"

namespace lanista::reference {
namespace {

using Notes = std::map<std::string, KeyNotes>;

std::string yes(bool is) { return is ? "yes" : ""; }

std::string list_text(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

std::string losses() {
  std::vector<Row> rows;
  for (const autodiff::Loss& loss : autodiff::losses()) {
    const bool is_default = loss.name == autodiff::default_loss(loss.kind).name;
    rows.push_back(
        {code(loss.name), std::string(autodiff::target_kind_name(loss.kind)), yes(is_default), loss.forward.help});
  }
  return table({"loss", "targets", "`auto`", "loss of a sample"}, rows);
}

/// The default of train.`name` as a study file has it. A switch is true or false there, and a number in `usual`.
std::string default_text(const nlohmann::json& train_keys, const std::string& name, double usual) {
  if (train_keys.value(name, nlohmann::json::object()).value("type", "") == "boolean") {
    return usual != 0 ? "true" : "false";
  }
  std::ostringstream text;
  text << usual;
  return text.str();
}

std::string optimizers() {
  const nlohmann::json train_keys = studyfile::study_json_schema()["properties"]["train"]["properties"];
  std::vector<Row> rows;
  for (const autodiff::Optimizer& optimizer : autodiff::optimizers()) {
    std::string numbers;
    for (const auto& [name, usual] : optimizer.numbers) {
      numbers += (numbers.empty() ? "" : ", ") + code(name) + " (" + default_text(train_keys, name, usual) + ")";
    }
    rows.push_back({code(optimizer.name), numbers, optimizer.decoupled ? "decoupled" : "L2", optimizer.help});
  }
  return table({"optimizer", "numbers (default)", "`weight_decay`", "update"}, rows);
}

std::string option_table(const std::vector<Key>& keys) {
  std::vector<Row> rows;
  for (const Key& key : keys) rows.push_back(key_row(key, code(key.path)));
  return table(kKeyHeader, rows);
}

/// Returns the options that all strategies have.
std::vector<OptionSpec> common_options(const std::vector<search::StrategyPlugin>& plugins) {
  std::vector<OptionSpec> out;
  for (const OptionSpec& option : plugins.front().options) {
    const bool is_common = std::ranges::all_of(plugins, [&](const auto& plugin) {
      return std::ranges::find(plugin.options, option.name, &OptionSpec::name) != plugin.options.end();
    });
    if (is_common) out.push_back(option);
  }
  return out;
}

struct Sampler {
  std::string name, help;
  std::vector<OptionSpec> options;
  bool learns = true, halves = false;
};

/// Returns the strategies of `strategy.name`, with mltuner.
std::vector<Sampler> samplers() {
  const auto plugins = search::builtin_strategies();
  const auto common = common_options(plugins);
  std::vector<Sampler> out;
  for (const auto& plugin : plugins) {
    out.push_back({plugin.name, plugin.help, plugin.options, plugin.learns_from_results, plugin.has_own_halving});
    std::erase_if(out.back().options, [&](const OptionSpec& option) {
      return std::ranges::find(common, option.name, &OptionSpec::name) != common.end();
    });
  }
  out.push_back({std::string(studyfile::kMltuner), study::builtin_tuners().front().help,
                 studyfile::mltuner_strategy_options(), true, false});
  return out;
}

std::string strategies() {
  std::vector<Row> rows;
  for (const Sampler& sampler : samplers()) {
    rows.push_back({"[" + code(sampler.name) + "](#" + anchor(sampler.name) + ")", sentence(sampler.help),
                    yes(sampler.learns), yes(sampler.halves)});
  }
  return table({"`strategy.name`", "what it does", "learns from results", "decides how far trials train"}, rows);
}

std::string each_strategy(const Notes& notes) {
  std::string out;
  for (const Sampler& sampler : samplers()) {
    out += "### " + code(sampler.name) + "\n\n" + wrapped(sentence(sampler.help)) + "\n\n";
    out += sampler.options.empty() ? "No further options.\n\n"
                                   : option_table(plugin_keys("strategy", sampler.name, sampler.options, notes)) + "\n";
  }
  out.pop_back();
  return out;
}

std::string common_strategy_options(const Notes& notes) {
  const auto plugins = search::builtin_strategies();
  return option_table(plugin_keys("strategy", plugins.front().name, common_options(plugins), notes));
}

std::string stopping_rules() {
  std::vector<Row> rows;
  for (const auto& rule : search::builtin_stopping_rules()) {
    rows.push_back(
        {"[" + code(rule.name) + "](#" + anchor(rule.name) + ")", sentence(rule.help), yes(rule.judges_whole_rungs)});
  }
  return table({"`stop.rule`", "what it does", "waits for all trials of a rung"}, rows);
}

std::string each_stopping_rule(const Notes& notes) {
  std::string out;
  for (const auto& rule : search::builtin_stopping_rules()) {
    out += "### " + code(rule.name) + "\n\n" + wrapped(sentence(rule.help)) + "\n\n";
    out += rule.options.empty() ? "No options.\n\n"
                                : option_table(plugin_keys("stop", rule.name, rule.options, notes)) + "\n";
  }
  out.pop_back();
  return out;
}

std::string metrics() {
  const auto targets = [](study::MetricTargets kind) {
    switch (kind) {
      case study::MetricTargets::kClasses:
        return "classes";
      case study::MetricTargets::kTwoClasses:
        return "two classes";
      case study::MetricTargets::kNumbers:
        return "numbers";
      case study::MetricTargets::kLabels:
        return "labels";
    }
    return "";
  };
  std::vector<Row> rows;
  for (const study::Metric& metric : study::metrics()) {
    const std::string better = metric.maximize ? "larger" : "smaller";
    rows.push_back({code(metric.name), targets(metric.targets), better, sentence(metric.help)});
    if (!metric.label_metric.empty())
      rows.push_back({code(metric.name), "labels", better, sentence(metric.label_metric)});
  }
  std::ranges::stable_sort(rows, {}, [](const Row& row) { return row[1]; });
  return table({"metric", "targets", "better", "definition"}, rows);
}

std::string data_sources() {
  std::vector<Row> rows;
  for (const data::SourceKind& kind : data::source_kinds()) {
    const std::string notation = code(kind.notation);
    rows.push_back(
        {kind.options.empty() ? notation : "[" + notation + "](#" + anchor(kind.name) + ")", sentence(kind.help)});
  }
  return table({"source", "what it reads"}, rows);
}

std::string each_data_source() {
  std::string out;
  for (const data::SourceKind& kind : data::source_kinds()) {
    if (kind.options.empty()) continue;
    out += "### " + code(kind.name) + "\n\n" + wrapped(sentence(kind.help)) + "\n\n";
    std::vector<Row> rows;
    for (const auto& option : kind.options) {
      rows.push_back({code(option.name + "="), code(option.values), sentence(option.help)});
    }
    out += table({"option", "values", "meaning"}, rows) + "\n";
  }
  out.pop_back();
  return out;
}

// Operators.

std::string type_text(const graph::ValueType& type) {
  return code(type.shape.text() + (type.dtype == graph::DType::kIndex ? " index" : ""));
}

/// Returns values to try for a required attribute.
std::vector<graph::AttrValue> values_to_try(const graph::AttrSpec& spec) {
  using List = std::vector<std::int64_t>;
  if (!spec.allowed.empty()) return {spec.allowed.front()};
  if (std::holds_alternative<std::int64_t>(spec.default_value))
    return {std::int64_t{4}, std::int64_t{3}, std::int64_t{2}};
  if (std::holds_alternative<List>(spec.default_value))
    return {List{3}, List{2}, List{12}, List{1, 1}, List{1, 1, 1, 1}, List{6, 8, 8}};
  return {spec.default_value};
}

/// Returns the required attributes in all combinations of values to try.
std::vector<graph::Attrs> attrs_to_try(const graph::OpDef& op) {
  std::vector<graph::Attrs> out{{}};
  for (const graph::AttrSpec& spec : op.attrs) {
    if (!spec.required) continue;
    std::vector<graph::Attrs> more;
    for (const graph::Attrs& attrs : out) {
      for (const graph::AttrValue& value : values_to_try(spec)) {
        more.push_back(attrs);
        more.back().set(spec.name, value);
      }
    }
    out = std::move(more);
  }
  return out;
}

/// One application of an operator.
struct OpSample {
  std::string input, shapes, parameters;
  bool keeps_shape = false;
};

/// Returns "any shape", or the shapes of inputs and outputs.
std::string shapes_text(const std::vector<OpSample>& samples) {
  std::vector<std::string> shapes, inputs;
  for (const OpSample& sample : samples) {
    shapes.push_back(sample.shapes);
    if (sample.keeps_shape) inputs.push_back(sample.input);
  }
  if (samples.size() < 2 || inputs.size() < samples.size()) return list_text(shapes);
  return "keeps " + list_text(inputs);
}

/// Returns one application for each rank of inputs that the operator accepts.
std::vector<OpSample> op_samples(const graph::OpDef& op, const graph::OpTable& ops) {
  using graph::kBatch;
  const std::vector<graph::ValueType> inputs{{{{kBatch, 12}}, graph::DType::kReal},
                                             {{{kBatch, 6, 12}}, graph::DType::kReal},
                                             {{{kBatch, 6, 8, 8}}, graph::DType::kReal},
                                             {{{kBatch, 5}}, graph::DType::kIndex}};
  const int count = op.max_inputs < 0 ? std::max(2, op.min_inputs) : op.min_inputs;
  std::vector<OpSample> out;
  for (std::size_t i = 0; i < (count == 0 ? 1 : inputs.size()); ++i) {
    for (const graph::Attrs& attrs : attrs_to_try(op)) {
      graph::Node node{graph::NodeId{9}, op.name, attrs, {}, ""};
      for (int n = 0; n < count; ++n) node.inputs.push_back({graph::NodeId{static_cast<std::uint32_t>(n)}, 0});
      if (!graph::check_node(node, ops)) continue;
      const std::vector<graph::ValueType> types(static_cast<std::size_t>(count), inputs[i]);
      const graph::OpArgs args{types, attrs, op};
      const auto outputs = op.infer(args);
      if (!outputs) continue;
      OpSample sample;
      sample.input = type_text(inputs[i]);
      sample.keeps_shape = count > 0 && outputs->size() == 1 && outputs->front() == inputs[i] && attrs.empty();
      std::string given;
      for (const auto& [name, value] : attrs)
        given += (given.empty() ? "" : ", ") + name + "=" + graph::attr_text(value);
      if (count > 0) sample.shapes = (count > 1 ? std::to_string(count) + " × " : "") + type_text(inputs[i]) + " → ";
      for (const auto& type : *outputs) sample.shapes += type_text(type);
      if (!given.empty()) sample.shapes += " with " + code(given);
      if (op.params) {
        for (const graph::ParamSpec& param : op.params(args)) {
          sample.parameters += (sample.parameters.empty() ? "" : ", ") + code(param.name + " " + param.shape.text()) +
                               (param.trained ? "" : " (buffer)");
        }
      }
      out.push_back(std::move(sample));
      break;
    }
  }
  return out;
}

std::string inputs_text(const graph::OpDef& op) {
  const std::string least = std::to_string(op.min_inputs);
  if (op.max_inputs == op.min_inputs) return least;
  return op.max_inputs < 0 ? least + " or more" : least + " to " + std::to_string(op.max_inputs);
}

std::string operators() {
  const graph::OpTable ops = graph::builtin_ops();
  const auto onnx = formats::onnx_mappings();
  const auto cpp = formats::cpp_emitters();
  std::vector<Row> rows;
  for (const std::string& name : ops.names()) {
    const graph::OpDef& op = *ops.find(name);
    if (op.level != graph::OpLevel::kModel) continue;
    const std::vector<OpSample> samples = op_samples(op, ops);
    const auto parameters =
        std::ranges::find_if(samples, [](const OpSample& each) { return !each.parameters.empty(); });
    const bool is_source = op.role == graph::OpRole::kSource;
    rows.push_back({op.attrs.empty() ? code(name) : "[" + code(name) + "](#" + anchor(name) + ")", op.help,
                    inputs_text(op), shapes_text(samples), parameters == samples.end() ? "" : parameters->parameters,
                    yes(static_cast<bool>(op.gradient) || static_cast<bool>(op.decompose)),
                    yes(onnx.contains(name) || is_source), yes(cpp.contains(name) || is_source)});
  }
  return table({"operator", "what it computes", "inputs", "shape", "parameters", "gradient", "ONNX", "C++"}, rows);
}

std::string attr_type(const graph::AttrValue& value) {
  if (std::holds_alternative<bool>(value)) return "true or false";
  if (std::holds_alternative<std::int64_t>(value)) return "whole number";
  if (std::holds_alternative<double>(value)) return "number";
  return std::holds_alternative<std::string>(value) ? "word" : "list of whole numbers";
}

std::string attr_allowed(const graph::AttrSpec& spec) {
  if (!spec.allowed.empty()) {
    std::vector<std::string> words;
    for (const std::string& word : spec.allowed) words.push_back(code(word));
    return list_text(words);
  }
  const bool has_min = std::holds_alternative<std::int64_t>(spec.default_value) ||
                       std::holds_alternative<std::vector<std::int64_t>>(spec.default_value);
  return has_min ? number_text(spec.min) + " or more" : attr_type(spec.default_value);
}

std::string operator_attributes() {
  const graph::OpTable ops = graph::builtin_ops();
  std::string out;
  for (const std::string& name : ops.names()) {
    const graph::OpDef& op = *ops.find(name);
    if (op.level != graph::OpLevel::kModel || op.attrs.empty()) continue;
    out += "### " + code(name) + "\n\n";
    std::vector<Row> rows;
    for (const graph::AttrSpec& spec : op.attrs) {
      rows.push_back({code(spec.name), attr_type(spec.default_value),
                      spec.required ? "required" : code(graph::attr_text(spec.default_value)), attr_allowed(spec),
                      yes(spec.role == graph::AttrRole::kTunable), sentence(spec.help)});
    }
    out += table({"attribute", "type", "default", "allowed", "tunable", "meaning"}, rows) + "\n";
  }
  out.pop_back();
  return out;
}

// The command line.

std::string path_text(const cli::VerbText& verb) {
  std::string out;
  for (const std::string& word : verb.path) out += (out.empty() ? "" : " ") + word;
  return out;
}

std::string verbs() {
  int code_of_verb = 0;
  const auto tree = cli::command_tree(code_of_verb);
  std::vector<Row> rows;
  for (const cli::VerbText& verb : cli::command_text(*tree)) {
    if (verb.path.empty() || !verb.verbs.empty()) continue;
    const std::string path = path_text(verb);
    rows.push_back({"[" + code(path) + "](#" + anchor(path) + ")", verb.help});
  }
  return table({"verb", "what it does"}, rows);
}

std::string examples_of(const std::string& footer) {
  std::istringstream lines(footer);
  std::string out;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("  ")) out += line.substr(2) + "\n";
  }
  return out.empty() ? "" : "```sh\n" + out + "```\n\n";
}

/// Returns "whole number: 1 to 64" for "INT: 1 to 64".
std::string value_type(const std::string& value) {
  static const std::map<std::string, std::string> words{
      {"TEXT", "text"}, {"INT", "whole number"}, {"UINT", "whole number"}, {"FLOAT", "number"}};
  const auto colon = std::min(value.find(':'), value.size());
  const auto word = words.find(value.substr(0, colon));
  return word == words.end() ? value : word->second + value.substr(colon);
}

std::string each_verb() {
  int code_of_verb = 0;
  const auto tree = cli::command_tree(code_of_verb);
  std::string out;
  for (const cli::VerbText& verb : cli::command_text(*tree)) {
    if (verb.path.empty() || !verb.verbs.empty()) continue;
    out += "### " + code(path_text(verb)) + "\n\n" + wrapped(verb.help) + "\n\n" + examples_of(verb.footer);
    std::vector<Row> rows;
    for (const cli::OptionText& option : verb.options) {
      if (option.names.front() == "--help") continue;
      std::vector<std::string> names;
      for (const std::string& name : option.names) names.push_back(code(name));
      rows.push_back({list_text(names), value_type(option.value), option.help});
    }
    out += table({"option", "value", "meaning"}, rows) + "\n";
  }
  out.pop_back();
  return out;
}

}  // namespace

std::string other_block(const std::string& name, const Notes& notes) {
  const std::map<std::string, std::function<std::string()>> blocks{
      {"losses", losses},
      {"optimizers", optimizers},
      {"strategies", strategies},
      {"common strategy options", [&] { return common_strategy_options(notes); }},
      {"each strategy", [&] { return each_strategy(notes); }},
      {"stopping rules", stopping_rules},
      {"each stopping rule", [&] { return each_stopping_rule(notes); }},
      {"metrics", metrics},
      {"data sources", data_sources},
      {"each data source", each_data_source},
      {"operators", operators},
      {"operator attributes", operator_attributes},
      {"verbs", verbs},
      {"each verb", each_verb}};
  const auto found = blocks.find(name);
  return found == blocks.end() ? "" : found->second();
}

}  // namespace lanista::reference

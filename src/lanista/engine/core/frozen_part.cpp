#include "lanista/engine/core/frozen_part.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "lanista/base/edit_distance.h"
#include "lanista/base/parse_number.h"
#include "lanista/engine/core/onnx_file.h"
#include "lanista/engine/core/study_setup.h"
#include "lanista/io/formats/safetensors.h"
#include "lanista/io/formats/signature.h"
#include "lanista/model/graph/infer.h"
#include "lanista/model/graph/model_cut.h"
#include "lanista/model/graph/text.h"
#include "lanista/plan/sharing/materialize_rule.h"

namespace lanista::engine {
namespace {

constexpr const char* kThrough = "model.frozen.through";
constexpr const char* kWeights = "model.frozen.weights";
constexpr std::int64_t kMemoryDivisor = 4;   // cached values leave memory for programs
constexpr double kRelativeTolerance = 1e-5;  // files hold means in float32

Error refused(const char* key, const std::string& message) { return {Code::kInvalidArgument, message, key}; }

std::optional<graph::NodeId> parse_node_id(const std::string& text) {
  if (!text.starts_with('%')) return std::nullopt;
  const auto id = parse_number<std::uint32_t>(std::string_view(text).substr(1));
  return id ? std::optional(graph::NodeId{*id}) : std::nullopt;
}

struct Given {
  std::vector<Tensor> tensors;
  std::string of;                   // source, for messages
  std::vector<double> mean, scale;  // expected normalisation of the inputs; empty: unknown
};

Result<Given> read_given_weights(const study::StudyConfig& config, const std::string& folder, FileSystem& fs) {
  const std::string& wanted = config.model.frozen->weights;
  if (wanted == study::FrozenConfig::kOfTheBase) {
    const std::string& source = config.model.base.front();
    if (!source.ends_with(".onnx")) {
      return refused(
          kWeights, "the base " + source + " has no weights; use an ONNX file as the base, or name a safetensors file");
    }
    auto imported = import_onnx_file(fs, path_of(source, folder, fs));
    if (!imported) return Error{imported.error().code, imported.error().text(), kWeights};
    return Given{std::move(imported->weights), source, formats::whole_means(*imported), std::move(imported->scale)};
  }
  const std::string path = path_of(wanted, folder, fs);
  const auto bytes = fs.read(path);
  if (!bytes) return Error{bytes.error().code, "the weights of the frozen part: " + bytes.error().text(), kWeights};
  if (auto foreign = formats::unsupported_format_error(*bytes, path)) return *foreign;
  auto file = formats::decode_safetensors(*bytes);
  if (!file) return Error{file.error().code, path + ": " + file.error().message, kWeights};
  return Given{std::move(file->tensors), wanted, {}, {}};
}

bool is_close(const std::vector<double>& ours, const std::vector<double>& theirs, double missing) {
  const std::size_t entries = std::max(ours.size(), theirs.size());
  const auto at = [&](const std::vector<double>& all, std::size_t i) {
    return all.empty() ? missing : all[i * all.size() / entries];
  };
  if ((!ours.empty() && entries % ours.size() != 0) || (!theirs.empty() && entries % theirs.size() != 0)) return false;
  for (std::size_t i = 0; i < entries; ++i) {
    if (std::abs(at(ours, i) - at(theirs, i)) > kRelativeTolerance * std::max(1.0, std::abs(at(ours, i)))) return false;
  }
  return true;
}

Result<void> check_inputs(const Given& given, const data::DataSpec& data) {
  if (given.mean.empty() && given.scale.empty()) return {};
  const auto& [mean, scale] = data.normalization;
  if (is_close(mean, given.mean, 0) && is_close(scale, given.scale, 1)) return {};
  const auto shown = [](const std::vector<double>& all, double missing) {
    return all.empty() ? std::to_string(missing) : std::to_string(all.front()) + (all.size() > 1 ? ", …" : "");
  };
  return refused(kWeights, "the base and the data have different normalisations: mean " + shown(given.mean, 0) +
                               " and scale " + shown(given.scale, 1) + " in " + given.of + ", " + shown(mean, 0) +
                               " and " + shown(scale, 1) +
                               " here; weights from a safetensors file are not checked for this");
}

}  // namespace

Result<graph::NodeId> find_node(const std::string& through, const graph::Graph& base) {
  std::vector<graph::NodeId> found;
  std::vector<std::string> names;
  for (const auto& node : base.nodes()) {
    names.push_back(graph::port_text({node->id, 0}));
    if (!node->label.empty()) names.push_back(node->label);
    if (node->label == through) found.push_back(node->id);
  }
  if (const auto id = parse_node_id(through); id && base.contains(*id)) return *id;
  if (found.size() == 1) return found.front();
  if (found.size() > 1) {
    return refused(kThrough, "'" + through + "' is the label of " + std::to_string(found.size()) +
                                 " nodes; name one by its number: " + graph::port_text({found.front(), 0}) + ", …");
  }
  const std::string is_close = nearest_name(through, names);
  return refused(kThrough, "the base has no node '" + through + "'; its nodes are " + names.front() + " to " +
                               names.back() + (is_close.empty() ? "" : " (did you mean '" + is_close + "'?)"));
}

Result<std::set<graph::NodeId>> frozen_nodes(const std::string& through, const graph::Graph& base) {
  LANISTA_ASSIGN(const graph::NodeId last, find_node(through, base));
  std::set<graph::NodeId> nodes{last};
  std::vector<graph::NodeId> open{last};
  while (!open.empty()) {
    const graph::Node& node = base.node(open.back());
    open.pop_back();
    for (const graph::Port& port : node.inputs) {
      if (nodes.insert(port.node).second) open.push_back(port.node);
    }
  }
  return nodes;
}

Result<store::Checkpoint> frozen_weights(const study::StudyConfig& config, const graph::Graph& base,
                                         const data::DataSpec& data, const std::string& folder, FileSystem& fs,
                                         const graph::OpTable& ops) {
  LANISTA_ASSIGN(const auto nodes, frozen_nodes(config.model.frozen->through, base));
  LANISTA_ASSIGN(const Given given, read_given_weights(config, folder, fs));
  LANISTA_TRY(check_inputs(given, data));
  LANISTA_ASSIGN(const auto wanted, graph::parameters(base, ops));
  store::Checkpoint out;
  std::string missing;
  for (const graph::NamedParam& param : wanted) {
    if (!nodes.contains(param.node)) continue;
    const auto found = std::ranges::find(given.tensors, param.name, &Tensor::name);
    if (found == given.tensors.end()) {
      missing += (missing.empty() ? "" : ", ") + param.name;
      continue;
    }
    if (found->type != ElementType::kF32 || found->shape != param.spec.shape.dims) {
      return refused(kWeights, "'" + param.name + "' of " + given.of + " has shape " +
                                   graph::Shape{found->shape}.text() +
                                   (found->type == ElementType::kF32 ? "" : " and is not of float32") +
                                   "; the model needs " + param.spec.shape.text() + " of float32");
    }
    out.tensors.push_back(*found);
  }
  if (!missing.empty()) return refused(kWeights, given.of + " lacks " + missing);
  out.facts["kind"] = "frozen";
  return out;
}

FrozenPart frozen_part(const study::StudyConfig& config, const data::DataSpec& data,
                       const std::set<graph::NodeId>& nodes, const std::string& weights) {
  if (!config.model.frozen) return {};
  const std::int64_t trials = std::clamp<std::int64_t>(config.budget.trials.value_or(config.strategy.slots), 1,
                                                       std::numeric_limits<std::uint32_t>::max());
  // Each fold has its own cached values.
  const std::int64_t each = std::max<std::int64_t>(1, trials / std::max<std::int64_t>(1, std::ssize(data.folds)));
  // With augmentation only validation rows are cached, and they are read once an epoch.
  const bool augmented = !config.data.augment.empty();
  const std::int64_t reads = augmented ? config.train.length.epochs
                                       : epoch_schedule_of(config, data, {}).num_passes(config.train.length.epochs);
  return {nodes, weights, each * std::min(reads, std::numeric_limits<std::int64_t>::max() / each)};
}

Result<FrozenPart> frozen_part(const study::StudyView& view) {
  if (!view.config.model.frozen) return FrozenPart{};
  LANISTA_ASSIGN(const auto bases, stored_bases(view.models));
  if (bases.size() != 1) return Error{Code::kDataLoss, "a study with a frozen part has one base model", "log"};
  LANISTA_ASSIGN(const auto nodes, frozen_nodes(view.config.model.frozen->through, bases.front().graph));
  LANISTA_ASSIGN(const data::DataSpec data, data::parse_spec(view.data));
  return frozen_part(view.config, data, nodes, view.frozen);
}

Result<std::vector<Tensor>> full_state(std::vector<Tensor> state, const FrozenPart& frozen,
                                       const store::CheckpointStore& checkpoints) {
  if (frozen.nodes.empty()) return state;
  LANISTA_ASSIGN(store::Checkpoint stored, checkpoints.get(frozen.weights));
  for (Tensor& tensor : stored.tensors) {
    state.push_back(std::move(tensor));
  }
  return state;
}

Result<sharing::Materialized> frozen_cache_plan(const graph::Graph& prefix, const FrozenPart& frozen,
                                                const data::DataSpec& data, bool augmented, std::int64_t bytes) {
  const sharing::PrefixReaders readers{
      .samples = augmented ? data.split_rows[1] : data.rows,
      .epochs = frozen.epochs,
      .cache_bytes = bytes / kMemoryDivisor / std::max<std::int64_t>(1, std::ssize(data.folds))};
  const plan::Costs costs{
      .table = {}, .machine = {}, .prices = {.call_us = 0.15, .store_gb_per_second = 5, .overlaps = true}};
  return sharing::materialization_of(prefix, readers, graph::builtin_ops(), costs);
}

}  // namespace lanista::engine

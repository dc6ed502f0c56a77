#include "lanista/engine/core/warm_start.h"

#include <algorithm>
#include <utility>

#include "lanista/engine/core/onnx_file.h"
#include "lanista/engine/core/package.h"
#include "lanista/engine/core/study_setup.h"
#include "lanista/model/graph/editor.h"
#include "lanista/model/graph/infer.h"
#include "lanista/model/graph/text.h"
#include "lanista/model/transfer/importance.h"
#include "lanista/model/transfer/match.h"

namespace lanista::engine {
namespace {

constexpr std::string_view kVersion = "1";  // of what words and options mean

Result<std::vector<graph::NodePair>> pairs_by(std::string_view how, const graph::Graph& parent,
                                              const graph::Graph& child, const graph::OpTable& ops) {
  if (how == kByLineage) return zoo::lineage_mapping(parent, child);
  if (how != kByMatch) {
    return Error{Code::kInvalidArgument, "a start's plan is '" + std::string(how) + "', which no plan is called", ""};
  }
  LANISTA_ASSIGN(const auto of_parent, zoo::MatchModel::of(parent, ops));
  LANISTA_ASSIGN(const auto of_child, zoo::MatchModel::of(child, ops));
  return zoo::match(of_parent, of_child).pairs;
}

void sign(Inheritance& inheritance, std::string_view how) {
  inheritance.coverage = zoo::inherited_share(inheritance.plan);
  const std::string hash = Hasher().text(zoo::transfer_json(inheritance.plan).dump()).finish().hex().substr(0, 16);
  inheritance.plan_text = std::string(how) + " " + std::string(kVersion) + " " + hash;
}

/// The last layer if it is linear; or null.
const graph::Node* class_layer(const graph::Graph& model) {
  const graph::Node& output = model.node(model.nodes_of("output").front());
  const graph::Node& last = model.node(output.inputs.front().node);
  return last.op == "linear" ? &last : nullptr;
}

std::string params_of(const graph::Node& node) { return "n" + std::to_string(node.id.value) + "."; }

std::int64_t outputs_of(const graph::Node& linear) { return std::get<std::int64_t>(*linear.attrs.find("out")); }

/// The parent's class for each class of the child; kFresh: none. Empty: the classes stay unchanged.
std::vector<std::int64_t> class_rows(const ClassLabels& labels, std::int64_t of_parent, std::int64_t of_child) {
  const bool named = std::cmp_equal(labels.parent.size(), of_parent) && std::cmp_equal(labels.child.size(), of_child);
  if (!named && of_parent == of_child) return {};
  std::vector<std::int64_t> rows(static_cast<std::size_t>(of_child), zoo::kRandomValue);
  if (!named) return rows;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto found = std::ranges::find(labels.parent, labels.child[i]);
    if (found != labels.parent.end()) rows[i] = found - labels.parent.begin();
  }
  return labels.parent == labels.child ? std::vector<std::int64_t>() : rows;
}

}  // namespace

std::string optimizer_transfer(const study::StudyView& view, const study::Start& start, const zoo::TransferPlan& plan,
                               const space::Sample& child) {
  if (!start.zoo.empty()) return "a zoo keeps none";
  if (!plan.exact) return "the model is another";
  if (const std::string other = zoo::first_not_one_to_one(plan); !other.empty()) {
    return other + " is not the parent's element by element";
  }
  const study::TrialView& parent = view.trials.at(start.parent.value - 1);
  const space::Sample& was = parent.forks.empty() ? parent.proposal.sample : parent.forks.back().sample;
  const auto before = study::make_recipe(view.config, "", was), now = study::make_recipe(view.config, "", child);
  if (!before || !now) return "its recipe cannot be made";
  if (before->optimizer != now->optimizer) return "the parent's is " + before->optimizer;
  return std::string(study::kOptimizerCarried);
}

Result<Inheritance> plan_inheritance(std::string_view how, const graph::Graph& parent, const graph::Graph& child,
                                     std::uint64_t seed, const std::set<graph::NodeId>& frozen,
                                     const graph::OpTable& ops, const UnitScores& scores) {
  LANISTA_ASSIGN(const auto pairs, pairs_by(how, parent, child, ops));
  Inheritance out;
  LANISTA_ASSIGN(out.plan, zoo::plan_transfer(parent, child, pairs, ops, {.seed = seed, .scores = scores}));
  if (!frozen.empty()) {
    LANISTA_ASSIGN(const auto params, graph::parameters(child, ops));
    std::erase_if(out.plan.tensors, [&](const zoo::TensorPlan& tensor) {
      const auto param = std::ranges::find(params, tensor.name, &graph::NamedParam::name);
      return param != params.end() && frozen.contains(param->node);
    });
  }
  sign(out, how);
  return out;
}

Result<Inheritance> best_inheritance(const graph::Graph& parent, const graph::Graph& child, std::uint64_t seed,
                                     const std::set<graph::NodeId>& frozen, const graph::OpTable& ops) {
  LANISTA_ASSIGN(Inheritance lineage, plan_inheritance(kByLineage, parent, child, seed, frozen, ops));
  if (lineage.plan.exact) return lineage;
  LANISTA_ASSIGN(Inheritance match, plan_inheritance(kByMatch, parent, child, seed, frozen, ops));
  return match.usefulness() > lineage.usefulness() ? std::move(match) : std::move(lineage);
}

Result<zoo::TransferPlan> recorded_plan(const study::Start& start, const graph::Graph& parent,
                                        const graph::Graph& child, std::uint64_t seed,
                                        const std::set<graph::NodeId>& frozen, const ClassLabels& labels,
                                        const graph::OpTable& ops) {
  const std::string how = start.plan.substr(0, start.plan.find(' '));
  LANISTA_ASSIGN(Inheritance made, plan_inheritance(how, parent, child, seed, frozen, ops));
  LANISTA_ASSIGN(made, match_classes(std::move(made), labels, parent, child, ops));
  if (made.plan_text == start.plan) return std::move(made.plan);
  return Error{Code::kDataLoss,
               "the start from " + study::start_text(start) + " was planned as '" + start.plan +
                   "', this build plans '" + made.plan_text + "'",
               ""};
}

Result<Inheritance> match_classes(Inheritance inheritance, const ClassLabels& labels, const graph::Graph& parent,
                                  const graph::Graph& child, const graph::OpTable& ops) {
  const graph::Node *before = class_layer(parent), *now = class_layer(child);
  if (before == nullptr || now == nullptr) return inheritance;
  const auto rows = class_rows(labels, outputs_of(*before), outputs_of(*now));
  if (rows.empty()) return inheritance;
  LANISTA_ASSIGN(const auto params, graph::parameters(child, ops));
  const std::int64_t known = std::ranges::count_if(rows, [](std::int64_t row) { return row >= 0; });
  for (zoo::TensorPlan& tensor : inheritance.plan.tensors) {
    const auto of = std::ranges::find(params, tensor.name, &graph::NamedParam::name);
    if (of == params.end() || of->node != now->id || !tensor.from.starts_with(params_of(*before))) continue;
    if (known == 0) {
      tensor = {.name = tensor.name, .shape = tensor.shape};
      continue;
    }
    tensor.kind = zoo::TensorPlan::Kind::kMap;
    tensor.axes.resize(tensor.shape.size());
    tensor.axes[0] = {rows, {}};
  }
  inheritance.plan.exact = false;
  const bool up_to_there =
      std::ranges::find(inheritance.plan.exact_nodes, now->inputs.front().node) != inheritance.plan.exact_nodes.end();
  std::erase_if(inheritance.plan.exact_nodes,
                [&](graph::NodeId id) { return id == now->id || id == child.nodes_of("output").front(); });
  const std::string classes = std::to_string(known) + " of " + std::to_string(rows.size()) + " classes are known";
  const std::string of_head = graph::port_text({now->id, 0}) + " linear: " + classes;
  if (inheritance.plan.inexact_reason.empty() || up_to_there) inheritance.plan.inexact_reason = of_head;
  sign(inheritance, inheritance.plan_text.substr(0, inheritance.plan_text.find(' ')));
  return inheritance;
}

Result<graph::Graph> adapt_base(const graph::Graph& base, const data::DataSpec& data, const graph::OpTable& ops) {
  graph::Editor editor(base, ops);
  LANISTA_ASSIGN(const graph::Types types, graph::infer_shapes(base, ops));
  const graph::NodeId input = base.nodes_of("input").front();
  const graph::Shape& takes = types.at({input, 0}).shape;
  graph::Shape features = data.features;
  features.dims.insert(features.dims.begin(), graph::kBatch);
  bool changed = false;
  if (takes != features && takes.rank() == features.rank()) {
    editor.set(input, "shape", data.features.dims);
    changed = true;
  }
  const graph::Node* last = class_layer(base);
  if (last != nullptr && data.positions == 0 && outputs_of(*last) != data.width()) {
    editor.set(last->id, "out", data.width());
    changed = true;
  }
  if (!changed) return base;
  LANISTA_ASSIGN(graph::Edited edited, std::move(editor).commit());
  return std::move(edited.graph);
}

namespace {

constexpr const char* kFromKey = "train.start_from";

Result<ReadStart> from_onnx(const std::string& source, const std::string& folder, FileSystem& fs) {
  LANISTA_ASSIGN(formats::ImportedModel imported, import_onnx_file(fs, path_of(source, folder, fs)));
  std::vector<std::string> notices;
  LANISTA_ASSIGN(const graph::Graph model, trainable_form(imported.graph, notices));
  return ReadStart{{source, "", graph::to_text(model), {}}, std::move(imported.weights)};
}

}  // namespace

Result<ReadStart> read_start_file(const study::StudyConfig& config, const std::string& folder, FileSystem& fs,
                                  const graph::OpTable& ops) {
  const bool of_base = config.train.start.file == study::kStartFromBase;
  if (of_base && (config.model.base.empty() || !config.model.base.front().ends_with(".onnx"))) {
    return Error{Code::kInvalidArgument,
                 "is 'base', and the base " + (config.model.base.empty() ? "" : config.model.base.front()) +
                     " has no weights; allowed: an ONNX file, or the folder of a model package",
                 kFromKey};
  }
  const std::string& source = of_base ? config.model.base.front() : config.train.start.file;
  if (source.ends_with(".onnx")) {
    auto read = from_onnx(source, folder, fs);
    if (!read) return Error{read.error().code, read.error().text(), kFromKey};
    return read;
  }
  auto package = read_package(fs, path_of(source, folder, fs), ops);
  if (!package) return Error{package.error().code, package.error().text(), kFromKey};
  if (package->members.size() > 1) {
    return Error{Code::kInvalidArgument,
                 source + " is a blend of " + std::to_string(package->members.size()) + " models; a start is one",
                 kFromKey};
  }
  ModelMember& member = package->members.front();
  return ReadStart{{source, "", graph::to_text(member.model), package->data.labels}, std::move(member.weights)};
}

Result<std::string> describe_start(const ReadStart& start, const mutate::BaseModel& base, const data::DataSpec& data,
                                   const graph::OpTable& ops) {
  LANISTA_ASSIGN(const graph::Graph parent, graph::parse(start.file.graph));
  LANISTA_ASSIGN(Inheritance inheritance, best_inheritance(parent, base.graph, 0, {}, ops));
  LANISTA_ASSIGN(inheritance,
                 match_classes(std::move(inheritance), {start.file.labels, data.labels}, parent, base.graph, ops));
  if (!inheritance.is_useful()) return "base " + base.name + " is too unlike it and begins with random values";
  study::Start shown;
  shown.is_chosen_by_engine = true, shown.coverage = inheritance.coverage,
  shown.inexact_reason = inheritance.plan.inexact_reason;
  return "base " + base.name + study::inherited_text(shown).substr(study::start_text(shown).size());
}

ClassLabels labels_of(const study::StudyView& view, const study::Start& start) {
  if (!start.is_file() || !view.start_file) return {};
  const nlohmann::json& labels = view.data.contains("labels") ? view.data.at("labels") : nlohmann::json::array();
  return {view.start_file->labels,
          labels.is_array() ? labels.get<std::vector<std::string>>() : std::vector<std::string>()};
}

Result<graph::Graph> start_model(const study::StudyView& view, const study::Start& start, const graph::OpTable& ops) {
  if (!start.zoo.empty()) {
    const auto known = view.zoo_models.find(start.zoo);
    auto model = graph::parse(known == view.zoo_models.end() ? "" : known->second.graph);
    if (!model)
      return Error{Code::kDataLoss, "the zoo's model to start from cannot be read: " + model.error().text(), "log"};
    return model;
  }
  if (start.is_file() && view.start_file) {
    auto model = graph::parse(view.start_file->graph);
    if (!model) return Error{Code::kDataLoss, "the model to start from cannot be read: " + model.error().text(), "log"};
    return model;
  }
  if (start.is_file() || start.parent.value > view.trials.size()) {
    return Error{Code::kDataLoss, "the study knows nothing of " + study::start_text(start) + ", to start from", "log"};
  }
  return study::trial_model(view, view.trials[start.parent.value - 1], ops);
}

Result<zoo::TransferPlan> plan_by_scores(const Job& job, const study::Start& start, const graph::Graph& parent,
                                         const UnitScores& scores, const graph::OpTable& ops) {
  const std::string how = start.plan.substr(0, start.plan.find(' '));
  LANISTA_ASSIGN(Inheritance made,
                 plan_inheritance(how, parent, job.model, job.trial_seed, job.frozen.nodes, ops, scores));
  return std::move(made.plan);
}

Result<void> plan_start(Job& job, const study::StudyView& view, const graph::OpTable& ops) {
  // A head after a frozen part has other inputs than the parent, so the loss cannot score the parent.
  const bool by_loss = view.config.train.start.shrink == study::kShrinkByLoss && job.frozen.nodes.empty();
  const auto plan_of = [&](const study::Start& start, auto& transfer, auto& scored) -> Result<void> {
    if (start.plan.empty() || start.address.empty()) return {};
    LANISTA_ASSIGN(const graph::Graph parent, start_model(view, start, ops));
    LANISTA_ASSIGN(zoo::TransferPlan plan, recorded_plan(start, parent, job.model, job.trial_seed, job.frozen.nodes,
                                                         labels_of(view, start), ops));
    if (by_loss && !start.is_file()) {
      LANISTA_ASSIGN(const bool drops, zoo::has_fewer_units(plan, parent, ops));
      if (drops) scored = parent;
    }
    transfer = std::move(plan);
    return {};
  };
  if (job.start) LANISTA_TRY(plan_of(*job.start, job.transfer, job.parent));
  return {};
}

}  // namespace lanista::engine

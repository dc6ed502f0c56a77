#include "lanista/model/mutate/model_space.h"

#include <array>
#include <charconv>

#include "lanista/model/graph/infer.h"
#include "lanista/model/graph/model_cut.h"
#include "lanista/model/graph/text.h"

namespace lanista::mutate {

namespace {

constexpr int kTries = 32;
constexpr int kTriesPerFrozenNode = 8;  // most attempts may hit frozen nodes
constexpr std::uint64_t kFirstTries = 1'000;

/// Returns the edits that turn `from` into `to`; equal nodes have equal ids.
std::vector<graph::Edit> difference(const graph::Graph& from, const graph::Graph& to) {
  std::vector<graph::Edit> edits;
  for (const auto& node : from.nodes()) {
    if (!to.contains(node->id)) edits.emplace_back(graph::RemoveNode{node->id});
  }
  for (const auto& node : to.nodes()) {
    if (!from.contains(node->id) || from.node(node->id) != *node) edits.emplace_back(graph::PutNode{*node});
  }
  return edits;
}

std::string number_text(double number) {
  std::array<char, 32> buffer{};
  constexpr double kLongest = 1e15;
  const auto format = number < kLongest ? std::chars_format::fixed : std::chars_format::general;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number, format).ptr;
  return {buffer.data(), end};
}

Result<void> check_limit(const std::optional<double>& limit, double seen, const char* what, const char* key) {
  if (!limit || seen <= *limit) return {};
  return Error{Code::kNotApplicable,
               "the model has " + number_text(seen) + " " + what + ", the limit is " + number_text(*limit) +
                   " (space.limits." + key + ")",
               ""};
}

}  // namespace

Result<ModelSpace> ModelSpace::make(graph::OpTable ops, std::vector<BaseModel> bases,
                                    std::vector<std::shared_ptr<const Mutator>> mutators, RepairPolicy repair,
                                    Limits limits) {
  if (bases.empty()) return Error{Code::kInvalidArgument, "a model space needs at least one base model", ""};
  ModelSpace space;
  space.ops_ = std::make_shared<const graph::OpTable>(std::move(ops));
  space.bases_ = std::move(bases);
  space.mutators_ = std::move(mutators);
  space.repair_ = repair;
  space.limits_ = limits;
  for (const BaseModel& base : space.bases_) {
    if (auto verified = graph::verify(base.graph, space.ops()); !verified) {
      return Error{verified.error().code, verified.error().message, base.name};
    }
    if (auto within = space.check_limits(base.graph); !within) {
      return Error{Code::kInvalidArgument, within.error().message, base.name};
    }
  }
  return space;
}

Result<ModelSpace> ModelSpace::make(graph::OpTable ops, BlueprintSpace blueprint, std::optional<BaseModel> base,
                                    std::vector<std::shared_ptr<const Mutator>> mutators, RepairPolicy repair,
                                    Limits limits) {
  ModelSpace space;
  space.ops_ = std::make_shared<const graph::OpTable>(ops);
  space.blueprint_ = blueprint;
  space.repair_ = repair;
  space.limits_ = limits;
  if (!base) {
    LANISTA_ASSIGN(base, space.first_model());
  }
  LANISTA_ASSIGN(ModelSpace whole, make(std::move(ops), {*std::move(base)}, std::move(mutators), repair, limits));
  whole.blueprint_ = std::move(blueprint);
  return whole;
}

Result<BaseModel> ModelSpace::first_model() const {
  space::SearchSpace choices;
  for (const space::Parameter& parameter : blueprint_->blueprint.parameters()) LANISTA_TRY(choices.add(parameter));
  Error last;
  for (std::uint64_t i = 0; i < kFirstTries; ++i) {
    space::GridChooser first(0, 1);
    space::RandomChooser random(Rng(0).split(i));
    auto model = expanded(choices.sample(i == 0 ? static_cast<space::Chooser&>(first) : random));
    if (model) return BaseModel{blueprint_->name, *std::move(model)};
    last = std::move(model).error();
    if (last.code != Code::kNotApplicable) return last;
  }
  return Error{Code::kInvalidArgument,
               "none of " + std::to_string(kFirstTries) + " samples makes a model; the last: " + last.text(), ""};
}

std::vector<space::Parameter> ModelSpace::parameters() const {
  if (!blueprint_) return {};
  std::vector<space::Parameter> out = blueprint_->blueprint.parameters();
  for (space::Parameter& parameter : out) {
    parameter.name.insert(0, space::kModelPrefix);
    for (space::Parameter::Condition& way : parameter.when) way.parameter.insert(0, space::kModelPrefix);
  }
  return out;
}

Result<graph::Graph> ModelSpace::expanded(const space::Sample& choices) const {
  LANISTA_ASSIGN(graph::Graph model, blueprint_->blueprint.expand(choices, ops(), blueprint_->ends, repair_));
  LANISTA_TRY(check_limits(model));
  return model;
}

Result<Candidate> ModelSpace::model_of_sample(std::int64_t index, const space::Sample& sample) const {
  Candidate candidate = base(index);
  if (!blueprint_) return candidate;
  space::Sample choices;
  for (const auto& [name, value] : sample) {
    if (space::is_model_choice(name)) choices[name.substr(space::kModelPrefix.size())] = value;
  }
  LANISTA_ASSIGN(graph::Graph model, expanded(choices));
  candidate.edits = difference(candidate.graph, model);
  candidate.hash = graph::canonical_hash(model, *ops_);
  candidate.graph = std::move(model);
  return candidate;
}

Result<Candidate> ModelSpace::replay(Candidate candidate, std::span<const space::MutationStep> steps) const {
  for (const space::MutationStep& step : steps) {
    space::ReplayChooser choose(step.trace);
    LANISTA_ASSIGN(candidate, mutate(candidate, choose));
    if (auto status = choose.status(); !status)
      return Error{Code::kNotApplicable, status.error().message, step.mutator};
  }
  return candidate;
}

Candidate ModelSpace::base(std::int64_t index) const {
  LANISTA_CHECK(index >= 0 && static_cast<std::size_t>(index) < bases_.size(),
                "there is no base model " + std::to_string(index));
  const graph::Graph& model = bases_[static_cast<std::size_t>(index)].graph;
  return {index, {}, {}, model, graph::canonical_hash(model, *ops_)};
}

namespace {

/// Returns an unlabelled identity that reads another identity, or no value.
std::optional<graph::NodeId> consecutive_identity(const graph::Graph& model) {
  for (const auto& node : model.nodes()) {
    if (node->op != "identity" || !node->label.empty()) continue;
    if (model.node(node->inputs.front().node).op == "identity") return node->id;
  }
  return std::nullopt;
}

/// Merges neighbouring identities. One is a site for a layer; more of them make equal models look different.
Result<graph::Edited> without_identity_chains(graph::Edited edited, const graph::OpTable& ops) {
  while (const auto idle = consecutive_identity(edited.graph)) {
    graph::Editor editor(edited.graph, ops);
    editor.bypass(*idle);
    LANISTA_ASSIGN(graph::Edited shorter, std::move(editor).commit());
    edited.graph = std::move(shorter.graph);
    edited.edits.insert(edited.edits.end(), shorter.edits.begin(), shorter.edits.end());
  }
  return edited;
}

}  // namespace

Result<Candidate> ModelSpace::mutate(const Candidate& parent, space::Chooser& choose) const {
  if (mutators_.empty()) return Error{Code::kNotApplicable, "the model space has no mutators", ""};
  const auto asked_before = static_cast<std::ptrdiff_t>(choose.trace().size());
  const Mutator& mutator = *choose.one_of("mutator", mutators_);
  LANISTA_ASSIGN(auto edited, mutator.apply(parent.graph, *ops_, repair_, choose));
  LANISTA_ASSIGN(edited, without_identity_chains(std::move(edited), *ops_));
  LANISTA_TRY(check_limits(edited.graph));
  LANISTA_TRY(check_frozen(parent.base, edited.graph));
  LANISTA_TRY(check_kept_labels(edited.graph));

  Candidate child{parent.base, parent.steps, parent.edits, std::move(edited.graph), {}};
  child.steps.push_back({std::string(mutator.name()), {choose.trace().begin() + asked_before, choose.trace().end()}});
  child.edits.insert(child.edits.end(), edited.edits.begin(), edited.edits.end());
  child.hash = graph::canonical_hash(child.graph, *ops_);
  return child;
}

Result<Candidate> ModelSpace::mutate(const Candidate& parent, std::int64_t count, const Rng& rng) const {
  Candidate current = parent;
  const int tries = kTries + kTriesPerFrozenNode * static_cast<int>(frozen_.size() + labelled_nodes_.size());
  for (std::int64_t i = 0; i < count; ++i) {
    const Rng step = rng.split(static_cast<std::uint64_t>(i));
    for (int attempt = 0;; ++attempt) {
      space::RandomChooser choose(step.split(static_cast<std::uint64_t>(attempt)));
      auto child = mutate(current, choose);
      if (child) {
        current = *std::move(child);
        break;
      }
      const Error& error = child.error();
      if (error.code != Code::kNotApplicable) return error;
      if (attempt + 1 == tries || mutators_.empty()) {
        return Error{error.code,
                     "mutation " + std::to_string(i + 1) + " of " + std::to_string(count) + ": none of " +
                         std::to_string(attempt + 1) + " attempts applies; the last: " + error.message,
                     error.where};
      }
    }
  }
  return current;
}

Result<void> ModelSpace::freeze(std::set<graph::NodeId> nodes) {
  for (const BaseModel& base : bases_) LANISTA_TRY(graph::cut_behind_frozen(base.graph, nodes, *ops_));
  frozen_ = std::move(nodes);
  return {};
}

Result<void> ModelSpace::check_frozen(std::int64_t base, const graph::Graph& model) const {
  if (frozen_.empty()) return {};
  const graph::Graph& before = bases_[static_cast<std::size_t>(base)].graph;
  for (const graph::NodeId id : frozen_) {
    if (model.contains(id) && model.node(id) == before.node(id)) continue;
    return Error{Code::kNotApplicable, "the mutation changes " + graph::port_text({id, 0}) + ", which is frozen", ""};
  }
  const auto cut = graph::cut_behind_frozen(model, frozen_, *ops_);
  if (cut) return {};
  return Error{Code::kNotApplicable, cut.error().message, cut.error().where};
}

void ModelSpace::keep_labels(std::set<graph::NodeId> nodes) {
  LANISTA_CHECK(bases_.size() == 1 && !blueprint_, "nodes are held of one base");
  labelled_nodes_ = std::move(nodes);
}

Result<void> ModelSpace::check_kept_labels(const graph::Graph& model) const {
  for (const graph::NodeId id : labelled_nodes_) {
    const std::string& label = bases_.front().graph.node(id).label;
    const auto has_held_label = [&](const auto& node) { return node->label == label; };
    const bool stands = model.contains(id) && model.node(id).label == label &&
                        (label.empty() || std::ranges::count_if(model.nodes(), has_held_label) == 1);
    if (stands) continue;
    return Error{Code::kNotApplicable, "the mutation takes " + graph::port_text({id, 0}) + " away, which is held", ""};
  }
  return {};
}

Result<graph::Graph> ModelSpace::rebuild(std::int64_t base, std::span<const graph::Edit> edits) const {
  if (base < 0 || static_cast<std::size_t>(base) >= bases_.size()) {
    return Error{
        Code::kDataLoss,
        "base model " + std::to_string(base) + " is not among the " + std::to_string(bases_.size()) + " of the space",
        ""};
  }
  auto graph = graph::apply_edits(bases_[static_cast<std::size_t>(base)].graph, edits, *ops_);
  if (!graph) return Error{Code::kDataLoss, "the stored edits do not fit: " + graph.error().message, ""};
  return graph;
}

Result<void> ModelSpace::check_limits(const graph::Graph& model) const {
  if (!limits_.params && !limits_.flops) return {};
  LANISTA_ASSIGN(const auto cost, graph::model_cost(model, *ops_));
  LANISTA_TRY(check_limit(limits_.params, static_cast<double>(cost.parameters), "trained parameters", "params"));
  return check_limit(limits_.flops, cost.forward.flops, "FLOPs per sample", "flops");
}

}  // namespace lanista::mutate

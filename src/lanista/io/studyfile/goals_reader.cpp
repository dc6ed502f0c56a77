#include "lanista/io/studyfile/goals_reader.h"

#include <algorithm>

#include "lanista/base/text_cursor.h"
#include "lanista/io/studyfile/notation.h"

namespace lanista::studyfile {
namespace {

/// The list that a text with several goals means: "[maximize val_accuracy, minimize params]"; empty: it has one goal.
std::string goal_list(std::string text) {
  using Replacement = std::pair<std::string_view, std::string_view>;
  for (const auto& [word, separated] : {Replacement{";", ","},
                                        {"&", ","},
                                        {" and ", ","},
                                        {" maximize ", ",maximize "},
                                        {" minimize ", ",minimize "}}) {
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word)) {
      text.replace(at, word.size(), separated);
    }
  }
  std::vector<std::string> goals;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string goal(trim(std::string_view(text).substr(begin, end - begin)));
    if (!goal.empty()) goals.push_back(goal);
    begin = end + 1;
  }
  return goals.size() < 2 ? "" : "[" + join(goals) + "]";
}

}  // namespace

void read_goals(const YAML::Node& node, study::StudyConfig& config, Mistakes& mistakes) {
  if (node.IsScalar() && node.Scalar() == "auto") return;
  const auto add = [&](const YAML::Node& item) {
    if (!item.IsScalar()) {
      return mistakes.add(item, "goal", "a text is wanted here, such as goal: maximize val_accuracy");
    }
    const std::string text = item.Scalar();
    if (const std::string list = goal_list(text); !list.empty()) {
      const bool is_set = mistakes.location_of(item, "goal").starts_with("--set");
      return mistakes.add(
          item, "goal",
          "'" + text + "' has several goals; write a list: " + (is_set ? "'" + list + "'" : "goal: " + list));
    }
    auto goal = parse_goal(text);
    if (!goal) return mistakes.add(item, "goal", goal.error().message);
    if (config.data.rules > study::kFirstRules) {
      if (auto good = check_goal_direction(text, *goal); !good) return mistakes.add(item, "goal", good.error().message);
    }
    config.goals.push_back(*goal);
  };
  if (node.IsSequence()) {
    for (const auto& item : node) add(item);
  } else {
    add(node);
  }
  if (config.goals.empty() && mistakes.empty()) mistakes.add(node, "goal", "at least one goal is wanted");
}

void read_constraints(const YAML::Node& node, study::StudyConfig& config, Mistakes& mistakes) {
  const auto add = [&](const YAML::Node& item) {
    std::string text = item.IsScalar() ? item.Scalar() : "";
    std::ranges::replace(text, ';', ',');  // undoes protect_calls
    auto constraint = study::Constraint::parse(text);
    if (!constraint) return mistakes.add(item, "subject_to", constraint.error().message);
    if (config.data.rules > study::kFirstRules && constraint->divides_by_zero()) {
      return mistakes.add(item, "subject_to", "'" + text + "' divides by 0, so it is undefined for every trial");
    }
    config.subject_to.push_back(*std::move(constraint));
  };
  if (!node.IsSequence()) return add(node);
  for (const auto& item : node) add(item);
}

void read_implied(const YAML::Node& root, const YAML::Node& node, study::StudyConfig& config, Mistakes& mistakes) {
  if (node.IsNull() || (node.IsScalar() && node.Scalar() == "none")) return;
  if (!node.IsSequence()) {
    return mistakes.add(node, "implied",
                        "a list of rules {when: EVENT, along: PARAMETER, direction: up or down} or {when: decided}");
  }
  bool are_all_read = true;
  for (std::size_t i = 0; i < node.size(); ++i) {
    const std::string path = "implied[" + std::to_string(i) + "]";
    auto rule = study::rule_from_json(mistakes.to_json(node[i]));
    if (rule) {
      config.implied.push_back(*std::move(rule));
      continue;
    }
    are_all_read = false;
    const std::string& where = rule.error().where;
    mistakes.add(find_node_at(root, path + (where.empty() ? "" : "." + where)),
                 path + (where.empty() ? "" : "." + where), rule.error().message);
  }
  if (!are_all_read) return;
  std::vector<space::Parameter> known = config.space.params.parameters();
  for (const study::PruningRule& rule : config.implied) {
    if (study::closes_rungs(rule) || !space::is_model_choice(rule.along)) continue;
    known.push_back({rule.along, space::IntRange{0, 1}, {}});
  }
  const auto checked = study::check_rules(config.implied, known);
  if (!checked) {
    const std::string& where = checked.error().where;
    mistakes.add(find_node_at(root, "implied" + where), "implied" + where, checked.error().message);
  }
}

}  // namespace lanista::studyfile

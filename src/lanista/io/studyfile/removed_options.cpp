#include "lanista/io/studyfile/removed_options.h"

#include <algorithm>
#include <array>
#include <utility>

#include "lanista/io/studyfile/mistakes.h"
#include "lanista/io/studyfile/tuning.h"

namespace lanista::studyfile {
namespace {

using Removed = std::pair<std::string_view, std::string_view>;  // full key, reason

// docs/adr/0091-keep-one-form-of-each-side-training.md has the figures.
constexpr std::array kRemoved{
    Removed{"train.start_race", "was removed in 0.2.0, since races cost more steps than the better starts saved"},
    Removed{"train.select.auto",
            "was removed in 0.2.0, since its comparisons cost more than the selection won; selective stays"},
    Removed{"train.select.batch",
            "was removed in 0.2.0, since it saves no time and is worse than random rows with wrong labels; selective "
            "stays"},
    Removed{"train.select.random",
            "was removed in 0.2.0, since it is only the control of a benchmark; selective stays"},
    Removed{"train.select.reducible",
            "was removed in 0.2.0, since it needs a second model and has no measured gain here; selective stays"}};

/// An option of mltuner that was removed, or one of its values.
struct RemovedOption {
  std::string_view name;    ///< Name of the option.
  std::string_view value;   ///< Removed value; empty: every value.
  std::string_view idle;    ///< Value that changed nothing; empty: none did anything without `halving: 0`.
  std::string_view reason;  ///< As for RemovedSetting.
};

constexpr std::string_view kOfPublished =
    "was removed in 0.2.0 with the published search (halving: 0), which needs three times the steps of a race";
constexpr std::string_view kLoses = "was removed in 0.2.0, since trials with it need more steps";

// docs/adr/0092-keep-one-search-inside-a-trial.md has the figures.
constexpr std::array kRemovedOptions{
    RemovedOption{"halving", "0", "2",
                  "was removed in 0.2.0, since the published search needs three times the steps of a race"},
    RemovedOption{"windows", "", "", kOfPublished},
    RemovedOption{"unstable", "", "", kOfPublished},
    RemovedOption{"within", "", "", kOfPublished},
    RemovedOption{"sequential", "", "", kOfPublished},
    RemovedOption{"second_look", "", "", kOfPublished},
    RemovedOption{"best", "", "",
                  "was removed in 0.2.0 with the published search (halving: 0); the number of refinements belongs next "
                  "to mltuner: then: {mltuner: {…}, best: 3}"},
    RemovedOption{"searcher", "marginal", "sobol",
                  "was removed in 0.2.0, since no benchmark shows a gain; sobol stays"},
    RemovedOption{"again", "", "1", kLoses},
    RemovedOption{"paired", "", "true", kLoses},
    RemovedOption{"progress", "", "false", kLoses},
    RemovedOption{"sure", "", "0", kLoses},
    RemovedOption{"undo", "", "0", kLoses}};

/// Returns true if the scalar `node` is `value`, as text or as a number.
bool is_value(const YAML::Node& node, std::string_view value) {
  if (!node.IsScalar()) return false;
  double number = 0, wanted = 0;
  const YAML::Node other{std::string(value)};
  if (YAML::convert<double>::decode(node, number) && YAML::convert<double>::decode(other, wanted)) {
    return number == wanted;
  }
  return node.Scalar() == value;
}

}  // namespace

std::string_view removal_reason(std::string_view key) {
  const auto found = std::ranges::find(kRemoved, key, &Removed::first);
  return found == kRemoved.end() ? std::string_view() : found->second;
}

std::vector<RemovedSetting> take_removed_tuner_options(const YAML::Node& root) {
  const YAML::Node strategy = find_key(root, "strategy"), name = find_key(strategy, "name");
  const std::string tuner(kMltuner);
  const bool is_tuner = name.IsDefined() && name.IsScalar() && name.Scalar() == tuner;
  const std::pair<std::string, YAML::Node> places[] = {
      {"train.tune." + tuner, find_key(find_key(find_key(root, "train"), "tune"), tuner)},
      {"strategy.then." + tuner, find_key(find_key(strategy, "then"), tuner)},
      {"strategy", is_tuner ? strategy : YAML::Node(YAML::NodeType::Undefined)}};
  std::vector<RemovedSetting> out;
  for (auto [place, options] : places) {
    for (const RemovedOption& option : kRemovedOptions) {
      const std::string key(option.name);
      const YAML::Node value = find_key(options, key);
      if (!value.IsDefined() || (!option.value.empty() && !is_value(value, option.value))) continue;
      const std::string what = option.value.empty() ? "" : std::string(option.value) + " ";
      out.push_back({value, place + "." + key, what + std::string(option.reason),
                     option.idle.empty() || is_value(value, option.idle)});
      options.remove(key);
    }
  }
  return out;
}

}  // namespace lanista::studyfile

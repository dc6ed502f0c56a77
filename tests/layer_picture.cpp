#include "layer_picture.h"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <vector>

#include "layering.h"

namespace lanista::layering {
namespace {

namespace fs = std::filesystem;

bool is_for_tests(const fs::path& file) {
  const std::string name = file.filename().string();
  return name.ends_with("_test.cpp") || name.starts_with("test_");
}

/// Returns each layer that a path of arrows reaches.
std::set<std::string> reach(const std::string& layer, const Arrows& arrows, std::set<std::string>& on_path) {
  if (!on_path.insert(layer).second) throw std::runtime_error("layers: a cycle through layer " + layer);
  std::set<std::string> all;
  if (const auto targets = arrows.find(layer); targets != arrows.end()) {
    for (const std::string& next : targets->second) {
      all.insert(next);
      all.merge(reach(next, arrows, on_path));
    }
  }
  on_path.erase(layer);
  return all;
}

int level_of(const std::string& layer, const Arrows& arrows) {
  int level = 0;
  for (const std::string& target : arrows.at(layer)) level = std::max(level, level_of(target, arrows) + 1);
  return level;
}

std::string joined(const std::set<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

}  // namespace

Arrows arrows_of(const fs::path& layers) {
  Arrows arrows;
  for (const auto& entry : fs::recursive_directory_iterator(layers)) {
    const fs::path file = entry.path().lexically_relative(layers);
    if (!is_source(entry) || is_for_tests(file)) continue;
    if (std::next(file.begin()) == file.end()) continue;
    const std::string layer = file.begin()->string();
    auto& targets = arrows[layer];
    for (const Include& include : includes_of(entry.path())) {
      const std::optional<std::string> other = layer_of(include);
      if (other && !is_public(include) && *other != layer) targets.insert(*other);
    }
  }
  return arrows;
}

Arrows without_implied(const Arrows& arrows) {
  Arrows left;
  for (const auto& [layer, targets] : arrows) {
    auto& kept = left[layer] = targets;
    for (const std::string& next : targets) {
      std::set<std::string> on_path{layer};
      for (const std::string& implied : reach(next, arrows, on_path)) kept.erase(implied);
    }
  }
  return left;
}

std::string picture_of(const Arrows& arrows) {
  const Arrows left = without_implied(arrows);
  std::vector<std::vector<std::string>> levels;
  std::size_t width = 0;
  for (const auto& [layer, targets] : left) {
    const auto level = static_cast<std::size_t>(level_of(layer, left));
    if (levels.size() <= level) levels.resize(level + 1);
    levels[level].push_back(layer);
    width = std::max(width, layer.size());
  }
  std::string text, diagram;
  for (std::size_t level = levels.size(); level-- > 0;) {
    for (std::size_t i = 0; i < levels[level].size(); ++i) {
      const std::string& layer = levels[level][i];
      const std::string number = i == 0 ? std::to_string(level) : "";
      text += std::string(2 - std::min<std::size_t>(2, number.size()), ' ') + number + "  " + layer;
      if (!left.at(layer).empty()) text += std::string(width - layer.size(), ' ') + " -> " + joined(left.at(layer));
      text += "\n";
      for (const std::string& targets : left.at(layer)) diagram += "  " + layer + " --> " + targets + "\n";
    }
  }
  return "```\n" + text + "```\n\n```mermaid\nflowchart TD\n" + diagram + "```\n";
}

std::string with_picture(std::string_view page, std::string_view picture) {
  const std::size_t begins = page.find(kPictureBegins);
  const std::size_t ends = page.find(kPictureEnds);
  if (begins == std::string_view::npos || ends == std::string_view::npos || ends < begins) {
    throw std::runtime_error("the page lacks the markers of the layer picture:\n" + std::string(kPictureBegins) +
                             std::string(kPictureEnds));
  }
  return std::string(page.substr(0, begins + kPictureBegins.size())) + std::string(picture) +
         std::string(page.substr(ends));
}

}  // namespace lanista::layering

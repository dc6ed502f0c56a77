#include "house_picture.h"

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

/// Every room that one can walk to.
std::set<std::string> reach(const std::string& room, const Arrows& arrows, std::set<std::string>& under_way) {
  if (!under_way.insert(room).second) throw std::runtime_error("rooms: a cycle through room " + room);
  std::set<std::string> all;
  if (const auto below = arrows.find(room); below != arrows.end()) {
    for (const std::string& next : below->second) {
      all.insert(next);
      all.merge(reach(next, arrows, under_way));
    }
  }
  under_way.erase(room);
  return all;
}

int storey_of(const std::string& room, const Arrows& arrows) {
  int storey = 0;
  for (const std::string& below : arrows.at(room)) storey = std::max(storey, storey_of(below, arrows) + 1);
  return storey;
}

std::string joined(const std::set<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

}  // namespace

Arrows arrows_of(const fs::path& rooms) {
  Arrows arrows;
  for (const auto& entry : fs::recursive_directory_iterator(rooms)) {
    const fs::path file = entry.path().lexically_relative(rooms);
    if (!is_source(entry) || is_for_tests(file)) continue;
    const std::string room = file.begin()->string();
    auto& below = arrows[room];
    for (const Include& include : includes_of(entry.path())) {
      const std::optional<std::string> other = room_of(include);
      if (other && *other != room) below.insert(*other);
    }
  }
  return arrows;
}

Arrows without_implied(const Arrows& arrows) {
  Arrows left;
  for (const auto& [room, below] : arrows) {
    auto& kept = left[room] = below;
    for (const std::string& next : below) {
      std::set<std::string> under_way{room};
      for (const std::string& implied : reach(next, arrows, under_way)) kept.erase(implied);
    }
  }
  return left;
}

std::string picture_of(const Arrows& arrows) {
  const Arrows left = without_implied(arrows);
  std::vector<std::vector<std::string>> storeys;
  std::size_t width = 0;
  for (const auto& [room, below] : left) {
    const auto storey = static_cast<std::size_t>(storey_of(room, left));
    if (storeys.size() <= storey) storeys.resize(storey + 1);
    storeys[storey].push_back(room);
    width = std::max(width, room.size());
  }
  std::string text, diagram;
  for (std::size_t storey = storeys.size(); storey-- > 0;) {
    for (std::size_t i = 0; i < storeys[storey].size(); ++i) {
      const std::string& room = storeys[storey][i];
      const std::string number = i == 0 ? std::to_string(storey) : "";
      text += std::string(2 - std::min<std::size_t>(2, number.size()), ' ') + number + "  " + room;
      if (!left.at(room).empty()) text += std::string(width - room.size(), ' ') + " -> " + joined(left.at(room));
      text += "\n";
      for (const std::string& below : left.at(room)) diagram += "  " + room + " --> " + below + "\n";
    }
  }
  return "```\n" + text + "```\n\n```mermaid\nflowchart TD\n" + diagram + "```\n";
}

std::string with_picture(std::string_view page, std::string_view picture) {
  const std::size_t begins = page.find(kPictureBegins);
  const std::size_t ends = page.find(kPictureEnds);
  if (begins == std::string_view::npos || ends == std::string_view::npos || ends < begins) {
    throw std::runtime_error("the page has no place for the picture of the rooms, between the lines\n" +
                             std::string(kPictureBegins) + std::string(kPictureEnds));
  }
  return std::string(page.substr(0, begins + kPictureBegins.size())) + std::string(picture) +
         std::string(page.substr(ends));
}

}  // namespace lanista::layering

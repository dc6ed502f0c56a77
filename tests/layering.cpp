#include "layering.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace lanista::layering {
namespace {

namespace fs = std::filesystem;

// The target of an include line, whatever the spacing. A commented-out line does not begin with '#', so it is none.
std::optional<Include> parse_include(const std::string& line) {
  auto at = line.find_first_not_of(" \t");
  if (at == std::string::npos || line[at] != '#') return std::nullopt;
  at = line.find_first_not_of(" \t", at + 1);
  if (at == std::string::npos || line.compare(at, 7, "include") != 0) return std::nullopt;
  at = line.find_first_of("\"<", at + 7);
  if (at == std::string::npos) return std::nullopt;
  const bool quoted = line[at] == '"';
  const auto end = line.find(quoted ? '"' : '>', at + 1);
  if (end == std::string::npos) return std::nullopt;
  return Include{0, line.substr(at + 1, end - at - 1), quoted};
}

bool is_torch_header(const std::string& path) {
  const auto starts = [&](const char* prefix) { return path.rfind(prefix, 0) == 0; };
  return starts("torch/") || starts("ATen/") || starts("c10/") || starts("caffe2/");
}

std::string problem_with(const Include& include, const std::string& room, bool is_test, const Layers& layers) {
  if (is_torch_header(include.path)) {
    if (is_test || layers.torch.contains(room)) return "";
    return "room " + room + " is in front of the torch wall and includes " + include.path;
  }
  const std::optional<std::string> other = room_of(include);
  if (!other) {
    return include.quoted ? "quoted include \"" + include.path + "\" is not written \"lanista/<room>/…\"" : "";
  }
  if (layers.may_include.at(room).contains(*other)) return "";
  return "room " + room + " may not include room " + *other + " (" + include.path + ")";
}

void close_over(const std::string& room, Layers& layers, const std::map<std::string, std::set<std::string>>& rows,
                std::set<std::string>& open) {
  if (layers.may_include.contains(room)) return;
  if (!rows.contains(room)) throw std::runtime_error("layers: room " + room + " has no row");
  if (!open.insert(room).second) throw std::runtime_error("layers: cycle through room " + room);
  std::set<std::string> all{room};
  for (const auto& below : rows.at(room)) {
    close_over(below, layers, rows, open);
    all.insert(layers.may_include.at(below).begin(), layers.may_include.at(below).end());
  }
  layers.may_include[room] = std::move(all);
}

}  // namespace

Layers read_layers(std::string_view text) {
  std::map<std::string, std::set<std::string>> rows;
  Layers layers;
  std::istringstream in{std::string(text)};
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string room, arrow;
    if (!(words >> room)) continue;
    if (!(words >> arrow) || arrow != "->") throw std::runtime_error("layers: no arrow in \"" + line + "\"");
    if (room.ends_with("[T]")) {
      room.resize(room.size() - 3);
      layers.torch.insert(room);
    }
    if (rows.contains(room)) throw std::runtime_error("layers: room " + room + " has two rows");
    auto& below = rows[room];
    for (std::string word; words >> word;) below.insert(word);
  }
  for (const auto& [room, below] : rows) {
    std::set<std::string> open;
    close_over(room, layers, rows, open);
  }
  return layers;
}

std::vector<Include> includes_of(const fs::path& file) {
  std::vector<Include> found;
  std::ifstream in(file);
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (auto include = parse_include(line)) {
      include->line = number;
      found.push_back(*std::move(include));
    }
  }
  return found;
}

std::optional<std::string> room_of(const Include& include) {
  if (include.path.rfind("lanista/", 0) != 0) return std::nullopt;
  const auto slash = include.path.find('/', 8);
  return include.path.substr(8, slash == std::string::npos ? slash : slash - 8);
}

bool is_source(const fs::directory_entry& entry) {
  const auto extension = entry.path().extension();
  return entry.is_regular_file() && (extension == ".h" || extension == ".cpp" || extension == ".inc");
}

std::vector<std::string> find_violations(const fs::path& rooms, const Layers& layers) {
  std::vector<std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(rooms)) {
    if (!is_source(entry)) continue;
    const fs::path file = entry.path().lexically_relative(rooms);
    const std::string room = std::next(file.begin()) == file.end() ? "" : file.begin()->string();
    if (!layers.may_include.contains(room)) {
      found.push_back(file.string() + ":0: folder \"" + room + "\" has no row in cmake/layers.txt");
      continue;
    }
    const bool is_test = file.filename().string().ends_with("_test.cpp");
    for (const Include& include : includes_of(entry.path())) {
      const std::string problem = problem_with(include, room, is_test, layers);
      if (!problem.empty()) found.push_back(file.string() + ":" + std::to_string(include.line) + ": " + problem);
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace lanista::layering

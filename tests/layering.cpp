#include "layering.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>

namespace lanista::layering {
namespace {

namespace fs = std::filesystem;

// Returns the include of a line with any spacing, or nullopt for another line, such as one in a comment.
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

bool is_below(const std::string& folder, const std::set<std::string>& folders) {
  for (const std::string& each : folders) {
    if (folder == each || folder.starts_with(each + "/")) return true;
  }
  return false;
}

// The module that implements include/lanista.
constexpr const char* kPublicModule = "app/api";

// The standard library has headers without a folder and without a suffix.
bool is_of_standard_library(const Include& include) {
  return !include.quoted && include.path.find_first_of("./") == std::string::npos;
}

// Whether `installed` has the header that an include names after "lanista/".
bool is_installed(const Include& include, const std::set<std::string>& installed) {
  return include.quoted && include.path.starts_with("lanista/") && installed.contains(include.path.substr(8));
}

void check_public_header(const fs::path& path, const std::string& name, const std::set<std::string>& installed,
                         std::vector<std::string>& found) {
  for (const Include& include : includes_of(path)) {
    if (is_of_standard_library(include) || is_installed(include, installed)) continue;
    found.push_back(name + ":" + std::to_string(include.line) + ": installed headers may not include " + include.path);
  }
}

// Returns what is wrong with an include, or "". The first folder of `file` is its layer.
std::string include_error(const Include& include, const fs::path& file, const Layers& layers) {
  const std::string layer = file.begin()->string();
  const bool is_test = file.filename().string().ends_with("_test.cpp");
  if (is_torch_header(include.path)) {
    if (is_test || is_below(file.parent_path().generic_string(), layers.torch_folders)) return "";
    return "folder " + file.parent_path().generic_string() + " may not include LibTorch (" + include.path + ")";
  }
  if (is_test && (include.path.starts_with("support/") || include.path.starts_with("bench/"))) return "";
  if (is_public(include)) {
    if (is_test || file.parent_path() == kPublicModule) return "";
    return "only " + std::string(kPublicModule) + " may include the public header " + include.path;
  }
  const std::optional<std::string> other = layer_of(include);
  if (!other) {
    return include.quoted ? "quoted include \"" + include.path + "\" is not written \"lanista/<layer>/…\"" : "";
  }
  if (is_test || layers.may_include.at(layer).contains(*other)) return "";
  return "layer " + layer + " may not include layer " + *other + " (" + include.path + ")";
}

void add_transitive(const std::string& layer, Layers& layers, const std::map<std::string, std::set<std::string>>& rows,
                    std::set<std::string>& open) {
  if (layers.may_include.contains(layer)) return;
  if (!rows.contains(layer)) throw std::runtime_error("layers: " + layer + " has no row");
  if (!open.insert(layer).second) throw std::runtime_error("layers: cycle through " + layer);
  std::set<std::string> all{layer};
  for (const auto& next : rows.at(layer)) {
    add_transitive(next, layers, rows, open);
    all.insert(layers.may_include.at(next).begin(), layers.may_include.at(next).end());
  }
  layers.may_include[layer] = std::move(all);
}

void check_file(const fs::directory_entry& entry, const fs::path& file, const Layers& layers,
                std::vector<std::string>& found) {
  const std::string layer = std::next(file.begin()) == file.end() ? "" : file.begin()->string();
  if (!layers.may_include.contains(layer)) {
    found.push_back(file.string() + ":0: folder \"" + layer + "\" has no row in cmake/layers.txt");
    return;
  }
  for (const Include& include : includes_of(entry.path())) {
    const std::string problem = include_error(include, file, layers);
    if (!problem.empty()) found.push_back(file.string() + ":" + std::to_string(include.line) + ": " + problem);
  }
}

}  // namespace

Layers read_layers(std::string_view text) {
  std::map<std::string, std::set<std::string>> rows;
  Layers layers;
  std::istringstream in{std::string(text)};
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string layer, arrow;
    if (!(words >> layer)) continue;
    if (layer == "torch:") {
      for (std::string folder; words >> folder;) layers.torch_folders.insert(folder);
      continue;
    }
    if (!(words >> arrow) || arrow != "->") throw std::runtime_error("layers: no arrow in \"" + line + "\"");
    if (rows.contains(layer)) throw std::runtime_error("layers: " + layer + " has two rows");
    auto& next = rows[layer];
    for (std::string word; words >> word;) next.insert(word);
  }
  for (const auto& [layer, next] : rows) {
    std::set<std::string> open;
    add_transitive(layer, layers, rows, open);
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

std::optional<std::string> layer_of(const Include& include) {
  if (include.path.starts_with("bench/")) return "bench";
  if (!include.path.starts_with("lanista/")) return std::nullopt;
  const auto slash = include.path.find('/', 8);
  return include.path.substr(8, slash == std::string::npos ? slash : slash - 8);
}

bool is_public(const Include& include) {
  return include.path.starts_with("lanista/") && include.path.find('/', 8) == std::string::npos;
}

std::vector<std::string> find_violations_of_public_headers(const fs::path& folder, const fs::path& root,
                                                           const std::set<std::string>& of_modules) {
  std::set<std::string> installed = of_modules;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    installed.insert(name.ends_with(".in") ? name.substr(0, name.size() - 3) : name);
  }
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    check_public_header(entry.path(), entry.path().filename().string(), installed, found);
  }
  for (const std::string& name : of_modules) check_public_header(root / name, name, of_modules, found);
  std::sort(found.begin(), found.end());
  return found;
}

bool is_source(const fs::directory_entry& entry) {
  const auto extension = entry.path().extension();
  return entry.is_regular_file() && (extension == ".h" || extension == ".cpp" || extension == ".inc");
}

std::vector<std::string> find_violations(const fs::path& root, const Layers& layers) {
  std::vector<std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (is_source(entry)) check_file(entry, entry.path().lexically_relative(root), layers, found);
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<std::string> find_violations_of(const fs::path& folder, const std::string& layer, const Layers& layers) {
  std::vector<std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (is_source(entry)) check_file(entry, layer / entry.path().lexically_relative(folder), layers, found);
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace lanista::layering

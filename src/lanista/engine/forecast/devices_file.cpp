#include "lanista/engine/forecast/devices_file.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "lanista/io/studyfile/json_mapping.h"
#include "lanista/io/studyfile/mistakes.h"

namespace lanista::engine {
namespace {

using nlohmann::json;
using pipeline::DeviceClass;
using pipeline::Devices;
using pipeline::Link;

constexpr double kMegabyte = 1e6, kGigabyte = 1e9, kMaxValue = 1e12;

/// Reads the parts of the file and collects mistakes.
class Reader {
 public:
  explicit Reader(const std::string& file) : mistakes_(file, {}) {}

  Result<Devices> read(const YAML::Node& root) {
    check_known_keys(root, "", {"note", "classes", "links"});
    const YAML::Node note = studyfile::find_key(root, "note");
    if (note && note.IsScalar()) out_.note = note.Scalar();
    const YAML::Node classes = studyfile::find_key(root, "classes"), links = studyfile::find_key(root, "links");
    if (!classes || !classes.IsSequence() || classes.size() == 0) {
      mistakes_.add(root, "classes", "a list of classes of devices must be there");
    } else {
      for (std::size_t i = 0; i < classes.size(); ++i) read_class(classes[i], "classes[" + std::to_string(i) + "]");
    }
    links_.assign(out_.classes.size(), std::vector<std::optional<Link>>(out_.classes.size()));
    if (links && !links.IsSequence()) mistakes_.add(links, "links", "is no list of links");
    for (std::size_t i = 0; links && links.IsSequence() && i < links.size(); ++i) {
      read_link(links[i], "links[" + std::to_string(i) + "]");
    }
    if (mistakes_.empty()) read_links(root);
    if (!mistakes_.empty()) return Error{Code::kInvalidArgument, mistakes_.text(), ""};
    LANISTA_TRY(pipeline::check(out_));
    return std::move(out_);
  }

 private:
  bool check_known_keys(const YAML::Node& map, const std::string& path, const std::vector<std::string>& keys) {
    if (!map.IsMap()) {
      mistakes_.add(map, path, "is no mapping");
      return false;
    }
    for (const auto& item : map) {
      const std::string key = item.first.IsScalar() ? item.first.Scalar() : "";
      if (std::ranges::find(keys, key) == keys.end()) {
        mistakes_.unknown(item.first, path.empty() ? key : path + "." + key, key, keys);
      }
    }
    return true;
  }

  double read_number(const YAML::Node& map, const std::string& path, const char* key, double fallback, double least) {
    const YAML::Node node = studyfile::find_key(map, key);
    if (!node) return fallback;
    const json value = mistakes_.to_json(node);
    const double read_number = value.is_number() ? value.get<double>() : NAN;
    if (std::isfinite(read_number) && read_number >= least && read_number <= kMaxValue) return read_number;
    mistakes_.add(node, path + "." + key,
                  studyfile::quote_value(value) + " is not allowed; a number from " +
                      studyfile::quote_value(json(least)) + " is");
    return fallback;
  }

  std::int64_t read_integer(const YAML::Node& map, const std::string& path, const char* key, std::int64_t fallback) {
    const YAML::Node node = studyfile::find_key(map, key);
    if (!node) return fallback;
    const json value = mistakes_.to_json(node);
    if (value.is_number_integer() && value.get<std::int64_t>() >= 1 &&
        value.get<std::int64_t>() <= pipeline::kMaxDevices) {
      return value.get<std::int64_t>();
    }
    mistakes_.add(node, path + "." + key,
                  studyfile::quote_value(value) + " is not allowed; a whole number from 1 to " +
                      std::to_string(pipeline::kMaxDevices) + " is");
    return fallback;
  }

  Link read_link_cost(const YAML::Node& map, const std::string& path) {
    Link link;
    link.seconds = 1e-6 * read_number(map, path, "us", 0, 0);
    if (!studyfile::find_key(map, "gb_per_second")) {
      mistakes_.add(map, path + ".gb_per_second", "is missing; allowed: gigabytes per second, a number above 0");
    }
    link.bytes_per_second = kGigabyte * read_number(map, path, "gb_per_second", 1, 1e-9);
    return link;
  }

  void read_class(const YAML::Node& map, const std::string& path) {
    if (!check_known_keys(map, path, {"name", "count", "per_machine", "memory_mb", "speed", "inside"})) return;
    DeviceClass one;
    const YAML::Node name = studyfile::find_key(map, "name"), inside = studyfile::find_key(map, "inside");
    if (name && name.IsScalar()) one.name = name.Scalar();
    if (std::ranges::find(out_.classes, one.name, &DeviceClass::name) != out_.classes.end()) {
      mistakes_.add(map, path + ".name", "two classes have the name " + one.name);
    }
    one.count = read_integer(map, path, "count", 1);
    one.per_machine = read_integer(map, path, "per_machine", one.count);
    if (studyfile::find_key(map, "memory_mb"))
      one.memory_bytes = kMegabyte * read_number(map, path, "memory_mb", 1, 1e-3);
    one.speed = read_number(map, path, "speed", 1, 1e-9);
    has_inside_.push_back(static_cast<bool>(inside));
    if (inside && check_known_keys(inside, path + ".inside", {"us", "gb_per_second"}))
      one.inside = read_link_cost(inside, path + ".inside");
    out_.classes.push_back(std::move(one));
  }

  void read_link(const YAML::Node& map, const std::string& path) {
    if (!check_known_keys(map, path, {"between", "us", "gb_per_second"})) return;
    const YAML::Node between = studyfile::find_key(map, "between");
    if (!between || !between.IsSequence() || between.size() != 2) {
      mistakes_.add(map, path + ".between", "must be a list of two class names");
      return;
    }
    std::size_t ends[2] = {0, 0};
    for (std::size_t i = 0; i < 2; ++i) {
      const std::string name = between[i].IsScalar() ? between[i].Scalar() : "";
      const auto at = std::ranges::find(out_.classes, name, &DeviceClass::name);
      if (at == out_.classes.end()) {
        mistakes_.add(between[i], path + ".between",
                      "there is no class " + studyfile::quote_value(json(name)) + "; known are " +
                          studyfile::join(studyfile::plugin_names(out_.classes)));
        return;
      }
      ends[i] = static_cast<std::size_t>(at - out_.classes.begin());
    }
    if (links_[ends[0]][ends[1]]) mistakes_.add(map, path + ".between", "this link is defined twice");
    links_[ends[0]][ends[1]] = links_[ends[1]][ends[0]] = read_link_cost(map, path);
  }

  /// Sets the default links: from a class on one machine to itself, and inside a machine as between two machines.
  void read_links(const YAML::Node& root) {
    const std::size_t count = out_.classes.size();
    out_.links.assign(count, std::vector<Link>(count));
    for (std::size_t a = 0; a < count; ++a) {
      DeviceClass& one = out_.classes[a];
      if (!links_[a][a] && one.count <= one.per_machine && (has_inside_[a] || one.count == 1))
        links_[a][a] = one.inside;
      for (std::size_t b = a; b < count; ++b) {
        if (!links_[a][b]) {
          mistakes_.add(root, "links", "there is no link between " + one.name + " and " + out_.classes[b].name);
          continue;
        }
        out_.links[a][b] = out_.links[b][a] = *links_[a][b];
      }
      if (!has_inside_[a] && links_[a][a]) one.inside = *links_[a][a];
    }
  }

  studyfile::Mistakes mistakes_;
  Devices out_;
  std::vector<bool> has_inside_;
  std::vector<std::vector<std::optional<Link>>> links_;
};

}  // namespace

Result<Devices> read_devices(std::string_view text, const std::string& file) {
  LANISTA_ASSIGN(const YAML::Node root, studyfile::load_yaml(text, file));
  return Reader(file).read(root);
}

}  // namespace lanista::engine

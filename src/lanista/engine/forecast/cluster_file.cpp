#include "lanista/engine/forecast/cluster_file.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "lanista/io/studyfile/json_mapping.h"
#include "lanista/io/studyfile/mistakes.h"

namespace lanista::engine {
namespace {

using nlohmann::json;

constexpr double kBytesPerMegabyte = 1e6;

struct Field {
  std::string name;
  std::string allowed;
  std::function<bool(const json&, ClusterFile&)> take;  ///< Stores the value; false: not allowed.
};

Field integer_field(const char* name, std::int64_t most, bool powers_of_two, std::int64_t plan::Cluster::*member) {
  const std::string allowed = powers_of_two ? "a power of two from 1 to " + std::to_string(most)
                                            : "a whole number from 1 to " + std::to_string(most);
  return {name, allowed, [=](const json& value, ClusterFile& out) {
            if (!value.is_number_integer()) return false;
            const auto number = value.get<std::int64_t>();
            if (number < 1 || number > most || (powers_of_two && (number & (number - 1)) != 0)) return false;
            out.cluster.*member = number;
            return true;
          }};
}

Field number_field(const char* name, double least, double most, std::string allowed,
                   std::function<void(ClusterFile&, double)> put) {
  return {name, std::move(allowed), [=](const json& value, ClusterFile& out) {
            if (!value.is_number()) return false;
            const double number = value.get<double>();
            if (!std::isfinite(number) || number < least || number > most) return false;
            put(out, number);
            return true;
          }};
}

std::vector<Field> fields() {
  using plan::Cluster;
  return {
      integer_field("workers", 10'000, false, &Cluster::workers),
      integer_field("shares", 64, true, &Cluster::shares),
      integer_field("widest", 1024, false, &Cluster::widest),
      number_field("memory_mb", 1, 1e12, "a number from 1",
                   [](ClusterFile& out, double value) { out.cluster.memory = value * kBytesPerMegabyte; }),
      number_field("reserve", 0, 0.99, "a number from 0 to 0.99",
                   [](ClusterFile& out, double value) { out.cluster.reserve = value; }),
      number_field("interference", 0, 10, "a number from 0 to 10",
                   [](ClusterFile& out, double value) {
                     out.cluster.interference = value;
                     out.has_interference = true;
                   }),
      number_field("busy", 0.01, 1, "a number from 0.01 to 1",
                   [](ClusterFile& out, double value) { out.busy_fraction = value; }),
      number_field("serial", 0, 1, "a number from 0 to 1",
                   [](ClusterFile& out, double value) {
                     out.serial_fraction = value;
                     out.has_serial_fraction = true;
                   }),
      number_field("resize_seconds", 0, 1e6, "a number from 0",
                   [](ClusterFile& out, double value) {
                     out.resize_seconds = value;
                     out.has_resize_seconds = true;
                   }),
  };
}

}  // namespace

Result<ClusterFile> read_cluster(std::string_view text, const std::string& file) {
  LANISTA_ASSIGN(const YAML::Node root, studyfile::load_yaml(text, file));
  studyfile::Mistakes mistakes(file, {});
  ClusterFile out;
  out.cluster.memory = 1e18;  // unlimited
  if (!root.IsMap()) {
    return Error{Code::kInvalidArgument, "a cluster file is a mapping, such as 'workers: 4'",
                 mistakes.location_of(root, "")};
  }
  const std::vector<Field> known = fields();
  for (const auto& item : root) {
    const std::string key = item.first.IsScalar() ? item.first.Scalar() : "";
    const auto field = std::ranges::find(known, key, &Field::name);
    if (field == known.end()) {
      mistakes.unknown(item.first, key, key, studyfile::plugin_names(known));
      continue;
    }
    const json value = mistakes.to_json(item.second);
    if (!field->take(value, out)) {
      mistakes.add(item.second, key, studyfile::quote_value(value) + " is not allowed; " + field->allowed + " is");
    }
  }
  if (!studyfile::find_key(root, "workers"))
    mistakes.add(root, "workers", "is missing; allowed: the number of workers");
  if (!mistakes.empty()) return Error{Code::kInvalidArgument, mistakes.text(), ""};
  LANISTA_TRY(plan::check_cluster(out.cluster));
  return out;
}

}  // namespace lanista::engine

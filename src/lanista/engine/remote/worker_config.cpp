#include "lanista/engine/remote/worker_config.h"

#include <nlohmann/json.hpp>

#include "lanista/io/store/record_json.h"
#include "lanista/search/study/record_table.h"

namespace lanista::engine {
namespace {

using nlohmann::json;
using study::fields::FieldTable;
using study::fields::Malformed;

json class_weights_json(const study::ClassWeights& weights) {
  return weights ? study::class_weights_json(weights) : json("none");
}
study::ClassWeights read_class_weights(const json& in) {
  auto weights = study::read_class_weights(in);
  if (!weights || in.is_null()) throw Malformed{"'class_weights' is neither none nor weights of classes"};
  return *std::move(weights);
}

json split_json(const std::array<double, 3>& split) {
  return json::array({real_json(split[0]), real_json(split[1]), real_json(split[2])});
}
std::array<double, 3> read_split(const json& in) {
  std::array<double, 3> split{};
  if (!in.is_array()) throw Malformed{"'split' is not a list"};
  if (in.size() != split.size()) throw Malformed{"'split' has " + std::to_string(in.size()) + " parts"};
  for (std::size_t i = 0; i < split.size(); ++i) {
    const auto part = parse_real_json(in[i]);
    if (!part) throw Malformed{"'split' has a value that is not a number"};
    split[i] = *part;
  }
  return split;
}

void table(FieldTable& t, DataSource& data) {
  t("source", data.source)("folder", data.folder).via("split", data.split, split_json, read_split);
  t("normalize", data.normalize)("targets", data.targets);
  t.via("class_weights", data.class_weights, class_weights_json, read_class_weights);
  t.or_text("none", "folds", data.folds)("repetitions", data.repetitions)("rules", data.rules);
  t.or_text("any", "hash", data.hash);
}

void texts(FieldTable& t, const char* name, std::vector<std::string>& values) {
  t.list(
      name, values, [](const std::string& each) { return json(each); },
      [&](const json& each) {
        if (!each.is_string()) throw Malformed{"'" + std::string(name) + "' has a value that is not text"};
        return each.get<std::string>();
      });
}

void table(FieldTable& t, WorkerConfig& config) {
  std::string kind = "brief";
  t("kind", kind);
  if (kind != "brief") throw Malformed{"'" + kind + "' is not a worker configuration"};
  t("study_folder", config.study_folder).via("data", config.data, table);
  t("isa", config.isa)("numeric_class", config.numeric_class)("workers", config.workers)("lanes", config.lanes);
  t("width", config.width)("pipeline", config.pipeline)("pipeline_processes", config.pipeline_processes);
  t("memory_bytes", config.memory_bytes);
  texts(t, "pipeline_hosts", config.pipeline_hosts);
  texts(t, "pipeline_programs", config.pipeline_programs);
  t("link_us", config.link_us)("link_gb_per_second", config.link_gb_per_second);
  texts(t, "metrics", config.metrics);
  t("checkpoint_every", config.checkpoint_every)("crash_marks", config.crash_marks);
}

}  // namespace

study::DataConfig DataSource::config() const {
  study::DataConfig config;
  config.source = source;
  config.split = split;
  config.normalize = normalize;
  config.targets = targets;
  config.class_weights = class_weights;
  config.folds = folds;
  config.rules = rules;
  return config;
}

std::string encode(const WorkerConfig& worker_config) {
  return study::fields::write_table(worker_config, table).dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<WorkerConfig> decode_worker_config(std::string_view text) {
  LANISTA_ASSIGN(const json message, store::parse_record_json(text));
  return study::fields::read_table<WorkerConfig>("brief", message, table);
}

}  // namespace lanista::engine

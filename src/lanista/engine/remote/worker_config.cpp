#include "lanista/engine/remote/worker_config.h"

#include <nlohmann/json.hpp>

#include "lanista/base/real_json.h"
#include "lanista/io/store/record_json.h"
#include "lanista/search/study/record_fields.h"

namespace lanista::engine {
namespace {

using nlohmann::json;
using study::fields::array;
using study::fields::digest;
using study::fields::flag;
using study::fields::integer;
using study::fields::Malformed;
using study::fields::member;
using study::fields::read_record;
using study::fields::real;
using study::fields::text;

json to_json(const DataSource& data) {
  json split = json::array();
  for (const double part : data.split) split.push_back(real_json(part));
  return {{"source", data.source},
          {"folder", data.folder},
          {"split", std::move(split)},
          {"normalize", data.normalize},
          {"targets", data.targets},
          {"class_weights", data.class_weights ? study::class_weights_json(data.class_weights) : json("none")},
          {"folds", data.folds ? json(*data.folds) : json("none")},
          {"repetitions", data.repetitions},
          {"hash", data.hash ? json(data.hash->hex()) : json("any")}};
}

DataSource read_data(const json& in) {
  DataSource data;
  data.source = text(in, "source");
  data.folder = text(in, "folder");
  const json& split = array(in, "split");
  if (split.size() != data.split.size()) throw Malformed{"'split' has " + std::to_string(split.size()) + " parts"};
  for (std::size_t i = 0; i < data.split.size(); ++i) {
    const auto part = parse_real_json(split[i]);
    if (!part) throw Malformed{"'split' has a value that is not a number"};
    data.split[i] = *part;
  }
  data.normalize = text(in, "normalize");
  data.targets = text(in, "targets");
  const json& class_weights = member(in, "class_weights");
  auto weights = study::read_class_weights(class_weights);
  if (!weights || class_weights.is_null()) throw Malformed{"'class_weights' is neither none nor weights of classes"};
  data.class_weights = *std::move(weights);
  if (member(in, "folds") != "none") data.folds = integer(in, "folds");
  data.repetitions = integer(in, "repetitions");
  if (text(in, "hash") != "any") data.hash = digest(in, "hash");
  return data;
}

json to_json(const WorkerConfig& worker_config) {
  return {{"kind", "brief"},
          {"study_folder", worker_config.study_folder},
          {"data", to_json(worker_config.data)},
          {"isa", worker_config.isa},
          {"numeric_class", worker_config.numeric_class},
          {"workers", worker_config.workers},
          {"lanes", worker_config.lanes},
          {"width", worker_config.width},
          {"pipeline", worker_config.pipeline},
          {"pipeline_processes", worker_config.pipeline_processes},
          {"pipeline_hosts", worker_config.pipeline_hosts},
          {"pipeline_programs", worker_config.pipeline_programs},
          {"link_us", real_json(worker_config.link_us)},
          {"link_gb_per_second", real_json(worker_config.link_gb_per_second)},
          {"memory_bytes", worker_config.memory_bytes},
          {"metrics", worker_config.metrics},
          {"checkpoint_every", real_json(worker_config.checkpoint_every)},
          {"crash_marks", worker_config.crash_marks}};
}

std::vector<std::string> texts(const json& in, const char* name) {
  std::vector<std::string> all;
  for (const json& each : array(in, name)) {
    if (!each.is_string()) throw Malformed{"'" + std::string(name) + "' has a value that is not text"};
    all.push_back(each.get<std::string>());
  }
  return all;
}

WorkerConfig read_brief(const json& in) {
  if (text(in, "kind") != "brief") throw Malformed{"'" + text(in, "kind") + "' is not a worker configuration"};
  WorkerConfig worker_config;
  worker_config.study_folder = text(in, "study_folder");
  worker_config.data = read_data(member(in, "data"));
  worker_config.isa = text(in, "isa");
  worker_config.numeric_class = text(in, "numeric_class");
  worker_config.workers = integer(in, "workers");
  worker_config.lanes = integer(in, "lanes");
  worker_config.width = integer(in, "width");
  worker_config.pipeline = integer(in, "pipeline");
  worker_config.pipeline_processes = flag(in, "pipeline_processes");
  worker_config.memory_bytes = integer(in, "memory_bytes");
  worker_config.pipeline_hosts = texts(in, "pipeline_hosts");
  worker_config.pipeline_programs = texts(in, "pipeline_programs");
  worker_config.link_us = real(in, "link_us");
  worker_config.link_gb_per_second = real(in, "link_gb_per_second");
  worker_config.metrics = texts(in, "metrics");
  worker_config.checkpoint_every = real(in, "checkpoint_every");
  worker_config.crash_marks = flag(in, "crash_marks");
  return worker_config;
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
  return config;
}

std::string encode(const WorkerConfig& worker_config) {
  return to_json(worker_config).dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<WorkerConfig> decode_worker_config(std::string_view text) {
  LANISTA_ASSIGN(const json message, store::parse_record_json(text));
  return read_record<WorkerConfig>("brief", [&] { return read_brief(message); });
}

}  // namespace lanista::engine

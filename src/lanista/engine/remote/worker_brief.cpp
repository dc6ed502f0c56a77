#include "lanista/engine/remote/worker_brief.h"

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
    const auto part = real_of(split[i]);
    if (!part) throw Malformed{"'split' holds what is no number"};
    data.split[i] = *part;
  }
  data.normalize = text(in, "normalize");
  data.targets = text(in, "targets");
  const json& said = member(in, "class_weights");
  auto weights = study::read_class_weights(said);
  if (!weights || said.is_null()) throw Malformed{"'class_weights' is neither none nor weights of classes"};
  data.class_weights = *std::move(weights);
  if (member(in, "folds") != "none") data.folds = integer(in, "folds");
  data.repetitions = integer(in, "repetitions");
  if (text(in, "hash") != "any") data.hash = digest(in, "hash");
  return data;
}

json to_json(const WorkerBrief& brief) {
  return {{"kind", "brief"},
          {"study_folder", brief.study_folder},
          {"data", to_json(brief.data)},
          {"isa", brief.isa},
          {"numeric_class", brief.numeric_class},
          {"workers", brief.workers},
          {"lanes", brief.lanes},
          {"width", brief.width},
          {"pipeline", brief.pipeline},
          {"pipeline_processes", brief.pipeline_processes},
          {"pipeline_hosts", brief.pipeline_hosts},
          {"pipeline_programs", brief.pipeline_programs},
          {"link_us", real_json(brief.link_us)},
          {"link_gb_per_second", real_json(brief.link_gb_per_second)},
          {"memory_bytes", brief.memory_bytes},
          {"metrics", brief.metrics},
          {"checkpoint_every", real_json(brief.checkpoint_every)},
          {"crash_marks", brief.crash_marks}};
}

std::vector<std::string> texts(const json& in, const char* name) {
  std::vector<std::string> all;
  for (const json& each : array(in, name)) {
    if (!each.is_string()) throw Malformed{"'" + std::string(name) + "' holds what is no text"};
    all.push_back(each.get<std::string>());
  }
  return all;
}

WorkerBrief read_brief(const json& in) {
  if (text(in, "kind") != "brief") throw Malformed{"'" + text(in, "kind") + "' is no brief"};
  WorkerBrief brief;
  brief.study_folder = text(in, "study_folder");
  brief.data = read_data(member(in, "data"));
  brief.isa = text(in, "isa");
  brief.numeric_class = text(in, "numeric_class");
  brief.workers = integer(in, "workers");
  brief.lanes = integer(in, "lanes");
  brief.width = integer(in, "width");
  brief.pipeline = integer(in, "pipeline");
  brief.pipeline_processes = flag(in, "pipeline_processes");
  brief.memory_bytes = integer(in, "memory_bytes");
  brief.pipeline_hosts = texts(in, "pipeline_hosts");
  brief.pipeline_programs = texts(in, "pipeline_programs");
  brief.link_us = real(in, "link_us");
  brief.link_gb_per_second = real(in, "link_gb_per_second");
  brief.metrics = texts(in, "metrics");
  brief.checkpoint_every = real(in, "checkpoint_every");
  brief.crash_marks = flag(in, "crash_marks");
  return brief;
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

std::string encode(const WorkerBrief& brief) {
  return to_json(brief).dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<WorkerBrief> decode_brief(std::string_view text) {
  LANISTA_ASSIGN(const json message, store::parse_record_json(text));
  return read_record<WorkerBrief>("brief", [&] { return read_brief(message); });
}

}  // namespace lanista::engine

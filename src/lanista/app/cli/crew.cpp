#include "lanista/app/cli/crew.h"

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <utility>

#include "lanista/ipc/elsewhere.h"
#include "lanista/exec/kernels/kernels.h"
#include "lanista/exec/program/backend.h"

namespace lanista::cli {
namespace {

bool says_where(const Crew& crew) { return !crew.ssh.empty() || crew.slurm || !crew.launch.empty(); }

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

study::ClusterConfig cluster_of(const Crew& crew, const study::StudyConfig& config) {
  if (!says_where(crew)) return config.cluster;
  study::ClusterConfig cluster = config.cluster;
  cluster.ssh = crew.ssh;
  cluster.slurm = crew.slurm ? words_of(*crew.slurm) : std::vector<std::string>();
  if (crew.slurm && cluster.slurm.empty()) cluster.slurm = {"--nodes=1"};
  return cluster;
}

Error cannot(const std::string& message, const std::string& where) { return {Code::kInvalidArgument, message, where}; }

/// Hosts with a name, of workers and of places, each once.
std::vector<std::string> named_hosts(const study::ClusterConfig& cluster) {
  std::vector<std::string> out;
  for (const auto* hosts : {&cluster.ssh, &cluster.places}) {
    for (const std::string& host : *hosts) {
      if (host != study::kHere && std::ranges::find(out, host) == out.end()) out.push_back(host);
    }
  }
  return out;
}

/// The paths of lanista on other hosts: `--program`, else the path of this program. No file names them.
Result<engine::ProgramPaths> program_paths(const Crew& crew, const study::StudyConfig& config) {
  const study::ClusterConfig cluster = cluster_of(crew, config);
  const std::vector<std::string> hosts = named_hosts(cluster);
  if (!crew.program.empty() && hosts.empty() && cluster.slurm.empty() && crew.launch.empty()) {
    return cannot("is '" + crew.program.front() +
                      "', but all workers are on this machine; allowed with --ssh, --slurm, --launch, cluster.ssh, "
                      "cluster.slurm or cluster.places",
                  "--program");
  }
  std::error_code ignored;
  const std::string own = std::filesystem::read_symlink("/proc/self/exe", ignored).string();
  return engine::read_program_paths(crew.program, hosts, own);
}

/// A stored study is checked like a file: it may come from another person. Options of the command line replace it.
Result<void> check_cluster(const Crew& crew, const study::StudyConfig& config) {
  study::ClusterConfig of_file = config.cluster;
  if (says_where(crew)) of_file.ssh = of_file.slurm = {};
  LANISTA_TRY(engine::check_cluster(of_file));
  if (const auto hosts = engine::check_cluster({.ssh = crew.ssh, .slurm = {}}); !hosts) {
    return cannot(hosts.error().message, "--ssh");
  }
  return {};
}

}  // namespace

bool has_processes(const Crew& crew, const study::StudyConfig& config) {
  const bool is_here = says_where(crew) ? false : config.cluster.is_here();
  return !is_here || crew.isolation.value_or(config.run.isolation) == study::kProcesses;
}

std::int64_t workers_of(const Crew& crew, const study::StudyConfig& config) {
  const std::int64_t said = crew.workers.value_or(config.run.workers);
  return said > 0 ? said : static_cast<std::int64_t>(cluster_of(crew, config).ssh.size() + crew.launch.size());
}

Result<std::vector<engine::Launcher>> launchers_of(const Crew& crew, const study::StudyConfig& config) {
  const study::ClusterConfig cluster = cluster_of(crew, config);
  if (!crew.ssh.empty() + crew.slurm.has_value() + !crew.launch.empty() > 1) {
    return cannot("workers come from hosts, from Slurm or by a command; leave out all but one",
                  "--ssh, --slurm, --launch");
  }
  if (crew.ssh.empty() && crew.launch.empty() && !cluster.slurm.empty() && workers_of(crew, config) == 0) {
    return cannot("says how many jobs to ask for, where workers come from Slurm; allowed: 1 to 64", "--workers");
  }
  LANISTA_TRY(check_cluster(crew, config));
  LANISTA_ASSIGN(const engine::ProgramPaths programs, program_paths(crew, config));
  std::vector<engine::Elsewhere> places = engine::places_of(cluster, programs);
  for (const std::string& command : crew.launch) {
    LANISTA_ASSIGN(engine::Elsewhere place, engine::by_command(command, programs.everywhere));
    places.push_back(std::move(place));
  }
  if (!places.empty() && config.run.width != 1) {
    return cannot("workers that share a trial's steps are on one machine; leave out run.width, or begin all here",
                  "run.width");
  }
  std::vector<engine::Launcher> out;
  for (engine::Elsewhere& place : places) {
    if (place.words.empty()) {
      out.push_back({"", engine::launch_this_program()});
    } else {
      out.push_back({std::move(place.name), engine::launch_command(std::move(place.words)), std::move(place.host)});
    }
  }
  return out;
}

engine::WorkerBrief worker_brief(const study::StudyConfig& config, const Crew& crew) {
  engine::WorkerBrief brief;
  brief.data.source = config.data.source;
  brief.data.split = config.data.split;
  brief.data.normalize = config.data.normalize;
  brief.data.targets = config.data.targets;
  brief.data.class_weights = config.data.class_weights;
  brief.data.folds = config.data.folds;
  brief.data.repetitions = config.strategy.repeat;
  brief.isa = kernels::isa_name(kernels::best_isa());
  brief.numeric_class = nn::cpu_backend().numeric_class();
  brief.workers = workers_of(crew, config);
  brief.lanes = crew.lanes.value_or(config.run.lanes);
  const bool is_cut = config.run.pipeline != 1;  // by operators, and not by shards as well
  brief.width = config.run.width == study::kAutoWidth && is_cut ? 1 : config.run.width;
  brief.pipeline = config.run.pipeline;
  brief.memory_bytes = static_cast<std::int64_t>(config.run.memory_gib * 1073741824.0);
  brief.metrics = config.train.metrics;
  brief.checkpoint_every = config.keep.checkpoint_every;
  return brief;
}

Result<engine::WorkerBrief> launching_brief(const study::StudyConfig& config, const Crew& crew) {
  LANISTA_TRY(check_cluster(crew, config));
  LANISTA_ASSIGN(const engine::ProgramPaths programs, program_paths(crew, config));
  engine::WorkerBrief brief = worker_brief(config, crew);
  brief.pipeline_hosts = config.cluster.places;
  for (const std::string& host : brief.pipeline_hosts) brief.pipeline_programs.push_back(programs.on(host));
  brief.link_us = config.cluster.link_us;
  brief.link_gb_per_second = config.cluster.link_gb_per_second;
  return brief;
}

}  // namespace lanista::cli

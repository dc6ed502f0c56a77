#include "lanista/app/cli/worker_overrides.h"

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <utility>

#include "lanista/exec/kernels/kernels.h"
#include "lanista/exec/program/backend.h"
#include "lanista/ipc/remote_launcher.h"

namespace lanista::cli {
namespace {

bool names_hosts(const WorkerOverrides& worker_overrides) {
  return !worker_overrides.ssh.empty() || worker_overrides.slurm || !worker_overrides.launch.empty();
}

std::vector<std::string> split_words(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

study::ClusterConfig cluster_of(const WorkerOverrides& worker_overrides, const study::StudyConfig& config) {
  if (!names_hosts(worker_overrides)) return config.cluster;
  study::ClusterConfig cluster = config.cluster;
  cluster.ssh = worker_overrides.ssh;
  cluster.slurm = worker_overrides.slurm ? split_words(*worker_overrides.slurm) : std::vector<std::string>();
  if (worker_overrides.slurm && cluster.slurm.empty()) cluster.slurm = {"--nodes=1"};
  return cluster;
}

Error invalid_setting(const std::string& message, const std::string& where) {
  return {Code::kInvalidArgument, message, where};
}

/// The named hosts of workers and of pipeline ranks, each once.
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
Result<engine::ProgramPaths> program_paths(const WorkerOverrides& worker_overrides, const study::StudyConfig& config) {
  const study::ClusterConfig cluster = cluster_of(worker_overrides, config);
  const std::vector<std::string> hosts = named_hosts(cluster);
  if (!worker_overrides.program.empty() && hosts.empty() && cluster.slurm.empty() && worker_overrides.launch.empty()) {
    return invalid_setting(
        "is '" + worker_overrides.program.front() +
            "', but all workers are on this machine; allowed with --ssh, --slurm, --launch, cluster.ssh, "
            "cluster.slurm or cluster.places",
        "--program");
  }
  std::error_code ignored;
  const std::string own = std::filesystem::read_symlink("/proc/self/exe", ignored).string();
  return engine::read_program_paths(worker_overrides.program, hosts, own);
}

/// A stored study is checked like a file: it may come from another person. Options of the command line replace it.
Result<void> check_cluster(const WorkerOverrides& worker_overrides, const study::StudyConfig& config) {
  study::ClusterConfig of_file = config.cluster;
  if (names_hosts(worker_overrides)) of_file.ssh = of_file.slurm = {};
  LANISTA_TRY(engine::check_cluster(of_file));
  if (const auto hosts = engine::check_cluster({.ssh = worker_overrides.ssh, .slurm = {}}); !hosts) {
    return invalid_setting(hosts.error().message, "--ssh");
  }
  return {};
}

}  // namespace

bool uses_processes(const WorkerOverrides& worker_overrides, const study::StudyConfig& config) {
  const bool is_here = names_hosts(worker_overrides) ? false : config.cluster.is_here();
  return !is_here || worker_overrides.isolation.value_or(config.run.isolation) == study::kProcesses;
}

std::int64_t worker_count(const WorkerOverrides& worker_overrides, const study::StudyConfig& config) {
  const std::int64_t count = worker_overrides.workers.value_or(config.run.workers);
  return count > 0 ? count
                   : static_cast<std::int64_t>(cluster_of(worker_overrides, config).ssh.size() +
                                               worker_overrides.launch.size());
}

Result<std::vector<engine::Launcher>> launchers_of(const WorkerOverrides& worker_overrides,
                                                   const study::StudyConfig& config) {
  const study::ClusterConfig cluster = cluster_of(worker_overrides, config);
  if (!worker_overrides.ssh.empty() + worker_overrides.slurm.has_value() + !worker_overrides.launch.empty() > 1) {
    return invalid_setting("only one of --ssh, --slurm and --launch is allowed", "--ssh, --slurm, --launch");
  }
  if (worker_overrides.ssh.empty() && worker_overrides.launch.empty() && !cluster.slurm.empty() &&
      worker_count(worker_overrides, config) == 0) {
    return invalid_setting("must be the number of Slurm jobs; allowed: 1 to 64", "--workers");
  }
  LANISTA_TRY(check_cluster(worker_overrides, config));
  LANISTA_ASSIGN(const engine::ProgramPaths programs, program_paths(worker_overrides, config));
  std::vector<engine::RemoteLauncher> places = engine::ssh_and_slurm_launchers(cluster, programs);
  for (const std::string& command : worker_overrides.launch) {
    LANISTA_ASSIGN(engine::RemoteLauncher remote, engine::command_launcher(command, programs.default_path));
    places.push_back(std::move(remote));
  }
  if (!places.empty() && config.run.width != 1) {
    return invalid_setting("run.width needs all workers on this machine; remove run.width, or the other hosts",
                           "run.width");
  }
  std::vector<engine::Launcher> out;
  for (engine::RemoteLauncher& remote : places) {
    if (remote.arguments.empty()) {
      out.push_back({"", engine::launch_this_program()});
    } else {
      out.push_back(
          {std::move(remote.name), engine::launch_command(std::move(remote.arguments)), std::move(remote.host)});
    }
  }
  return out;
}

engine::WorkerConfig make_worker_config(const study::StudyConfig& config, const WorkerOverrides& worker_overrides) {
  engine::WorkerConfig worker_config;
  worker_config.data.source = config.data.source;
  worker_config.data.split = config.data.split;
  worker_config.data.normalize = config.data.normalize;
  worker_config.data.targets = config.data.targets;
  worker_config.data.class_weights = config.data.class_weights;
  worker_config.data.folds = config.data.folds;
  worker_config.data.rules = config.data.rules;
  worker_config.data.repetitions = config.strategy.repeat;
  worker_config.isa = kernels::isa_name(kernels::best_isa());
  worker_config.numeric_class = program::cpu_backend().numeric_class();
  worker_config.workers = worker_count(worker_overrides, config);
  worker_config.lanes = worker_overrides.lanes.value_or(config.run.lanes);
  const bool is_cut = config.run.pipeline != 1;  // a pipeline divides steps by operators, so not by shards, too
  worker_config.width = config.run.width == study::kAutoWidth && is_cut ? 1 : config.run.width;
  worker_config.pipeline = config.run.pipeline;
  worker_config.memory_bytes = static_cast<std::int64_t>(config.run.memory_gib * 1073741824.0);
  worker_config.metrics = config.train.measured.metrics;
  worker_config.checkpoint_every = config.keep.checkpoint_every;
  return worker_config;
}

Result<engine::WorkerConfig> make_worker_config_with_hosts(const study::StudyConfig& config,
                                                           const WorkerOverrides& worker_overrides) {
  LANISTA_TRY(check_cluster(worker_overrides, config));
  LANISTA_ASSIGN(const engine::ProgramPaths programs, program_paths(worker_overrides, config));
  engine::WorkerConfig worker_config = make_worker_config(config, worker_overrides);
  worker_config.pipeline_hosts = config.cluster.places;
  for (const std::string& host : worker_config.pipeline_hosts)
    worker_config.pipeline_programs.push_back(programs.path_on(host));
  worker_config.link_us = config.cluster.link_us;
  worker_config.link_gb_per_second = config.cluster.link_gb_per_second;
  return worker_config;
}

}  // namespace lanista::cli

#include <filesystem>
#include <limits>

#include "lanista/app/cli/pipeline_verbs.h"
#include "lanista/app/cli/repeat.h"
#include "lanista/app/cli/session.h"
#include "lanista/app/cli/simulate.h"
#include "lanista/app/cli/simulate_workload.h"
#include "lanista/app/cli/verbs.h"

namespace lanista::cli {
namespace {

constexpr std::int64_t kMaxTrials = std::numeric_limits<std::uint32_t>::max();  // a trial's number has 32 bits
constexpr std::int64_t kMaxSteps = std::int64_t{1} << 53;  // as in a study file: what JSON holds exactly
constexpr std::int64_t kMaxSeed = std::numeric_limits<std::int64_t>::max();  // as in a study file

void add_view_options(CLI::App& verb, DisplayOptions& display) {
  verb.add_flag("--json", display.json, "Print one JSON event a line (docs/reference/events.md).");
  verb.add_flag("--quiet,-q", display.quiet, "Print the table only, no progress.");
  verb.add_flag("--open", display.open, "Open the report in a browser and update it while the study trains.");
  verb.add_flag("--no-color", display.no_color, "Has no effect; output has no colour.");
}

void add_worker_options(CLI::App& verb, WorkerOverrides& worker_overrides) {
  verb.add_option("--workers", worker_overrides.workers,
                  "Training threads or processes of this run (default: one a core).")
      ->check(integer_between(1, 64));
  verb.add_option("--device", worker_overrides.device,
                  "Devices of this run, with commas: cpu, torch:cpu, cuda:N, block:cuda:N (default: "
                  "run.devices).");
  verb.add_option("--lanes", worker_overrides.lanes, "Most trials that a worker trains together (default: automatic).")
      ->check(integer_between(1, 64));
  verb.add_option("--isolation", worker_overrides.isolation,
                  "Kind of worker; a process that dies does not end the study (default: run.isolation).")
      ->check(CLI::IsMember({std::string(study::kThreads), std::string(study::kProcesses)}));
  verb.add_option("--ssh", worker_overrides.ssh,
                  "Hosts of worker processes, started by ssh in turn; here: this machine.")
      ->delimiter(',');
  verb.add_option("--slurm", worker_overrides.slurm, "Options of srun; each worker process is a Slurm job.");
  verb.add_option("--launch", worker_overrides.launch,
                  "Command that starts a worker process: it runs its arguments and forwards their streams.");
  verb.add_option("--program", worker_overrides.program,
                  "PATH or HOST=PATH of lanista on other hosts; repeatable (default: the path of this "
                  "program).")
      ->allow_extra_args(false);
}

std::vector<studyfile::Override> overrides_of(const std::vector<std::string>& set) {
  std::vector<studyfile::Override> overrides;
  for (const auto& pair : set) {
    const auto equals = pair.find('=');
    if (equals == std::string::npos)
      throw CLI::ValidationError("--set", "'" + pair + "' is not KEY=VALUE, such as train.lr=0.01");
    overrides.push_back({pair.substr(0, equals), pair.substr(equals + 1)});
  }
  return overrides;
}

void add_run(CLI::App& app, int& code) {
  struct Options {
    RunRequest request;
    std::vector<std::string> set;
    std::optional<std::int64_t> trials, epochs;
    std::optional<double> minutes;
    std::optional<std::uint64_t> seed;
    std::string start, goal;
  };
  auto options = std::make_shared<Options>();
  auto& verb = *app.add_subcommand("run", "Run a study until its budget is spent.");
  verb.add_option("study_file", options->request.study_file, "Study file in YAML (default: the digits study).");
  verb.add_option("--out", options->request.out, "Folder of the study (default: studies/NAME-NUMBER).");
  verb.add_option("--import", options->request.import,
                  "Earlier results for the strategy: a study folder, a table (.csv), or an Optuna journal or SQLite "
                  "storage.");
  verb.add_option("--study", options->request.import_study, "Study of the Optuna file of --import, by its name.");
  verb.add_option("--enqueue", options->request.enqueue,
                  "File (YAML or JSON) with configurations to try first, as in strategy.enqueue.");
  verb.add_option("--start", options->start,
                  "Model package or ONNX file with the weights that trials start from (train.start: file).");
  verb.add_option("--goal", options->goal, "What to optimise, such as 'maximize val_accuracy' (default: goal).");
  verb.add_option("--trials", options->trials, "Number of trials (default: budget.trials).")
      ->check(integer_between(1, kMaxTrials));
  verb.add_option("--epochs", options->epochs, "Epochs of a trial (default: train.epochs).")
      ->check(integer_between(1, 1'000'000));
  verb.add_option("--minutes", options->minutes, "Limit of the wall clock in minutes (default: budget.minutes).")
      ->check(number_between(0.001, 1e6));
  verb.add_option("--seed", options->seed, "Seed of everything random (default: run.seed).")
      ->check(integer_between(0, kMaxSeed));
  add_worker_options(verb, options->request.worker_overrides);
  verb.add_option("--set", options->set, "KEY=VALUE: override one setting; repeatable.")->allow_extra_args(false);
  verb.add_flag("--dry-run", options->request.dry_run, "Check everything and print the resolved study; train nothing.");
  add_view_options(verb, options->request.display);
  verb.footer(examples({"lanista run", "lanista run study.yaml --trials 20 --out studies/first",
                        "lanista run --set strategy=random --set train.epochs=3"}));
  verb.callback([options, &code] {
    auto& overrides = options->request.overrides;
    overrides = overrides_of(options->set);
    if (!options->goal.empty()) overrides.push_back({"goal", options->goal});
    if (options->trials) overrides.push_back({"budget.trials", std::to_string(*options->trials)});
    if (options->epochs) overrides.push_back({"train.epochs", std::to_string(*options->epochs)});
    if (options->minutes) overrides.push_back({"budget.minutes", std::to_string(*options->minutes)});
    if (options->seed) overrides.push_back({"run.seed", std::to_string(*options->seed)});
    if (!options->start.empty()) {
      overrides.push_back({"train.start", std::string(study::kStartFile)});
      overrides.push_back({"train.start_from", std::filesystem::absolute(options->start).lexically_normal().string()});
    }
    code = run_study(options->request);
  });
}

/// What `plan --pipeline` and `simulate --pipeline` have in common.
void add_pipeline_options(CLI::App& verb, bool& pipeline, PipelineRequest& verb_request) {
  auto* flag =
      verb.add_flag("--pipeline", pipeline,
                    "Plan one model across devices: the first base model of a study, or MODEL.json, a PipeDream "
                    "profile or a Piper input.");
  verb.add_option("--devices", verb_request.devices,
                  "YAML file with device classes and links (docs/guides/pipeline-training.md).")
      ->needs(flag);
  verb.add_option("--schedule", verb_request.schedule,
                  "Order of micro-batches; split: backward passes in two parts (default: kfkb).")
      ->check(CLI::IsMember({"kfkb", "gpipe", "split"}))
      ->needs(flag);
  verb.add_option("--batch", verb_request.batch, "Samples of a step (default: that of the study or the file).")
      ->check(integer_between(1, std::int64_t{1} << 40))
      ->needs(flag);
  verb.add_option("--unit", verb_request.unit, "Seconds of a time unit in a Piper input (default: 1).")
      ->check(number_between(1e-12, 1e6))
      ->needs(flag);
}

/// A file with a model, or a study.
int run_pipeline(const PipelineRequest& verb_request, const std::string& study,
                 std::vector<studyfile::Override> overrides) {
  if (is_pipeline_file(study)) return pipeline_of_file(verb_request, study);
  RunRequest request;
  request.study_file = study;
  request.overrides = std::move(overrides);
  request.plan = PlanVerbRequest{};
  request.plan->pipeline = verb_request;
  return run_study(request);
}

void add_plan(CLI::App& app, int& code) {
  struct Options {
    std::string study;
    PlanVerbRequest verb_request;
    bool is_pipeline = false;
    PipelineRequest pipeline;
    std::vector<std::string> set;
  };
  auto options = std::make_shared<Options>();
  auto& verb = *app.add_subcommand("plan", "Print which first trials of a study would train together; train nothing.");
  verb.add_option("study", options->study,
                  "Study file in YAML (default: the digits study); with --pipeline also a model.");
  verb.add_option("--trials", options->verb_request.trials, "Number of trials (default: strategy.slots).")
      ->check(integer_between(1, 1024));
  verb.add_option("--workers", options->verb_request.workers, "Training threads (default: one a core).")
      ->check(integer_between(1, 64));
  verb.add_option("--lanes", options->verb_request.lanes,
                  "Most trials that a thread trains together (default: automatic).")
      ->check(integer_between(1, 64));
  verb.add_flag("--measure", options->verb_request.measure,
                "Measure the programs instead of predicting their times; with --pipeline also plans close "
                "to the best.");
  verb.add_option("--profiles", options->verb_request.profiles,
                  "Folder with step times of earlier studies, or off (default: run.profiles).");
  verb.add_flag("--explain", options->verb_request.explain, "Also print what is shared, and why not more.");
  verb.add_flag("--json", options->verb_request.json, "Print one JSON object.");
  verb.add_option("--set", options->set, "KEY=VALUE: override one setting; repeatable.")->allow_extra_args(false);
  add_pipeline_options(verb, options->is_pipeline, options->pipeline);
  auto* flag = verb.get_option("--pipeline");
  verb.add_option("--micro-batch", options->pipeline.micro_batch, "Samples of a micro-batch (default: the best).")
      ->check(integer_between(1, std::int64_t{1} << 40))
      ->needs(flag);
  verb.add_option("--out", options->pipeline.out, "File for the plan of the pipeline (JSON).")->needs(flag);
  verb.add_option("--costs", options->pipeline.costs, "File for the model with its costs (JSON).")->needs(flag);
  verb.footer(examples({"lanista plan study.yaml", "lanista plan study.yaml --trials 40 --explain",
                        "lanista plan --pipeline study.yaml --devices devices.yaml --out plan.json"}));
  verb.callback([options, &code] {
    if (options->is_pipeline) {
      options->pipeline.measure = options->verb_request.measure;
      options->pipeline.explain = options->verb_request.explain;
      options->pipeline.json = options->verb_request.json;
      code = run_pipeline(options->pipeline, options->study, overrides_of(options->set));
      return;
    }
    RunRequest request;
    request.study_file = options->study;
    request.overrides = overrides_of(options->set);
    request.plan = options->verb_request;
    code = run_study(request);
  });
}

void add_simulate(CLI::App& app, int& code) {
  struct Options {
    SimulateRequest request;
    bool is_pipeline = false;
    PipelineRequest pipeline;
    WorkloadRequest workload;
  };
  auto options = std::make_shared<Options>();
  auto* request = &options->request;
  auto& verb = *app.add_subcommand("simulate", "Simulate a study on a cluster: makespan, bound, gap, timeline.");
  verb.add_option("study", request->study,
                  "Study file (predicted times) or study folder (measured times); with --pipeline also "
                  "a model.");
  auto* cluster =
      verb.add_option("--cluster", request->cluster, "YAML file of the cluster (docs/reference/cluster-file.md).");
  verb.add_option("--profiles", request->profiles,
                  "For a study file: folder with step times of earlier studies, or off (default: "
                  "run.profiles).");
  add_pipeline_options(verb, options->is_pipeline, options->pipeline);
  auto* flag = verb.get_option("--pipeline");
  cluster->excludes(flag);
  verb.add_option("--plan", options->pipeline.plan, "Plan of an earlier `lanista plan` (default: a new one).")
      ->needs(flag);
  auto* jobs = verb.add_option("--workload", options->workload.workload,
                               "Instead of a study: CSV of jobs that arrive over time (docs/concepts/goodput.md).");
  jobs->excludes(flag)->excludes(cluster);
  verb.add_option("--data", options->workload.data, "Folder with the traces of the workload's applications.")
      ->needs(jobs);
  verb.add_option("--policy", options->workload.policies, "Allocators to compare, with commas (default: all).")
      ->delimiter(',')
      ->needs(jobs);
  verb.add_option("--nodes", options->workload.nodes, "Nodes of the cluster.")
      ->check(integer_between(1, 4096))
      ->capture_default_str()
      ->needs(jobs);
  verb.add_option("--devices-per-node,--devices-a-node", options->workload.devices,
                  "Devices of a node; --devices-a-node is the old name.")
      ->check(integer_between(1, 64))
      ->capture_default_str()
      ->needs(jobs);
  verb.add_flag("--json", request->json, "Print one JSON object.");
  verb.footer(examples({"lanista simulate study.yaml --cluster cluster.yaml",
                        "lanista simulate studies/digits-1 --cluster cluster.yaml --json",
                        "lanista simulate --pipeline model.json --devices devices.yaml --plan plan.json",
                        "lanista simulate --workload workload-6.csv --data pollux --policy tiresias,ours"}));
  verb.callback([options, &code] {
    if (!options->workload.workload.empty()) {
      if (!options->request.study.empty()) throw CLI::ExcludesError("study", "--workload");
      if (options->workload.data.empty()) throw CLI::RequiredError("--data");
      options->workload.json = options->request.json;
      code = simulate_workload(options->workload);
      return;
    }
    if (options->request.study.empty()) throw CLI::RequiredError("study");
    if (options->is_pipeline) {
      options->pipeline.json = options->request.json;
      code = run_pipeline(options->pipeline, options->request.study, {});
      return;
    }
    if (options->request.cluster.empty()) throw CLI::RequiredError("--cluster");
    code = simulate_study(options->request);
  });
}

void add_resume(CLI::App& app, int& code) {
  struct Options {
    ResumeRequest request;
    std::vector<std::string> set;
  };
  auto options = std::make_shared<Options>();
  auto* request = &options->request;
  auto& verb = *app.add_subcommand("resume", "Continue a study from its last checkpoint, with equal results.");
  verb.add_option("folder", request->folder, "Folder of the study.")->required();
  verb.add_option("study", request->expected_study.file, "Study file that the study must agree with.");
  verb.add_option("--set", options->set, "KEY=VALUE that the study must have; repeatable.")->allow_extra_args(false);
  verb.add_option("--trials", request->extension.trials, "Number of further trials.")
      ->check(integer_between(1, kMaxTrials));
  verb.add_option("--steps", request->extension.steps, "Number of further training steps.")
      ->check(integer_between(1, kMaxSteps));
  verb.add_option("--minutes", request->extension.minutes,
                  "Further minutes of the wall clock, after which the study ends.")
      ->check(number_between(0.001, 1e6));
  add_worker_options(verb, request->worker_overrides);
  add_view_options(verb, request->display);
  verb.footer(examples({"lanista resume studies/digits-1", "lanista resume studies/digits-1 --trials 60"}));
  verb.callback([options, &code] {
    options->request.expected_study.overrides = overrides_of(options->set);
    code = resume_study(options->request);
  });
}

void add_repeat(CLI::App& app, int& code) {
  auto [verb, request] = add_verb<RepeatRequest>(
      app, code, "repeat", "Train one trial again, alone, and compare its results with the study.",
      {"lanista repeat 'studies/digits-1#12'", "lanista repeat 'studies/digits-1#12' --out twelve"}, repeat_trial);
  verb.add_option("target", request.target, "Trial as DIR#NUMBER.")->required();
  verb.add_option("--out", request.out, "Folder for its model package (default: none).");
}

}  // namespace

void add_study_verbs(CLI::App& app, int& code) {
  for (const auto add : {add_run, add_plan, add_simulate, add_resume, add_repeat}) add(app, code);
}

}  // namespace lanista::cli

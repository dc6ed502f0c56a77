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
  verb.add_flag("--json", display.json, "one event a line on stdout (docs/reference/events.md)");
  verb.add_flag("--quiet,-q", display.quiet, "no progress, only the table");
  verb.add_flag("--open", display.open, "open the report page in a browser, and keep it fresh while the study trains");
  verb.add_flag("--no-color", display.no_color, "does nothing, for scripts that give it: output has no colour");
}

void add_worker_options(CLI::App& verb, WorkerOverrides& worker_overrides) {
  verb.add_option("--workers", worker_overrides.workers, "training threads or processes of this run (default: one per core)")
      ->check(integer_between(1, 64));
  verb.add_option(
      "--device", worker_overrides.device,
      "what trains this time, one or several with commas: cpu, torch:cpu, cuda:N, block:cuda:N (default: the "
      "study's run.devices)");
  verb.add_option("--lanes", worker_overrides.lanes, "trials that a worker trains together, at most (default: automatic)")
      ->check(integer_between(1, 64));
  verb.add_option("--isolation", worker_overrides.isolation,
                  "thread, or process: one that dies costs its trials some time, not the study")
      ->check(CLI::IsMember({std::string(study::kThreads), std::string(study::kProcesses)}));
  verb.add_option("--ssh", worker_overrides.ssh, "hosts that worker processes are begun on, in turn; here: this one")
      ->delimiter(',');
  verb.add_option("--slurm", worker_overrides.slurm, "begin worker processes in Slurm jobs, one each, with these options of srun");
  verb.add_option("--launch", worker_overrides.launch,
                  "begin worker processes by this command, which runs what follows it and hands on its streams");
  verb.add_option("--program", worker_overrides.program,
                  "PATH, or HOST=PATH (repeatable): lanista on the other hosts (default: the path of this program)")
      ->allow_extra_args(false);
}

std::vector<studyfile::Override> overrides_of(const std::vector<std::string>& set) {
  std::vector<studyfile::Override> overrides;
  for (const auto& pair : set) {
    const auto equals = pair.find('=');
    if (equals == std::string::npos) throw CLI::ValidationError("--set", "'" + pair + "' is not KEY=VALUE");
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
    std::string start;
  };
  auto options = std::make_shared<Options>();
  auto& verb = *app.add_subcommand("run", "explore a model space until its budget is spent");
  verb.add_option("study", options->request.study_file, "study file (YAML); without one, the digits study");
  verb.add_option("--out", options->request.out, "folder of the study (default: studies/<name>-<number>)");
  verb.add_option(
      "--import", options->request.import,
      "earlier study (its folder), table (.csv) or Optuna journal: what was measured, as far as it fits, is "
      "known from the start");
  verb.add_option("--enqueue", options->request.enqueue,
                  "file (YAML or JSON) with a list of configurations that are tried first, as strategy.enqueue has them");
  verb.add_option("--start", options->start,
                  "model package (its folder) or ONNX file whose weights all trials begin with, as far as they can "
                  "(train.start: file)");
  verb.add_option("--trials", options->trials, "stop after this many trials")->check(integer_between(1, kMaxTrials));
  verb.add_option("--epochs", options->epochs, "epochs of a trial")->check(integer_between(1, 1'000'000));
  verb.add_option("--minutes", options->minutes, "guard: stop after this many minutes")->check(number_between(0.001, 1e6));
  verb.add_option("--seed", options->seed, "seed of everything random")->check(integer_between(0, kMaxSeed));
  add_worker_options(verb, options->request.worker_overrides);
  verb.add_option("--set", options->set, "KEY=VALUE overrides one setting, repeatable")->allow_extra_args(false);
  verb.add_flag("--dry-run", options->request.dry_run, "check everything, print the resolved study, train nothing");
  add_view_options(verb, options->request.display);
  verb.footer(examples({"lanista run", "lanista run study.yaml --trials 20 --out studies/first",
                        "lanista run --set strategy.name=random --set train.epochs=3"}));
  verb.callback([options, &code] {
    auto& overrides = options->request.overrides;
    overrides = overrides_of(options->set);
    if (options->trials) overrides.push_back({"budget.trials", std::to_string(*options->trials)});
    if (options->epochs) overrides.push_back({"train.epochs", std::to_string(*options->epochs)});
    if (options->minutes) overrides.push_back({"budget.guard_minutes", std::to_string(*options->minutes)});
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
                    "one model across devices: of a study the first base model; of a file with a model and its "
                    "costs (MODEL.json, a PipeDream profile, a Piper input) that one");
  verb.add_option("--devices", verb_request.devices, "what there is, YAML: classes, links (docs/guides/pipeline-training.md)")
      ->needs(flag);
  verb.add_option("--schedule", verb_request.schedule, "kfkb (default), gpipe, or split: backward passes in two parts")
      ->check(CLI::IsMember({"kfkb", "gpipe", "split"}))
      ->needs(flag);
  verb.add_option("--batch", verb_request.batch, "samples of a step (default: the study's, the file's)")
      ->check(integer_between(1, std::int64_t{1} << 40))
      ->needs(flag);
  verb.add_option("--unit", verb_request.unit, "seconds of a unit of time in a Piper input (default: 1)")
      ->check(number_between(1e-12, 1e6))
      ->needs(flag);
}

/// A file with a model, or a study.
int run_pipeline(const PipelineRequest& verb_request, const std::string& study, std::vector<studyfile::Override> overrides) {
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
  auto& verb = *app.add_subcommand("plan", "which of a study's first trials would run together; trains nothing");
  verb.add_option("study", options->study,
                  "study file (YAML); without one, the digits study; with --pipeline also a model");
  verb.add_option("--trials", options->verb_request.trials, "so many trials (default: strategy.slots)")->check(integer_between(1, 1024));
  verb.add_option("--workers", options->verb_request.workers, "training threads (default: one per core)")->check(integer_between(1, 64));
  verb.add_option("--lanes", options->verb_request.lanes, "trials that a thread trains together, at most (default: automatic)")
      ->check(integer_between(1, 64));
  verb.add_flag("--measure", options->verb_request.measure,
                "time the programs, not only predict from the machine's speed; with --pipeline also what is near");
  verb.add_option("--profiles", options->verb_request.profiles,
                  "folder of times that earlier studies took, or off (default: as run.profiles says)");
  verb.add_flag("--explain", options->verb_request.explain, "also what is shared, and why not more");
  verb.add_flag("--json", options->verb_request.json, "one JSON object on stdout");
  verb.add_option("--set", options->set, "KEY=VALUE overrides one setting, repeatable")->allow_extra_args(false);
  add_pipeline_options(verb, options->is_pipeline, options->pipeline);
  auto* flag = verb.get_option("--pipeline");
  verb.add_option("--micro-batch", options->pipeline.micro_batch, "samples of a micro-batch (default: the best)")
      ->check(integer_between(1, std::int64_t{1} << 40))
      ->needs(flag);
  verb.add_option("--out", options->pipeline.out, "write the pipeline's plan there (JSON)")->needs(flag);
  verb.add_option("--costs", options->pipeline.costs, "write the model with its costs there (JSON)")->needs(flag);
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
  auto& verb = *app.add_subcommand("simulate", "what a study would take on a cluster: makespan, bound, gap, timeline");
  verb.add_option("study", request->study,
                  "study file (predicted times), or folder of a study (measured times); with --pipeline also a model");
  auto* cluster =
      verb.add_option("--cluster", request->cluster,
                      "what there is, YAML: workers, shares, widest, memory_mb, reserve, interference, busy, serial, "
                      "resize_seconds");
  verb.add_option("--profiles", request->profiles,
                  "of a study file: folder of times that earlier studies took, or off (default: as run.profiles says)");
  add_pipeline_options(verb, options->is_pipeline, options->pipeline);
  auto* flag = verb.get_option("--pipeline");
  cluster->excludes(flag);
  verb.add_option("--plan", options->pipeline.plan, "a plan that `plan` wrote (default: a new one)")->needs(flag);
  auto* jobs = verb.add_option("--workload", options->workload.workload,
                               "in place of a study: jobs that come one by one, CSV (docs/concepts/goodput.md)");
  jobs->excludes(flag)->excludes(cluster);
  verb.add_option("--data", options->workload.data, "folder of the traces of the workload's applications")->needs(jobs);
  verb.add_option("--policy", options->workload.policies, "that deal devices to the jobs (default: all)")
      ->delimiter(',')
      ->needs(jobs);
  verb.add_option("--nodes", options->workload.nodes, "of the cluster that the jobs are on")
      ->check(integer_between(1, 4096))
      ->capture_default_str()
      ->needs(jobs);
  verb.add_option("--devices-a-node", options->workload.devices, "of each of them")
      ->check(integer_between(1, 64))
      ->capture_default_str()
      ->needs(jobs);
  verb.add_flag("--json", request->json, "one JSON object on stdout");
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
  auto& verb = *app.add_subcommand("resume", "continue a study exactly where it was");
  verb.add_option("folder", request->folder, "folder of the study")->required();
  verb.add_option("study", request->expected_study.file, "study file that it was begun with: goes on only if it says the same");
  verb.add_option("--set", options->set, "KEY=VALUE: goes on only if the study says so")->allow_extra_args(false);
  verb.add_option("--trials", request->extension.trials, "so many trials more than there are now")
      ->check(integer_between(1, kMaxTrials));
  verb.add_option("--steps", request->extension.steps, "so many training steps more than have been trained")
      ->check(integer_between(1, kMaxSteps));
  verb.add_option("--minutes", request->extension.minutes, "so many minutes more than have been worked, then the guard")
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
  auto request = std::make_shared<RepeatRequest>();
  auto& verb = *app.add_subcommand("repeat", "train one trial again, alone, and compare it with the study's");
  verb.add_option("target", request->target, "DIR#TRIAL")->required();
  verb.add_option("--out", request->out, "folder for its model package (default: none is written)");
  verb.footer(examples({"lanista repeat 'studies/digits-1#12'", "lanista repeat 'studies/digits-1#12' --out twelve"}));
  verb.callback([request, &code] { code = repeat_trial(*request); });
}

}  // namespace

void add_study_verbs(CLI::App& app, int& code) {
  add_run(app, code);
  add_plan(app, code);
  add_simulate(app, code);
  add_resume(app, code);
  add_repeat(app, code);
}

}  // namespace lanista::cli

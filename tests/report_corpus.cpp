// Writes report pages of simulated studies for tests/report_browser.py. All content follows from fixed seeds.
// usage: report_corpus FOLDER

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <limits>
#include <optional>

#include "lanista/app/report/compare.h"
#include "lanista/app/report/page.h"
#include "lanista/base/rng.h"
#include "lanista/model/graph/infer.h"
#include "lanista/model/graph/text.h"
#include "lanista/model/mutate/builtin.h"
#include "lanista/model/mutate/model_space.h"

namespace lanista {
namespace {

using space::Value;
using study::OutcomeKind;
using study::StudyView;
using study::TrialView;

template <class T>
T must(Result<T> result) {
  LANISTA_CHECK(result.ok(), result ? "" : result.error().text());
  return *std::move(result);
}
void must(const Result<void>& result) { LANISTA_CHECK(result.ok(), result ? "" : result.error().text()); }

constexpr std::int64_t kEpochs = 9, kStepsPerEpoch = 40, kWorkers = 4;

mutate::ModelSpace model_space() {
  std::vector<mutate::BaseModel> bases;
  for (const auto* name : {"small-mlp", "small-cnn"}) {
    bases.push_back(must(mutate::builtin_base(name, graph::Shape{{1, 8, 8}}, 10)));
  }
  std::vector<std::shared_ptr<const mutate::Mutator>> mutators;
  for (const auto& plugin : mutate::builtin_mutators()) {
    if (plugin.name == "swap_op" || !plugin.example.empty()) continue;
    mutators.push_back(must(plugin.make(must(resolve_options(Options::object(), plugin.options)))));
  }
  return must(mutate::ModelSpace::make(graph::builtin_ops(), std::move(bases), std::move(mutators), {}, {3e5, {}}));
}

StudyView study_without_trials(const mutate::ModelSpace& models) {
  StudyView view;
  view.config.space.mutate = {{"widen", {}}, {"deepen", {}}, {"remove", {}}, {"add_skip", {}}};
  auto& params = view.config.space.params;
  const auto text = [](const char* value) { return Value(std::string(value)); };
  must(params.add({"optimizer", space::Categorical{{text("sgd"), text("adam"), text("adamw")}}, {}}));
  must(params.add({"lr", space::FloatRange{1e-3, 0.5, 0, true}, {{"optimizer", {text("sgd")}}}}));
  must(params.add({"momentum", space::FloatRange{0, 0.95, 0, false}, {{"optimizer", {text("sgd")}}}}));
  must(params.add({"lr", space::FloatRange{1e-5, 1e-2, 0, true}, {{"optimizer", {text("adam")}}}}));
  must(params.add({"lr", space::FloatRange{1e-5, 1e-2, 0, true}, {{"optimizer", {text("adamw")}}}}));
  must(params.add({"label_smoothing", space::FloatRange{0, 0.2, 0, false}, {}}));
  view.config.strategy = {"evolution", 16, {{"population", 24}, {"tournament", 5}}};
  view.config.stop = {"asha", {{"rungs", {1, 3}}, {"eta", 3}}};
  view.config.run.seed = 7;
  view.config.budget.guard_minutes = 5;
  view.config_text = "schema: 1\nname: digits\ndata: {source: builtin:digits, batch: 32}\nbudget: {trials: 60}\n";
  view.data = {{"name", "digits"},
               {"source", "builtin:digits"},
               {"licence", "CC BY 4.0"},
               {"features", {1, 8, 8}},
               {"classes", 10},
               {"rows", 1797},
               {"split_rows", {1257, 270, 270}},
               {"hash", "0f3e5a77c19d20c4b1e1d6a2f7c83b90"}};
  view.models = nlohmann::json::array();
  for (const auto& base : models.bases()) {
    view.models.push_back({{"name", base.name}, {"graph", graph::to_text(base.graph)}});
  }
  view.numerics = {{"class", "avx2-1"}, {"isa", "avx2"}, {"threads", 1}};
  return view;
}

space::Sample random_sample(const StudyView& view, const Rng& rng) {
  space::RandomChooser choose(rng);
  return view.config.space.params.sample(choose);
}

/// Returns the quality of a trial, in [0.1, 0.985]: it inherits that of its parent and depends on the learning rate.
double quality(const TrialView& trial, double inherited, Rng& rng) {
  const auto& sample = trial.proposal.sample;
  const double lr = std::get<double>(sample.at("lr"));
  const double best = sample.contains("momentum") ? 0.05 : 2e-3;
  const double off = std::log10(lr / best);
  return std::clamp(inherited + 0.012 * rng.normal() - 0.05 * off * off + 0.02, 0.1, 0.985);
}

study::Measurement measure(const TrialView& trial, std::int64_t epoch, double final, Rng& rng) {
  const double t = 1 - std::exp(-0.6 * static_cast<double>(epoch));
  const double accuracy = std::min(0.999, 0.1 + (final - 0.1) * t + 0.006 * rng.normal());
  const double loss = -std::log(std::max(0.02, accuracy)) + 0.02 * rng.uniform();
  return {trial.id,
          epoch,
          epoch * kStepsPerEpoch,
          {{"val_accuracy", accuracy}, {"val_loss", loss}, {"train_loss", loss * 0.8}}};
}

/// A simulated evolution: children mutate good trials, and successive halving stops the worse half at each rung.
struct SimulatedEvolution {
  const mutate::ModelSpace& models;
  StudyView view;
  std::vector<mutate::Candidate> candidates;
  std::vector<double> qualities;
  std::vector<double> free_at = std::vector<double>(kWorkers, 0);

  void propose(Rng rng) {
    TrialView trial;
    trial.id = TrialId{static_cast<std::uint32_t>(view.trials.size() + 1)};
    auto& proposal = trial.proposal;
    mutate::Candidate candidate = models.base(static_cast<std::int64_t>(rng.below(2)));
    double inherited = 0.87;
    if (view.trials.size() >= 12) {
      std::size_t parent = rng.below(view.trials.size());
      for (int round = 0; round < 4; ++round) {
        const std::size_t other = rng.below(view.trials.size());
        if (qualities[other] > qualities[parent]) parent = other;
      }
      proposal.parent = view.trials[parent].id;
      inherited = qualities[parent];
      candidate = candidates[parent];
      if (auto child = models.mutate(candidate, 1, rng.split("mutate")); child && candidate.edits.size() < 60) {
        candidate = *std::move(child);
      }
    }
    proposal.base = candidate.base;
    proposal.steps = candidate.steps;
    proposal.edits = candidate.edits;
    proposal.graph_hash = candidate.hash;
    proposal.sample = random_sample(view, rng.split("sample"));
    proposal.budget = kEpochs;
    trial.parameters = must(graph::model_cost(candidate.graph, models.ops())).parameters;
    qualities.push_back(quality(trial, inherited, rng));
    candidates.push_back(std::move(candidate));
    train(trial, rng);
    view.trials.push_back(std::move(trial));
  }

  void train(TrialView& trial, Rng& rng) {
    const double fate = rng.uniform();
    if (fate < 0.04 && trial.id.value > 5) {
      trial.outcome = {OutcomeKind::kDuplicate, "", TrialId{trial.id.value / 2}, "", {}};
      qualities.back() = 0;
      return;
    }
    const double final = qualities.back();
    const auto worker = static_cast<std::size_t>(std::min_element(free_at.begin(), free_at.end()) - free_at.begin());
    const double pace = 0.05 + 2e-6 * static_cast<double>(trial.parameters);
    OutcomeKind kind = OutcomeKind::kSucceeded;
    std::string reason;
    for (std::int64_t epoch = 1; epoch <= kEpochs; ++epoch) {
      auto m = measure(trial, epoch, final, rng);
      const double began = free_at[worker] + 0.004 * rng.uniform();
      free_at[worker] = began + pace * (0.9 + 0.2 * rng.uniform());
      view.spans.push_back({trial.id, epoch, static_cast<std::int64_t>(worker), began, free_at[worker]});
      if (fate < 0.08 && epoch == 2) {
        m.metrics["train_loss"] = std::numeric_limits<double>::quiet_NaN();
        kind = OutcomeKind::kFailed;
        reason = fate < 0.07 ? "diverged: train_loss is nan at epoch 2" : "out of memory: 734003200 bytes wanted";
      }
      trial.measurements.push_back(m);
      const bool rung = epoch == 1 || epoch == 3;
      if (rung && m.metrics["val_accuracy"] < 0.1 + 0.78 * (1 - std::exp(-0.6 * static_cast<double>(epoch)))) {
        kind = OutcomeKind::kStopped;
      }
      if (kind != OutcomeKind::kSucceeded) break;
    }
    view.steps += trial.measurements.back().step;
    trial.outcome = {kind, reason, {}, "", {}};
  }

  StudyView finish(std::int64_t running) {
    for (std::int64_t i = 0; i < running; ++i) {
      TrialView& trial = view.trials[view.trials.size() - 1 - static_cast<std::size_t>(i)];
      trial.outcome.reset();
    }
    view.seconds = *std::max_element(free_at.begin(), free_at.end());
    const auto ranked = study::ranking(view);
    if (running == 0 && !ranked.empty()) {
      view.end_reason = "budget";
      view.winner = ranked.front();
      view.test = {{"test_accuracy", 0.9593}, {"test_loss", 0.1402}};
    }
    return std::move(view);
  }
};

StudyView evolved(const mutate::ModelSpace& models, std::int64_t count, std::int64_t running, std::uint64_t seed) {
  SimulatedEvolution evolution{models, study_without_trials(models), {}, {}};
  evolution.view.config.budget.trials = count;
  for (std::int64_t i = 0; i < count; ++i) evolution.propose(Rng(seed).split(static_cast<std::uint64_t>(i)));
  return evolution.finish(running);
}

StudyView two_goals(const mutate::ModelSpace& models) {
  StudyView view = evolved(models, 240, 0, 21);
  view.config.name = "accuracy against size";
  for (TrialView& trial : view.trials) {
    for (auto& m : trial.measurements) m.metrics["latency_ms"] = 0.2 + static_cast<double>(trial.parameters) / 4e4;
  }
  view.config.goals = {{true, "val_accuracy"}, {false, "latency_ms"}};
  view.winner = study::ranking(view).front();
  return view;
}

StudyView all_failed(const mutate::ModelSpace& models) {
  StudyView view = evolved(models, 14, 0, 3);
  view.config.name = "nothing worked";
  for (TrialView& trial : view.trials) {
    trial.outcome = {
        OutcomeKind::kFailed, trial.id.value % 3 ? "diverged: train_loss is inf at epoch 1" : "", {}, "", {}};
    trial.measurements.resize(std::min<std::size_t>(trial.measurements.size(), 1));
    for (auto& m : trial.measurements) {
      for (auto& [name, value] : m.metrics) value = std::numeric_limits<double>::infinity();
    }
  }
  view.winner.reset();
  view.test.clear();
  return view;
}

StudyView only_duplicates(const mutate::ModelSpace& models) {
  StudyView view = evolved(models, 6, 0, 5);
  view.config.name = "one trial and its doubles";
  for (std::size_t i = 1; i < view.trials.size(); ++i) {
    view.trials[i].outcome = {OutcomeKind::kDuplicate, "", TrialId{1}, "", {}};
    view.trials[i].measurements.clear();
  }
  std::erase_if(view.spans, [](const auto& span) { return span.trial.value != 1; });
  view.winner = TrialId{1};
  return view;
}

StudyView hostile(const mutate::ModelSpace& models) {
  const std::string attack =
      "\"'></title></script><script>window.pwned=1</script><img src=x onerror=\"window.pwned=1\"><!-- &lt; ${1} `";
  const std::string backwards =
      "\xE2\x80\xAE"
      "drowkcab \xE2\x80\xA8 \xFF\xFE \x01 end";
  StudyView view = evolved(models, 40, 2, 9);
  view.config.name = attack + backwards + std::string(3000, 'W');
  view.config.model.base = {attack, backwards};
  view.config.strategy = {attack, 4, {{attack, backwards}}};
  view.config.stop = {attack, {{"rungs", {1, attack}}}};
  view.config_text = attack + "\n" + backwards + "\n]]>-->";
  view.data = {{"name", attack},
               {"licence", backwards},
               {"labels", {attack, backwards, 7, nullptr}},
               {"rows", "many"},
               {"features", attack}};
  view.numerics = {{attack, {{"deep", {backwards}}}}};
  view.end_reason = attack;
  view.test = {{attack, std::numeric_limits<double>::quiet_NaN()}};
  view.config.goals.push_back({false, attack});
  for (TrialView& trial : view.trials) {
    trial.proposal.sample["__proto__"] = Value(attack);
    trial.proposal.sample["constructor"] = Value(backwards);
    if (trial.id.value % 2) trial.proposal.sample[attack] = Value(1.5);
    for (auto& step : trial.proposal.steps) step.mutator = attack;
    for (auto& m : trial.measurements) {
      m.metrics[attack] = trial.id.value % 4 ? 1.0 / trial.id.value : std::numeric_limits<double>::infinity();
      m.metrics["toString"] = -std::numeric_limits<double>::infinity();
    }
    if (trial.outcome && trial.id.value % 3 == 0)
      trial.outcome = {OutcomeKind::kFailed, attack + backwards, {}, "", {}};
    if (!trial.measurements.empty()) {
      trial.measurements[0].branches = {{0, {}, 0, "start", 2, false},
                                        {0, {{attack, Value(backwards)}}, 3, attack, 1, true}};
    }
    if (trial.id.value == 4) trial.proposal.parent = TrialId{4};
    if (trial.id.value == 8) trial.proposal.base = 99;
  }
  view.winner = TrialId{1};
  return view;
}

/// Returns an assessment with a confusion matrix; some classes have more errors.
std::optional<study::ModelAssessment> assessed(const StudyView& view, std::int64_t classes) {
  if (!view.winner) return std::nullopt;
  study::ModelAssessment out{*view.winner, "", classes, 1, {}};
  Rng rng = Rng(4).split("assessed");
  for (const auto* name : {"validation", "test"}) {
    study::PartAssessment part;
    part.part = name;
    const auto n = static_cast<std::size_t>(classes);
    part.confusion.resize(n * n);
    for (std::size_t k = 0; k < n; ++k) part.confusion[k * n + k] = 20 + static_cast<std::int64_t>(rng.below(9));
    for (int mistakes = 0; mistakes < 14; ++mistakes) {
      const auto label = rng.below(n), predicted_class = rng.below(n);
      part.confusion[label * n + predicted_class] += 1 + static_cast<std::int64_t>(rng.below(3));
    }
    for (std::size_t k = 0; k < n * n; ++k) {
      part.rows += part.confusion[k];
      const auto label = static_cast<std::int64_t>(k / n), predicted_class = static_cast<std::int64_t>(k % n);
      if (label != predicted_class && part.confusion[k] > 0)
        part.confused.push_back({label, predicted_class, part.confusion[k]});
    }
    part.confused.resize(std::min(part.confused.size(), study::PartAssessment::kMaxConfusedPairs));
    for (std::size_t k = 0; k < n; ++k) {
      std::int64_t row = 0, column = 0;
      for (std::size_t j = 0; j < n; ++j) {
        row += part.confusion[k * n + j];
        column += part.confusion[j * n + k];
      }
      const auto right = static_cast<double>(part.confusion[k * n + k]);
      part.classes.push_back(
          {static_cast<std::int64_t>(k), row, right / static_cast<double>(column), right / static_cast<double>(row)});
    }
    out.parts.push_back(std::move(part));
  }
  return out;
}

/// Returns an assessment of regression with two targets, with one missing value.
std::optional<study::ModelAssessment> assessed_numbers(const StudyView& view) {
  study::ModelAssessment out{*view.winner, "", 0, 2, {}};
  study::PartAssessment part;
  part.part = "validation";
  part.rows = 900;
  part.lost = 1;
  Rng rng = Rng(5).split("numbers");
  for (int i = 0; i < 250; ++i) {
    const double price = 2e5 + 3e5 * rng.uniform(), byte_limits = 1 + 5 * rng.uniform();
    part.actual.insert(part.actual.end(), {price, byte_limits});
    part.predicted.insert(part.predicted.end(),
                          {price + 2e4 * rng.normal(), i == 7 ? std::nan("") : byte_limits + 0.5 * rng.normal()});
  }
  part.residuals = {{-310, 20150, {-47000, -33000, -13500, -290, 13400, 32800, 46900}},
                    {std::nan(""), std::nan(""), {}}};
  out.parts = {part};
  return out;
}

/// Returns an assessment of labels with long names; no row has one of them.
std::optional<study::ModelAssessment> assessed_labels(const StudyView& view) {
  study::ModelAssessment out{*view.winner, "", 0, 7, {}, true};
  Rng rng = Rng(6).split("labels");
  for (const auto* name : {"validation", "test"}) {
    study::PartAssessment part;
    part.part = name;
    part.rows = 420;
    part.lost = name == std::string("test") ? 2 : 0;
    part.classes = {{6, 0, 0, 0}};
    for (std::int64_t label = 0; label < 6; ++label) {
      const double precision = 0.3 + 0.1 * static_cast<double>(label) + 0.1 * rng.uniform();
      part.classes.push_back({label, static_cast<std::int64_t>(10 + rng.below(200)), precision, precision - 0.15});
    }
    out.parts.push_back(std::move(part));
  }
  return out;
}

StudyView labels(const mutate::ModelSpace& models) {
  StudyView view = evolved(models, 50, 0, 17);
  view.config.name = "weather";
  view.config.goals = {{false, "val_loss"}};
  view.data["classes"] = 0;
  view.data["schema"] = {{"target",
                          {{"names",
                            {"rain", "wind", "fog", "hail", "a label with a name that is a sentence and not one word",
                             "<b>bold</b>", "locusts"}}}}};
  view.winner = study::ranking(view).front();
  return view;
}

StudyView numbers(const mutate::ModelSpace& models) {
  StudyView view = evolved(models, 50, 0, 13);
  view.config.name = "prices";
  view.spans.clear();  // as of a log without times
  view.config.goals = {{false, "val_loss"}};
  view.data["classes"] = 0;
  view.winner = study::ranking(view).front();
  view.baselines = {{"constant", {{"val_loss", 1.01}}}, {"linear", {{"val_loss", 0.31}}}};
  return view;
}

/// Adds tune searches to trial 1: one with a winner, one without, and one without a loss at its start.
void add_searches(StudyView& view) {
  TrialView& trial = view.trials[0];
  const auto tried = [](std::int64_t step, double lr, std::int64_t steps, const char* trend, double speed, bool kept) {
    return study::Branch{step, {{"lr", Value(lr)}}, steps, trend, speed, kept};
  };
  const auto start = [](std::int64_t step, double loss) { return study::Branch{step, {}, 0, "start", loss, false}; };
  trial.measurements.at(0).branches = {start(0, 2.3), tried(0, 0.1, 16, "converging", 0.06, true),
                                       tried(0, 0.01, 8, "converging", 0.03, false),
                                       tried(0, 1e-4, 4, "converging", 0, false), tried(0, 3, 4, "diverged", 0, false)};
  if (trial.measurements.size() < 4) return;
  const std::int64_t later = trial.measurements[1].step, last = trial.measurements[2].step;
  trial.measurements[2].branches = {start(later, 0.9), tried(later, 0.2, 4, "converging", 0, false)};
  trial.measurements[3].branches = {start(last, std::numeric_limits<double>::quiet_NaN()),
                                    tried(last, 0.05, 4, "converging", 0.01, true)};
}

/// Adds spans of two more workers: three trials share the steps of one in turn, then both share one trial.
void share_workers(StudyView& view) {
  const std::int64_t worker = kWorkers;
  for (std::int64_t epoch = 1; epoch <= 3; ++epoch) {
    for (std::uint32_t lane = 0; lane < 3; ++lane) {
      const double began = 0.3 * static_cast<double>(epoch - 1) + 0.1 * lane;
      view.spans.push_back({TrialId{lane + 1}, epoch, worker, began, began + 0.1, 3});
    }
  }
  view.spans.push_back({TrialId{4}, 1, worker + 1, 0.9, 2.4, 1, 2});
}

/// Puts workers on two hosts in turn. The first worker is lost half way and restarts on a third host, `last`.
void put_on_hosts(StudyView& view, const std::string& last) {
  view.workers.hosts = {{"node1", 1}, {"node2", 0}, {last, 0}};
  for (std::size_t i = 0; i < view.spans.size(); ++i) {
    study::Span& span = view.spans[i];
    span.host = span.worker == 0 && 2 * i > view.spans.size() ? 3 : static_cast<std::size_t>(span.worker % 2) + 1;
  }
  for (std::int64_t worker = 0; worker < kWorkers; ++worker) {
    view.workers.present.push_back({worker, 70 + worker, worker == 0 ? last : worker % 2 == 0 ? "node1" : "node2"});
  }
  view.workers.moves = {
      {.trial = TrialId{3}, .from = 0, .from_host = "node1", .to = 1, .to_host = "node2", .seconds = 1.25},
      {.trial = TrialId{3}, .from = 1, .from_host = "node2", .to = 0, .to_host = last, .seconds = 0.5}};
}

/// Adds a timed step of three stages on two ranks to the first two spans. `operators` names those of the second stage.
void time_steps(StudyView& view, const std::string& operators) {
  using pipeline::ActionKind;
  pipeline::TimedStep step{
      .batch = 32,
      .stages = {{"%1 conv2d", 1, 16, 32, {2}}, {operators, 3, 16, 32, {2}}, {"%5 add", 1, 16, 16, {}}},
      .ranks = {{}, {}}};
  const auto pass = [&](std::size_t rank, ActionKind kind, std::uint32_t stage, std::uint32_t micro, double begin) {
    step.ranks[rank].push_back(
        {kind, stage, micro, 1e-3 * begin, 1e-3 * (begin + 1), 2e-3 * begin, 2e-3 * begin + 1e-3});
  };
  for (std::uint32_t micro = 0; micro < 2; ++micro) {
    pass(0, ActionKind::kForward, 0, micro, 3 * micro);
    pass(1, ActionKind::kForward, 1, micro, 3 * micro);
    pass(1, ActionKind::kForward, 2, micro, 3 * micro + 1);
  }
  for (std::uint32_t micro = 0; micro < 2; ++micro) {
    pass(1, ActionKind::kBackward, 2, micro, 6 + 3 * micro);
    pass(1, ActionKind::kInputGrad, 1, micro, 7 + 3 * micro);
    pass(0, ActionKind::kBackward, 0, micro, 7 + 3 * micro);
    pass(1, ActionKind::kWeightGrad, 1, micro, 8 + 3 * micro);
  }
  for (std::size_t i = 0; i < 2; ++i) view.spans.at(i).timed = std::make_shared<const pipeline::TimedStep>(step);
}

void write(const std::string& folder, const std::string& name, const StudyView& view, const std::string& shown,
           double reload_seconds = 0, std::optional<study::ModelAssessment> assessment = {}) {
  const std::string page = report::report_page(
      view,
      {.folder = shown, .version = "0.1.0", .reload_seconds = reload_seconds, .assessment = std::move(assessment)});
  std::ofstream(folder + "/" + name + ".html", std::ios::binary) << page;
  std::cout << name << ".html: " << view.trials.size() << " trials, " << page.size() << " bytes\n";
}

/// Writes the comparison of three studies, of which one has another goal, with hostile text.
void write_comparison(const std::string& folder, const mutate::ModelSpace& models) {
  const StudyView a = evolved(models, 60, 0, 7), b = evolved(models, 40, 3, 9), c = hostile(models);
  const std::string attack = "</script><script>window.pwned=1</script>";
  const std::string page =
      report::compare_page(report::compare({{"studies/digits-7", &a, "name: a\nstrategy:\n  name: random\n"},
                                            {"studies/digits-9", &b, "name: b\nstrategy:\n  name: tpe\n"},
                                            {attack, &c, "name: " + attack + "\n"}}),
                           "0.1.0");
  std::ofstream(folder + "/compare.html", std::ios::binary) << page;
  std::cout << "compare.html: " << page.size() << " bytes\n";
}

void write_all(const std::string& folder) {
  const mutate::ModelSpace models = model_space();
  StudyView small = evolved(models, 60, 0, 7);
  small.baselines = {{"constant", {{"val_accuracy", 0.1037}, {"val_loss", 2.3}}},
                     {"linear", {{"val_accuracy", 0.87}, {"val_loss", 0.4}}}};
  share_workers(small);
  add_searches(small);
  write(folder, "small", small, "studies/digits-7", 0, assessed(small, 10));
  StudyView running = evolved(models, 20, 4, 8);
  put_on_hosts(running, "a-node-with-a-name-that-is-longer-than-a-label");
  time_steps(running, "%2 linear .. %4 relu");
  write(folder, "running", running, "studies/digits-8");
  write(folder, "live", evolved(models, 20, 4, 8), "studies/digits-8", 0.5);
  write_comparison(folder, models);
  write(folder, "single", evolved(models, 1, 0, 7), "studies/one");
  write(folder, "empty", study_without_trials(models), "studies/empty");
  write(folder, "failed", all_failed(models), "studies/failed");
  write(folder, "duplicates", only_duplicates(models), "studies/doubles");
  write(folder, "pareto", two_goals(models), "studies/two-goals");
  write(folder, "numbers", numbers(models), "studies/prices", 0, assessed_numbers(numbers(models)));
  write(folder, "labels", labels(models), "studies/weather", 0, assessed_labels(labels(models)));
  StudyView attacks = hostile(models);
  put_on_hosts(attacks, "</script><script>window.pwned=1</script>\xE2\x80\xAE");
  time_steps(attacks, "</script><script>window.pwned=1</script>\xE2\x80\xAE");
  write(folder, "hostile", attacks, "it's <b>a</b> \"folder\"; rm -rf", 0, assessed(attacks, 4));
  write(folder, "large", evolved(models, 10'000, 0, 11), "studies/large");
}

}  // namespace
}  // namespace lanista

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: report_corpus FOLDER\n";
    return 2;
  }
  lanista::write_all(argv[1]);
  return 0;
}

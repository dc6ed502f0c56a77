// Trials that begin with what the engine finds for them in the study (train.start).
#include "lanista/engine/core/warm_start.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "lanista/engine/core/package.h"
#include "lanista/model/graph/infer.h"
#include "lanista/model/graph/text.h"
#include "support/engine/core/custom_strategy_study.h"

namespace lanista::engine {
namespace {

using testing::Bench;
using testing::CustomStudy;
using testing::small_study;

study::StudyConfig warm_config(std::string_view start, std::uint64_t seed = 7, std::int64_t trials = 24) {
  study::StudyConfig config = small_study(trials);
  config.train.start.from = start;
  config.keep.top = 4;
  config.run.seed = seed;
  return config;
}

CustomStudy warm_start_study(std::string_view start, std::uint64_t seed, std::int64_t trials = 24) {
  const study::StudyConfig config = warm_config(start, seed, trials);
  return {config, [config](const auto& models) { return *make_strategy(config, models); }};
}

bool is_descendant(const StudyView& view, TrialId child, TrialId ancestor) {
  for (auto at = view.trials[child.value - 1].proposal.parent; at; at = view.trials[at->value - 1].proposal.parent) {
    if (*at == ancestor) return true;
  }
  return false;
}

TEST(WarmStart, ResumesExactlyAfterAnyKill) {
  for (const std::string_view start : {study::kStartParent, study::kStartStudy}) {
    for (std::uint64_t seed = 1; seed <= 2; ++seed) {
      SCOPED_TRACE(std::string(start) + std::to_string(seed));
      testing::expect_resumes_from_every_change(warm_start_study(start, seed, 16), 7);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(WarmStart, IsIndependentOfWorkersAndArrivalOrder) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE(seed);
    testing::expect_independent_of_workers(warm_start_study(study::kStartStudy, seed), 4);
  }
}

TEST(WarmStart, UsesNearestStoredAncestor) {
  int started = 0, without_parent = 0, of_relatives = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    for (const std::string_view wanted : {study::kStartParent, study::kStartStudy}) {
      Bench bench;
      const auto end = bench.run(warm_config(wanted, seed, 40), {.seed = 3});
      ASSERT_TRUE(end.ok()) << end.error().text();
      const StudyView view = bench.view();
      for (const TrialView& trial : view.trials) {
        const auto& start = trial.proposal.start;
        if (!start) continue;
        ++started;
        const TrialView& parent = view.trials[start->parent.value - 1];
        EXPECT_TRUE(start->is_chosen_by_engine);
        EXPECT_FALSE(start->address.empty());
        EXPECT_EQ(start->epoch, parent.measurements.back().epoch) << "it had ended";
        EXPECT_TRUE(start->inexact_reason.empty() || start->coverage >= kMinCoverage);
        without_parent += !trial.proposal.parent;
        const bool of_ancestor = is_descendant(view, trial.id, start->parent);
        of_relatives += !of_ancestor;
        EXPECT_TRUE(of_ancestor || wanted != study::kStartParent) << trial.id.value;
      }
    }
  }
  EXPECT_GT(started, 40);
  EXPECT_GT(without_parent, 4);
  EXPECT_GE(of_relatives, without_parent);
}

TEST(WarmStart, IsReplannedFromRecord) {
  Bench bench;
  const study::StudyConfig config = warm_config(study::kStartStudy, 7, 40);
  ASSERT_TRUE(bench.run(config, {.seed = 3}).ok());
  const StudyView view = bench.view();
  int planned = 0;
  for (const TrialView& trial : view.trials) {
    if (!trial.proposal.start) continue;
    const graph::OpTable ops = graph::builtin_ops();
    Job job = *make_job(config, bench.data, trial, *study::trial_model(view, trial, ops));
    ASSERT_TRUE(plan_start(job, view, ops).ok());
    ASSERT_TRUE(job.transfer);
    EXPECT_EQ(zoo::inherited_share(*job.transfer), trial.proposal.start->coverage);
    EXPECT_EQ(job.transfer->exact, trial.proposal.start->inexact_reason.empty());
    ++planned;

    job.start->plan.back() = job.start->plan.back() == '0' ? '1' : '0';
    const auto other = plan_start(job, view, ops);
    ASSERT_FALSE(other.ok());
    EXPECT_EQ(other.error().code, Code::kDataLoss);
    EXPECT_NE(other.error().message.find("this build plans '" + trial.proposal.start->plan + "'"), std::string::npos)
        << other.error().message;
  }
  EXPECT_GT(planned, 10);
}

// Its optimiser's state goes along where every element is the parent's, and nowhere else; either is in the record.
TEST(WarmStart, ReportsOptimizerTransfer) {
  int carried = 0, other_model = 0, other_optimizer = 0;
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    study::StudyConfig config = warm_config(study::kStartStudy, seed, 40);
    config.train.start.optimizer = study::kCarryOptimizer;
    Bench bench;
    ASSERT_TRUE(bench.run(config, {.seed = 3}).ok());
    const StudyView view = bench.view();
    for (const TrialView& trial : view.trials) {
      const auto& start = trial.proposal.start;
      if (!start) continue;
      const auto optimizer = [&](const TrialView& of) {
        return study::make_recipe(config, "mse", of.proposal.sample)->optimizer;
      };
      const TrialView& parent = view.trials[start->parent.value - 1];
      const bool same_model = parent.proposal.graph_hash == trial.proposal.graph_hash;
      const bool same_optimizer = optimizer(parent) == optimizer(trial);
      const bool inheritance = start->optimizer == study::kOptimizerCarried;
      EXPECT_FALSE(start->optimizer.empty());
      EXPECT_TRUE(!inheritance || (same_optimizer && start->inexact_reason.empty())) << start->optimizer;
      EXPECT_TRUE(!same_model || inheritance == same_optimizer) << start->optimizer;
      carried += inheritance;
      other_model += !inheritance && same_optimizer;
      other_optimizer += start->optimizer.starts_with("the parent's is ");
      const std::string text = study::inherited_text(*start);
      EXPECT_NE(text.find(inheritance ? ", its optimizer's state too" : ", a fresh optimizer: " + start->optimizer),
                std::string::npos)
          << text;
      EXPECT_EQ(*study::start_from_json(study::start_json(*start)), *start);
    }
  }
  EXPECT_GT(carried, 3);
  EXPECT_GT(other_model, 3);
  EXPECT_GT(other_optimizer, 0);
}

TEST(WarmStart, KeepsProposalsAndDuplicates) {
  // A strategy that ignores results proposes the same trials with any starts.
  std::vector<std::set<std::string>> keys;
  for (const std::string_view start : {study::kStartOff, study::kStartStudy}) {
    study::StudyConfig config = warm_config(start, 7, 30);
    config.strategy = {"random", 3, Options::object()};
    config.space.params = {};
    config.stop = {"none", Options::object()};
    Bench bench;
    ASSERT_TRUE(bench.run(config, {.seed = 3}).ok());
    keys.emplace_back();
    const StudyView view = bench.view();
    for (const TrialView& trial : view.trials) keys.back().insert(study::run_key(trial.proposal).hex());
  }
  EXPECT_EQ(keys[0], keys[1]);
}

TEST(WarmStart, ScalesLrByUninheritedShare) {
  Bench bench;
  study::StudyConfig config = warm_config(study::kStartParent, 7, 40);
  config.train.start.rate = study::kEasedRate;
  ASSERT_TRUE(bench.run(config, {.seed = 3}).ok());
  int eased = 0;
  const StudyView view = bench.view();
  for (const TrialView& trial : view.trials) {
    const double ease = make_job(config, bench.data, trial, {})->recipe.ease;
    if (!trial.proposal.start) {
      EXPECT_EQ(ease, 1);
    } else {
      EXPECT_EQ(ease, std::max(0.3, 1 - trial.proposal.start->coverage));
      ++eased;
    }
  }
  EXPECT_GT(eased, 3);
}

graph::Graph net(std::int64_t inputs, std::int64_t hidden, std::int64_t classes) {
  return *graph::parse("%0 = input(shape=[" + std::to_string(inputs) +
                       "])\n%1 = linear(%0, out=" + std::to_string(hidden) +
                       ")\n%2 = relu(%1)\n%3 = linear(%2, out=" + std::to_string(classes) + ")\n%4 = output(%3)\n");
}

/// Every number another one.
std::vector<Tensor> increasing_weights(const graph::Graph& model) {
  std::vector<Tensor> out;
  float next = 1;
  const auto params = *graph::parameters(model, graph::builtin_ops());
  for (const graph::NamedParam& param : params) {
    Tensor tensor{param.name, ElementType::kF32, param.spec.shape.dims, {}};
    std::int64_t elements = 1;
    for (const std::int64_t dim : tensor.shape) elements *= dim;
    tensor.bytes.resize(static_cast<std::size_t>(elements) * sizeof(float));
    for (float& value : elements_of<float>(tensor)) value = next, next += 1;
    out.push_back(std::move(tensor));
  }
  return out;
}

std::vector<float> row_of(const std::vector<Tensor>& tensors, const std::string& name, std::int64_t row) {
  const Tensor& tensor = *std::ranges::find(tensors, name, &Tensor::name);
  const auto values = elements_of<float>(tensor);
  const auto each = std::ssize(values) / tensor.shape[0];
  return {values.begin() + row * each, values.begin() + (row + 1) * each};
}

TEST(WarmStart, MatchesClassesOfFileByName) {
  const graph::OpTable ops = graph::builtin_ops();
  const graph::Graph parent = net(4, 6, 3), child = net(4, 6, 4);
  const std::vector<Tensor> given = increasing_weights(parent);
  Inheritance inheritance = *best_inheritance(parent, child, 7, {}, ops);

  const Inheritance named = *match_classes(inheritance, {{"a", "b", "c"}, {"c", "x", "a", "b"}}, parent, child, ops);

  EXPECT_FALSE(named.plan.exact);
  EXPECT_EQ(named.plan.inexact_reason, "%3 linear: 3 of 4 classes are known");
  const auto made = *zoo::apply(named.plan, given, child, ops, 7);
  for (const std::string name : {"n3.weight", "n3.bias"}) {
    EXPECT_EQ(row_of(made, name, 0), row_of(given, name, 2)) << name;
    EXPECT_EQ(row_of(made, name, 2), row_of(given, name, 0)) << name;
    EXPECT_EQ(row_of(made, name, 3), row_of(given, name, 1)) << name;
    for (const float value : row_of(made, name, 1)) EXPECT_LT(std::abs(value), 1) << "its own, " << name;
  }
  EXPECT_EQ(row_of(made, "n1.weight", 3), row_of(given, "n1.weight", 3));

  const Inheritance unnamed = *match_classes(inheritance, {}, parent, child, ops);
  EXPECT_EQ(unnamed.plan.inexact_reason, "%3 linear: 0 of 4 classes are known");
  EXPECT_LT(unnamed.coverage, named.coverage);
  const auto fresh = *zoo::apply(unnamed.plan, given, child, ops, 7);
  for (const Tensor& tensor : fresh) {
    EXPECT_FALSE(tensor.name.starts_with("n3.")) << "the whole layer is the child's own";
  }
  // The same number of classes without names stays where it is, and so do the same names.
  const graph::Graph same = net(4, 6, 3);
  const Inheritance whole = *best_inheritance(parent, same, 7, {}, ops);
  for (const ClassLabels& labels :
       {ClassLabels{}, ClassLabels{{"a", "b", "c"}, {"a", "b", "c"}}, ClassLabels{{"a"}, {}}}) {
    EXPECT_EQ(match_classes(whole, labels, parent, same, ops)->plan_text, whole.plan_text);
  }
  const Inheritance turned = *match_classes(whole, {{"a", "b", "c"}, {"c", "b", "a"}}, parent, same, ops);
  EXPECT_FALSE(turned.plan.exact);
  EXPECT_EQ(turned.coverage, 1);
}

TEST(WarmStart, AdaptsBaseToDataShapes) {
  data::DataSpec data = testing::small_data();
  const graph::OpTable ops = graph::builtin_ops();
  EXPECT_EQ(graph::to_text(*adapt_base(net(4, 8, 10), data, ops)), graph::to_text(net(6, 8, 3)));
  EXPECT_EQ(graph::to_text(*adapt_base(net(6, 8, 3), data, ops)), graph::to_text(net(6, 8, 3)));
}

TEST(WarmStart, PackageStartsEverySimilarTrial) {
  Bench bench;
  study::StudyConfig config = warm_config(study::kStartFile, 7, 16);
  config.train.start.file = "/old/best";
  const auto models = *make_model_space(warm_config(study::kStartOff), bench.data, "", bench.disk);
  const graph::Graph model = models->bases().front().graph;
  TrialView trained;
  trained.id = TrialId{1};
  trained.proposal.graph_hash = graph::canonical_hash(model, graph::builtin_ops());
  trained.measurements = {{TrialId{1}, 1, 1, {{"val_loss", 0.5}, {"val_accuracy", 0.5}}}};
  study::Recipe recipe = *study::make_recipe(config, "cross_entropy", {});
  const auto package = make_package(config, bench.data, trained, recipe, model, increasing_weights(model), {});
  ASSERT_TRUE(write_package(bench.disk, "/old/best", package).ok());

  const auto end = bench.run(config, {.seed = 3});

  ASSERT_TRUE(end.ok()) << end.error().text();
  const StudyView view = bench.view();
  ASSERT_TRUE(view.start_file);
  EXPECT_EQ(view.start_file->labels, bench.data.labels);
  EXPECT_TRUE(bench.disk.exists(testing::kFolder + "/ckpt/" + view.start_file->address + ".safetensors"));
  int exact = 0;
  for (const TrialView& trial : view.trials) {
    ASSERT_TRUE(trial.proposal.start) << trial.id.value;
    EXPECT_TRUE(trial.proposal.start->is_file());
    EXPECT_EQ(trial.proposal.start->address, view.start_file->address);
    exact += trial.proposal.start->inexact_reason.empty();
    const graph::OpTable ops = graph::builtin_ops();
    Job job = *make_job(config, bench.data, trial, *study::trial_model(view, trial, ops));
    EXPECT_TRUE(plan_start(job, view, ops).ok());
    EXPECT_TRUE(job.transfer);
  }
  EXPECT_GT(exact, 5);

  Bench other;
  const auto lost = other.run(config, {.seed = 3});
  ASSERT_FALSE(lost.ok());
  EXPECT_EQ(lost.error().where, "train.start_from");
  config.train.start.file = study::kStartFromBase;
  EXPECT_NE(other.run(config, {.seed = 3}).error().message.find("builtin:small-mlp has no weights"), std::string::npos);
}

TEST(WarmStart, IsRefusedWithFolds) {
  Bench bench;
  study::StudyConfig config = warm_config(study::kStartStudy);
  config.data.folds = 2;
  const auto end = bench.run(config, {});
  ASSERT_FALSE(end.ok());
  EXPECT_EQ(end.error().code, Code::kInvalidArgument);
  EXPECT_EQ(end.error().where, "train.start");
  EXPECT_EQ(end.error().message,
            "is 'study'; with data.folds a parent may have trained on rows that its child is measured on");
}

TEST(WarmStart, IsWrittenOnlyIfSet) {
  EXPECT_EQ(studyfile::write_study(warm_config(study::kStartOff)).find("start"), std::string::npos);
  const auto back = studyfile::read_study(studyfile::write_study(warm_config(study::kStartStudy)), "warm.yaml");
  ASSERT_TRUE(back.ok()) << back.error().text();
  EXPECT_EQ(back->train.start.from, study::kStartStudy);
}

}  // namespace
}  // namespace lanista::engine

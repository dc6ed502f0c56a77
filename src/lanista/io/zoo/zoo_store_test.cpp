#include "lanista/io/zoo/zoo_store.h"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <limits>

#include "lanista/io/zoo/warm_start_query.h"
#include "support/io/zoo/load_start.h"
#include "support/io/zoo/test_store.h"

namespace lanista::zoo {
namespace {

using namespace testing;
using Mode = Store::Mode;

const graph::OpTable kOps = graph::builtin_ops();

TEST(Store, ReadsModelsOfAnotherProcess) {
  const Folder folder("back");
  const NewModel model = random_model(1, 0.9);
  std::string id;
  {
    Store store = opened(folder.path());
    const AddResult one = added(store, model);
    EXPECT_EQ(one.state, AddResult::State::kLive);
    id = one.id;
    EXPECT_EQ(added(store, model).state, AddResult::State::kKnown);
  }
  const Store store = opened(folder.path(), Mode::kRead);

  EXPECT_EQ(*store.graph(id), model.graph);
  EXPECT_EQ(*store.weights(id), model.tensors);
  EXPECT_EQ(*store.weights(id, {model.tensors.back().name}), std::vector{model.tensors.back()});
  EXPECT_EQ(store.weights(id, {"n9.none"}).error().code, Code::kNotFound);
  const auto shown = store.show(id);
  ASSERT_TRUE(shown.ok());
  EXPECT_EQ(shown->quality, 0.9);
  EXPECT_EQ(shown->metric, "accuracy");
  EXPECT_EQ(shown->task, kDigits.text());
  EXPECT_EQ(*store.resolve(id.substr(0, 6)), id);
  EXPECT_EQ(store.resolve("zz").error().code, Code::kNotFound);
  EXPECT_TRUE(store.verify(kOps)->empty());
}

// A search on disk and a search in memory give the same result, whatever was added and removed in between.
TEST(Store, MatchesInMemoryCatalogue) {
  const Folder folder("find");
  Store store = opened(folder.path(), Mode::kWrite, {.replicas = 1000});
  const Store reader = opened(folder.path(), Mode::kRead);
  std::vector<std::pair<std::string, NewModel>> live;
  std::vector<CatalogueEntry> only_ranked;  // quarantined
  Rng rng(5);
  for (std::uint64_t step = 0; step < 60; ++step) {
    const NewModel model =
        random_model(step, 0.5 + 0.1 * static_cast<double>(rng.below(4)), rng.bernoulli(0.8) ? kDigits : kCats);
    live.emplace_back(added(store, model).id, model);
    if (step % 5 == 4) {
      const std::size_t gone = rng.below(live.size());
      const auto& [id, one] = live[gone];
      if (rng.bernoulli(0.5)) {
        ASSERT_TRUE(store.quarantine(id, "a test").ok());
        only_ranked.push_back({id, one.task.text(), one.quality, 0});
      } else {
        ASSERT_TRUE(store.remove(id).ok());
      }
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(gone));
    }
    if (step == 40) {
      ASSERT_TRUE(store.gc(0).ok());
    }
    if (step % 4 != 3) continue;
    Catalogue memory;
    for (std::size_t k = 0; k < live.size(); ++k) {
      const auto match = MatchModel::of(live[k].second.graph, kOps);
      ASSERT_TRUE(
          memory
              .add({live[k].first, live[k].second.task.text(), live[k].second.quality, static_cast<std::int64_t>(k)},
                   *match)
              .ok());
    }
    for (const CatalogueEntry& entry : only_ranked) memory.rank_only(entry);
    const auto child = MatchModel::of(testing::random_layers(Rng(72).split(step), 8), kOps);
    const auto found = reader.find(kDigits);
    ASSERT_TRUE(found.ok()) << found.error().text();
    const auto ours = (*found)->best(*child, kDigits.text()), theirs = memory.best(*child, kDigits.text());
    ASSERT_EQ(ours.has_value(), theirs.has_value());
    if (!ours) continue;
    EXPECT_EQ(ours->entry.id, theirs->entry.id);
    EXPECT_EQ(ours->match.overlap, theirs->match.overlap);
    EXPECT_EQ(ours->match.pairs, theirs->match.pairs);
  }
}

TEST(Store, FindsExactStartAndFamilyOnlyOnRequest) {
  const Folder folder("start");
  Store store = opened(folder.path());
  const auto text = [](int width) {
    return "%0 = input(shape=[4])\n%1 = linear(%0, out=" + std::to_string(width) +
           ")\n%2 = relu(%1)\n%3 = linear(%2, out=10)\n%4 = output(%3)\n";
  };
  const graph::Graph parent = *graph::parse(text(16)), child = *graph::parse(text(24));
  const std::string id = added(store, {parent, kDigits, testing::random_weights(parent, 3), 0.9, "accuracy"}).id;
  TaskKey other = kDigits;
  other.data = "z9";

  const auto start = testing::load_start(store, child, kDigits, kOps);
  const auto strange = query(store, child, other, kOps);
  const auto related = query(store, child, other, kOps, {.related = true});

  ASSERT_TRUE(start.ok() && start->has_value());
  EXPECT_EQ((*start)->start.parent_match.entry.id, id);
  EXPECT_TRUE((*start)->start.plan.exact);
  EXPECT_EQ((*start)->start.exact_prefix, 5);
  EXPECT_EQ((*start)->tensors.size(), 4U);
  EXPECT_FALSE((*start)->start.expected_saving.has_value());
  ASSERT_TRUE(strange.ok());
  EXPECT_FALSE(strange->has_value());
  ASSERT_TRUE(related.ok() && related->has_value());
  EXPECT_TRUE((*related)->related);
  EXPECT_FALSE(query(store, child, kCats, kOps, {.related = true})->has_value());
}

TEST(Store, AdmitsOnlyValidGoodModels) {
  const Folder folder("gate");
  Store store = opened(folder.path());
  const auto refused = [&](NewModel model) {
    const auto out = store.add(model, kOps);
    return out.ok() ? "accepted" : out.error().message;
  };
  NewModel model = random_model(2, 0.9);
  const std::string first = model.tensors.front().name;

  NewModel lying = model;
  lying.tensors.front().shape.front() += 1;
  EXPECT_NE(refused(lying).find("tensor " + first + " has shape"), std::string::npos);
  NewModel short_of = model;
  short_of.tensors.front().bytes.pop_back();
  EXPECT_NE(refused(short_of).find("bytes"), std::string::npos);
  NewModel lacking = model;
  lacking.tensors.erase(lacking.tensors.begin());
  EXPECT_NE(refused(lacking).find("lack the tensor " + first), std::string::npos);
  NewModel more = model;
  more.tensors.push_back(more.tensors.back());
  more.tensors.back().name = "n999.weight";
  EXPECT_NE(refused(more).find("n999.weight belongs to no node"), std::string::npos);
  NewModel nowhere = model;
  nowhere.quality = NAN;
  EXPECT_NE(refused(nowhere).find("not a number"), std::string::npos);

  NewModel infinite = model;
  elements_of<float>(infinite.tensors.back())[0] = std::numeric_limits<float>::infinity();
  const AddResult bad = added(store, infinite);
  EXPECT_EQ(bad.state, AddResult::State::kQuarantined);
  EXPECT_NE(bad.why.find(infinite.tensors.back().name), std::string::npos);
  EXPECT_EQ((*store.find(kDigits))->size(), 0U);
  EXPECT_EQ(store.show(bad.id)->state, "quarantined");

  NewModel guess = model;
  guess.quality = guess.chance.emplace(0.1);
  EXPECT_EQ(added(store, guess).state, AddResult::State::kRefused);
  EXPECT_EQ((*store.find(kDigits))->size(), 0U);
  EXPECT_TRUE(store.verify(kOps)->empty());
}

TEST(Store, KeepsTheBestAndTheNewestOfOneStructure) {
  const Folder folder("replicas");
  Store store = opened(folder.path(), Mode::kWrite, {.replicas = 2});
  NewModel model = random_model(4, 0);
  std::vector<std::string> ids;
  for (const double quality : {0.9, 0.5, 0.7}) {
    model.quality = quality;
    model.tensors = testing::random_weights(model.graph, ids.size());
    const AddResult one = added(store, model);
    ids.push_back(one.id);
    if (ids.size() == 3) {
      EXPECT_EQ(one.replaced, std::vector{ids[1]});
    }
  }

  EXPECT_EQ((*store.find(kDigits))->size(), 2U);
  EXPECT_EQ(store.weights(ids[1]).error().code, Code::kNotFound);
  EXPECT_TRUE(store.weights(ids[0]).ok());
  EXPECT_EQ(real_file_system().list(folder.path() + "/weights")->size(), 2U);
}

TEST(Store, KeepsLeasedReplicas) {
  const Folder folder("leased");
  Store store = opened(folder.path(), Mode::kWrite, {.replicas = 2});
  NewModel model = random_model(4, 0);
  const auto add_one = [&](double quality, std::int64_t now) {
    model.quality = quality;
    model.tensors = testing::random_weights(model.graph, static_cast<std::uint64_t>(1000 * quality));
    return *store.add(model, kOps, now);
  };
  const std::string worst = add_one(0.5, 0).id;
  add_one(0.9, 0);
  EXPECT_EQ(*store.last_change(), 2);
  EXPECT_EQ(*store.lease_all(kDigits, Store::Scope::kTask, 1, "a study", 100), 1) << "what was there by then";
  EXPECT_EQ(*store.lease_all(kCats, Store::Scope::kTask, 2, "a study", 100), 0);

  EXPECT_TRUE(add_one(0.7, 99).replaced.empty());
  const AddResult last = add_one(0.8, 100);
  ASSERT_EQ(last.replaced.size(), 2U) << "the lease is over";
  EXPECT_EQ(last.replaced.front(), worst);

  ASSERT_EQ(*store.lease_all(kDigits, Store::Scope::kFamily, 1000, "a study", 1000), 2);
  ASSERT_TRUE(store.lease(last.id, "another", 1000).ok());
  ASSERT_TRUE(store.release_all("a study").ok());
  EXPECT_EQ(store.gc(200, 1)->evicted.size(), 1U);
  EXPECT_TRUE(store.show(last.id).ok()) << "it is another's";
}

TEST(Store, EvictsUnderBudgetExceptHeld) {
  const Folder folder("evict");
  Store store = opened(folder.path(), Mode::kWrite, {.replicas = 1000});
  std::vector<std::string> ids;
  for (std::uint64_t k = 0; k < 12; ++k)
    ids.push_back(added(store, random_model(k, 0.5 + 0.01 * static_cast<double>(k))).id);
  const auto child = MatchModel::of(random_model(3, 0).graph, kOps);
  ASSERT_TRUE(store.record_query(kDigits, *child).ok());
  ASSERT_TRUE(store.pin(ids[0], true).ok());
  ASSERT_TRUE(store.lease(ids[1], "a study", 100).ok());
  ASSERT_TRUE(store.lease(ids[2], "a study that has ended", 10).ok());
  const std::int64_t budget = 4 * store.show(ids[0])->bytes;

  const auto done = store.gc(50, budget);

  ASSERT_TRUE(done.ok()) << done.error().text();
  EXPECT_LE(done->bytes, budget);
  EXPECT_FALSE(done->evicted.empty());
  EXPECT_TRUE(store.show(ids[0]).ok());
  EXPECT_TRUE(store.show(ids[1]).ok());
  EXPECT_TRUE(store.show(ids[3]).ok()) << "the one that was asked for";
  EXPECT_EQ(store.show(done->evicted.front()).error().code, Code::kNotFound);
  EXPECT_TRUE(store.verify(kOps)->empty());
  EXPECT_EQ((*store.find(kDigits))->size(), 12 - done->evicted.size());
  EXPECT_EQ(store.pin(done->evicted.front(), true).error().code, Code::kNotFound);

  // With a budget of almost nothing, held models stay as long as they are held.
  ASSERT_TRUE(store.gc(50, 1).ok());
  EXPECT_EQ((*store.find(kDigits))->size(), 2U);
  EXPECT_TRUE(store.show(ids[0]).ok());
  EXPECT_TRUE(store.show(ids[1]).ok());
  ASSERT_TRUE(store.gc(200, 1).ok());
  EXPECT_EQ((*store.find(kDigits))->size(), 1U);
  EXPECT_TRUE(store.show(ids[0]).ok());
}

TEST(Store, EstimatesSavingFromOutcomes) {
  const Folder folder("gain");
  Store store = opened(folder.path());
  const std::string one = added(store, random_model(1, 0.9)).id, two = added(store, random_model(2, 0.8)).id;
  EXPECT_FALSE(store.expected_gain(one)->has_value());
  ASSERT_TRUE(store.report_outcome({one, "c1", 50, 100, "race"}).ok());
  ASSERT_TRUE(store.report_outcome({one, "c2", 100, 100, "race"}).ok());

  const auto own = *store.expected_gain(one), other = *store.expected_gain(two);

  ASSERT_TRUE(own && other);
  EXPECT_DOUBLE_EQ(own->saving, 0.25);
  EXPECT_EQ(own->outcomes, 2);
  EXPECT_FALSE(own->is_task_average);
  EXPECT_TRUE(other->is_task_average);
  ASSERT_TRUE(store.report_outcome({one, "c2", 20, 100, "race"}).ok());
  EXPECT_EQ((*store.expected_gain(one))->outcomes, 2) << "a second report is ignored";
  ASSERT_TRUE(store.report_outcome({one, "c2", 20, 100, "another"}).ok());
  EXPECT_EQ((*store.expected_gain(one))->outcomes, 3);
  EXPECT_EQ(store.report_outcome({one, "c3", 0, 100, ""}).error().code, Code::kInvalidArgument);
  EXPECT_EQ(store.report_outcome({"none", "c3", 1, 100, ""}).error().code, Code::kNotFound);
}

// Each process sees the others create the index, at any point of the creation.
TEST(Store, OpensWhileOtherProcessesCreateTheZoo) {
  constexpr int kProcesses = 8, kRounds = 60;
  std::string failures;
  for (int round = 0; round < kRounds; ++round) {
    const testing::Folder folder("created_together");
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    std::vector<pid_t> children;
    for (int k = 0; k < kProcesses; ++k) {
      const pid_t child = ::fork();
      ASSERT_GE(child, 0);
      if (child == 0) {
        const auto store = Store::open(folder.path(), Store::Mode::kWrite);
        const std::string text = store ? "" : store.error().text() + "\n";
        const ssize_t put = ::write(ends[1], text.data(), text.size());
        ::_exit(put == static_cast<ssize_t>(text.size()) ? 0 : 1);
      }
      children.push_back(child);
    }
    ::close(ends[1]);
    char text[4096];
    for (ssize_t got = 0; (got = ::read(ends[0], text, sizeof text)) > 0;) {
      failures.append(text, static_cast<std::size_t>(got));
    }
    ::close(ends[0]);
    for (const pid_t child : children) {
      int status = 0;
      ASSERT_EQ(::waitpid(child, &status, 0), child);
      EXPECT_EQ(status, 0);
    }
  }
  EXPECT_EQ(failures, "");
}

}  // namespace
}  // namespace lanista::zoo

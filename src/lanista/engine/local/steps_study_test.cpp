// Studies with a fixed number of steps in an epoch, and real training. Only the positions of measurements, verdicts,
// pauses and checkpoints differ.
#include <gtest/gtest.h>

#include <algorithm>

#include "lanista/base/memory_file_system.h"
#include "lanista/base/rng.h"
#include "lanista/engine/core/frozen_part.h"
#include "lanista/engine/local/repeat.h"
#include "lanista/exec/kernels/flush_to_zero.h"
#include "lanista/io/formats/safetensors.h"
#include "support/engine/core/custom_strategy_study.h"
#include "support/engine/core/test_support.h"
#include "support/engine/local/full_disk.h"
#include "support/engine/local/study_process.h"

namespace lanista::runtime {
namespace {

using engine::testing::fingerprint;
using engine::testing::kFolder;

constexpr const char* kBase =
    "%0 = input(shape=[4])\n%1 = linear(%0, out=6)\n%2 = relu(%1) \"end\"\n%3 = linear(%2, out=8)\n%4 = "
    "batch_norm(%3)\n"
    "%5 = relu(%4)\n%6 = dropout(%5, p=0.1)\n%7 = linear(%6, out=3)\n%8 = output(%7)\n";

void put_inputs(FileSystem& disk) {
  ASSERT_TRUE(disk.make_folder("/in"));
  ASSERT_TRUE(write_atomically(disk, "/in/base.graph", kBase));
  std::vector<Tensor> weights{{.name = "n1.weight", .type = ElementType::kF32, .shape = {6, 4}, .bytes = {}},
                              {.name = "n1.bias", .type = ElementType::kF32, .shape = {6}, .bytes = {}}};
  Rng rng(3);
  for (Tensor& tensor : weights) {
    tensor.bytes.resize(static_cast<std::size_t>(tensor.elements()) * sizeof(float));
    for (float& x : elements_of<float>(tensor)) x = static_cast<float>(rng.uniform(-1, 1));
  }
  ASSERT_TRUE(write_atomically(disk, "/in/weights.safetensors", *formats::encode_safetensors({weights, {}})));
}

/// Some 68 rows to train on: five steps a pass, the last one short.
std::string study(const std::string& train, bool frozen, bool promotion, const std::string& data = "") {
  return "model: {base: /in/base.graph" +
         std::string(frozen ? ", frozen: {through: end, weights: /in/weights.safetensors}" : "") +
         "}\nspace: {params: {optimizer: [sgd, adam], lr: \"log(0.01, 0.1)\"}}\n"
         "train: {schedule: cosine, warmup_epochs: 0.5, " +
         train + "}\ndata: {source: \"synthetic:blobs?rows=97&classes=3&features=4&seed=1\", batch: 16" + data +
         "}\nstrategy: {name: random, slots: 3}\n"
         "stop: {rule: asha, rungs: [1, 2], eta: 2, type: " +
         (promotion ? "promotion" : "stopping") + "}\nkeep: {top: 8, checkpoint_every: 0s}\n";
}

Result<engine::RunResult> run(FileSystem& fs, const std::string& text, std::int64_t workers) {
  return testing::StudyProcess(fs, {.folder = kFolder, .trials = 6, .workers = workers, .study = text}).run();
}

std::string behind_the_header(const std::string& canonical) { return canonical.substr(canonical.find('\n')); }

TEST(StepsStudy, OfOnePassMatchesTheStudyOfEpochs) {
  for (const bool promotion : {false, true}) {
    for (const bool frozen : {false, true}) {
      MemoryFileSystem plain, steps, budget;
      for (MemoryFileSystem* disk : {&plain, &steps, &budget}) put_inputs(*disk);
      const auto ran = run(plain, study("epochs: 4", frozen, promotion), 1);
      ASSERT_TRUE(ran) << ran.error().text();
      ASSERT_TRUE(run(steps, study("epochs: 4, steps_per_epoch: 5", frozen, promotion), 2));
      ASSERT_TRUE(run(budget, study("steps: 20", frozen, promotion), 2));

      const auto wanted = *fingerprint(plain);
      EXPECT_FALSE(wanted.weights.empty());
      for (MemoryFileSystem* disk : {&steps, &budget}) {
        const auto seen = *fingerprint(*disk);
        EXPECT_EQ(seen.weights, wanted.weights);
        EXPECT_EQ(
            engine::testing::first_difference(behind_the_header(seen.canonical), behind_the_header(wanted.canonical)),
            "");
      }
    }
  }
}

TEST(GrowingStudy, MatchesThePlainStudyWhenItReadsAllRowsAtOnce) {
  MemoryFileSystem plain, at_once;
  for (MemoryFileSystem* disk : {&plain, &at_once}) put_inputs(*disk);
  ASSERT_TRUE(run(plain, study("epochs: 3", false, true), 1));
  ASSERT_TRUE(run(at_once, study("epochs: 3, all_rows_at: 1", false, true), 2));
  const auto wanted = *fingerprint(plain), seen = *fingerprint(at_once);
  EXPECT_EQ(seen.weights, wanted.weights);
  EXPECT_EQ(engine::testing::first_difference(behind_the_header(seen.canonical), behind_the_header(wanted.canonical)),
            "");
}

struct SampledStudy {
  std::string text;
  std::int64_t length = 0, steps = 0;
  std::int64_t all_rows_at = 1;

  /// Steps after so many epochs, in batches of 16 of so many rows.
  std::int64_t through(std::int64_t epochs, std::int64_t rows) const {
    if (all_rows_at == 1) return std::min(epochs * length, steps);
    std::int64_t count = 0;
    for (std::int64_t epoch = 1; epoch <= epochs; ++epoch) {
      std::int64_t share = 0;
      while (share < rows && share * all_rows_at < epoch * rows) ++share;
      for (; share > 0; share -= 16) ++count;
    }
    return count;
  }
};

/// Trials that read a growing share of the rows.
SampledStudy growing(Rng& rng) {
  SampledStudy out;
  const std::int64_t epochs = rng.between(3, 6);
  out.all_rows_at = rng.between(2, epochs);
  out.text = study("epochs: " + std::to_string(epochs) + ", all_rows_at: " + std::to_string(out.all_rows_at) +
                       ", shards: " + std::to_string(rng.between(1, 2)),
                   rng.bernoulli(0.5), rng.bernoulli(0.6), rng.bernoulli(0.5) ? ", augment: [noise]" : "");
  return out;
}

SampledStudy sample_study(Rng& rng) {
  SampledStudy out;
  out.length = rng.between(1, 12);
  out.steps = rng.between(2 * out.length + 1, 4 * out.length);
  const std::string train = "steps_per_epoch: " + std::to_string(out.length) + ", steps: " + std::to_string(out.steps) +
                            ", shards: " + std::to_string(rng.between(1, 2)) +
                            ", accumulate: " + std::to_string(rng.between(1, 2));
  out.text = study(train, rng.bernoulli(0.5), rng.bernoulli(0.6), rng.bernoulli(0.5) ? ", augment: [noise]" : "");
  return out;
}

// Repeats every trial alone.
void expect_trained_alone(MemoryFileSystem& disk, const SampledStudy& of) {
  const kernels::FlushToZero as_workers;
  const study::StudyView view = *engine::fold(*store::read_log(disk, kFolder));
  const data::Dataset data = *data::open(view.config.data, ".", real_file_system());
  const store::CheckpointStore checkpoints(disk, kFolder);
  int seen = 0;
  for (const study::TrialView& trial : view.trials) {
    for (const study::Measurement& each : trial.measurements) {
      EXPECT_EQ(each.step, of.through(each.epoch, data.spec().split_rows[0]));
    }
    if (!trial.outcome || !trial.outcome->weights_hash) continue;
    auto job =
        *engine::make_job(view.config, data.spec(), trial, *study::trial_model(view, trial, graph::builtin_ops()));
    job.frozen = *engine::frozen_part(view);
    const auto alone = repeat_trial(
        job, trial.measurements.back().epoch, view.config.train.measured.metrics, data,
        [](const study::Measurement&) {}, {}, &checkpoints);
    ASSERT_TRUE(alone) << alone.error().text();
    EXPECT_EQ(alone->hash, *trial.outcome->weights_hash) << trial.id.value;
    ASSERT_EQ(alone->measurements.size(), trial.measurements.size());
    for (std::size_t i = 0; i < trial.measurements.size(); ++i) {
      EXPECT_EQ(alone->measurements[i].metrics, trial.measurements[i].metrics);
    }
    ++seen;
  }
  EXPECT_GE(seen, 2);
}

// With and without a frozen part, in parts, augmented, promoted; killed and resumed anywhere, with any number of
// workers.
void expect_resumes_from_every_change(SampledStudy (*sample)(Rng&), std::uint64_t seeds, int least) {
  int resumed = 0;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    SCOPED_TRACE(seed);
    Rng rng(seed);
    const SampledStudy of = sample(rng);
    MemoryFileSystem undisturbed;
    put_inputs(undisturbed);
    const auto ran = run(undisturbed, of.text, 1);
    ASSERT_TRUE(ran) << ran.error().text() << "\n" << of.text;
    const auto wanted = *fingerprint(undisturbed);
    expect_trained_alone(undisturbed, of);

    for (int process_run = 0; process_run < 6; ++process_run) {
      const auto process = [&](FileSystem& disk) {
        return testing::StudyProcess(disk,
                                     {.folder = kFolder, .trials = 6, .workers = rng.between(1, 3), .study = of.text});
      };
      resumed += testing::resumes_after_full_disk(rng, 250, wanted, process, put_inputs);
    }
  }
  EXPECT_GT(resumed, least);
}

TEST(StepsStudy, ResumesExactlyAfterKills) { expect_resumes_from_every_change(sample_study, 10, 20); }
TEST(GrowingStudy, ResumesExactlyAfterKills) { expect_resumes_from_every_change(growing, 6, 12); }

}  // namespace
}  // namespace lanista::runtime

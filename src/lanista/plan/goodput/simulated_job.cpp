#include "lanista/plan/goodput/simulated_job.h"

#include <algorithm>
#include <cmath>

#include "lanista/base/check.h"

namespace lanista::goodput {

void JobProfile::add(const StepSample& sample) {
  if (!seen_.insert({sample.nodes, sample.replicas, sample.local_batch}).second) return;
  samples_.push_back(sample);
  most_replicas_ = std::max(most_replicas_, static_cast<std::int32_t>(sample.replicas));
}

const ThroughputModel& JobProfile::model() {
  if (fitted_ != samples_.size()) {
    model_ = fit_throughput(samples_).model;
    fitted_ = samples_.size();
    ++fits_;
  }
  return model_;
}

SimulatedJob::SimulatedJob(std::size_t index, const Submission& submission, const Application& application,
                           std::shared_ptr<JobProfile> profile, const SimulationOptions& options)
    : index_(index),
      submission_(submission),
      application_(application),
      profile_(std::move(profile)),
      options_(options) {
  if (options.freedom != JobFreedom::kAdaptive) {
    fixed_batch_ = submission.batch;
  } else if (is_pinned()) {
    fixed_batch_ = application.limits().most;
  }
}

bool SimulatedJob::is_pinned() const { return options_.pins_ncf && application_.name() == "ncf"; }

std::int32_t SimulatedJob::most_replicas() const {
  if (options_.freedom == JobFreedom::kRigid) return submission_.replicas;
  if (is_pinned()) return 1;
  const BatchLimits& limits = application_.limits();
  if (options_.freedom == JobFreedom::kElastic) {
    return static_cast<std::int32_t>(std::max<std::int64_t>(1, submission_.batch / limits.min_local));
  }
  const std::int64_t known = std::min<std::int64_t>(std::max(2 * profile_->most_replicas(), 1), options_.nodes.total());
  return static_cast<std::int32_t>(std::max<std::int64_t>(1, std::min(known, limits.most / limits.min_local)));
}

const GoodputTable* SimulatedJob::table() {
  if (options_.freedom == JobFreedom::kRigid || profile_->empty()) return nullptr;
  std::optional<GradientStats> stats = gradients_;
  if (!stats && !profile_->gradients.empty()) stats = profile_->gradients.begin()->second;
  if (!stats) return nullptr;
  if (table_version_ != profile_->version() || !(table_gradients_ == *stats)) {
    JobModel model;
    model.throughput = profile_->model();
    model.gradients = {stats->sqr, stats->var * options_.noise_factor};
    model.limits = application_.limits();
    if (fixed_batch_) {
      model.rule = BatchRule::kFixed;
      model.fixed_batch = *fixed_batch_;
    }
    table_ = std::make_unique<GoodputTable>(std::move(model));
    table_version_ = profile_->version();
    table_gradients_ = *stats;
  }
  return table_.get();
}

void SimulatedJob::tune() {
  const BatchLimits& limits = application_.limits();
  if (fixed_batch_) {
    plan_ = plan_of_total(limits, *fixed_batch_, replicas_);
    return;
  }
  if (const GoodputTable* known = table(); known != nullptr) {
    plan_ = best_plan(known->model(), static_cast<std::int64_t>(placement_.size()), replicas_).plan;
    plan_.local = std::min(plan_.local, limits.most / (replicas_ * (plan_.accumulations + 1)));
    return;
  }
  plan_ = plan_of_total(limits, std::max(limits.initial, limits.min_local * replicas_), replicas_);
}

void SimulatedJob::record_step(const StepTimes& times, const GradientStats& gradients) {
  gradients_ = gradients;
  if (options_.freedom != JobFreedom::kAdaptive) return;
  profile_->gradients[epoch_] = gradients;
  const auto nodes = static_cast<std::int64_t>(placement_.size());
  if (profile_->has_measured(nodes, replicas_, plan_.local)) return;
  const double accumulation = times.step - times.sync;
  profile_->add({nodes, replicas_, plan_.local, accumulation, accumulation + times.sync * options_.sync_factor});
}

void SimulatedJob::advance(double seconds, double interference) {
  if (placement_.empty()) {
    now_ += seconds;
    return;
  }
  const double delay = std::min(stalled_, seconds);
  now_ += delay;
  service_ += delay * replicas_;
  stalled_ -= delay;
  seconds -= delay;
  while (seconds > 0 && !finished()) {
    LANISTA_CHECK(epoch_ < application_.epochs(), "an unfinished job has a next epoch");
    if (!began_) began_ = now_;
    const std::int64_t batch = plan_.total(replicas_);
    const double scale = static_cast<double>(batch) / static_cast<double>(application_.limits().initial);
    const StepTimes times = application_.step_times(placement_, plan_.local);
    const GradientStats gradients = application_.gradients(batch, epoch_);
    const double gain = gain_of(gradients, scale);
    record_step(times, gradients);
    const double step = times.step + (times.step - times.sync) * static_cast<double>(plan_.accumulations);
    const double speed = gain / step * (1.0 - interference);
    const double next = target(epoch_ + 1);
    double taken = seconds;
    if (progress_ + speed * seconds < next) {
      progress_ += speed * seconds;
    } else {
      // Epochs end at whole seconds, as in the artefact.
      taken = std::min(seconds, std::nearbyint((next - progress_) / speed));
      ++epoch_;
      progress_ = next;
      if (epoch_ == application_.epochs()) ended_ = now_ + taken;
    }
    now_ += taken;
    service_ += taken * replicas_;
    seconds -= taken;
    if (!finished()) tune();
  }
  now_ += seconds;
}

void SimulatedJob::reallocate(const Allocation& allocation) {
  placement_.clear();
  for (const NodeShare& share : allocation) placement_.push_back(share.devices);
  replicas_ = devices_of(allocation);
  if (placement_.empty()) return;
  tune();
  stalled_ = options_.restart_seconds;
  ++restarts_;
}

double SimulatedJob::estimated_left() const {
  return (target(application_.epochs()) - progress_) * static_cast<double>(application_.limits().initial);
}

JobView SimulatedJob::view(double now) {
  JobView view;
  view.id = static_cast<std::int64_t>(index_);
  view.submitted = submission_.time;
  view.age = now - submission_.time;
  view.service = service_;
  view.goodput_service = progress_ * static_cast<double>(application_.limits().initial);
  view.restarts = std::max(restarts_, 0);
  view.wanted = submission_.replicas;
  view.most = most_replicas();
  view.kind = static_cast<std::int64_t>(submission_.application);
  view.goodput = table();
  if (options_.reveals_budget) view.left = estimated_left();
  if (!options_.reveals_true_costs) return view;
  if (!true_costs_) {
    true_costs_ = std::make_unique<TrueCosts>();
    true_costs_->step_seconds = [this](std::int32_t replicas) {
      std::vector<std::int32_t> packed;
      for (std::int32_t left = replicas; left > 0; left -= packed.back()) {
        packed.push_back(std::min(left, options_.nodes.devices));
      }
      BatchPlan plan = plan_of_total(application_.limits(), submission_.batch, replicas);
      // The artefact's oracle accumulates once on one device even at the initial batch.
      if (replicas == 1 && plan.accumulations == 0) plan = {(plan.local + 1) / 2, 1};
      const StepTimes times = application_.step_times(packed, plan.local);
      return times.step + (times.step - times.sync) * static_cast<double>(plan.accumulations);
    };
  }
  const std::int64_t last = application_.epochs() - 1;
  true_costs_->steps_left =
      last <= epoch_
          ? 1
          : (application_.iterations(submission_.batch, last) - application_.iterations(submission_.batch, epoch_)) *
                submission_.length;
  view.true_costs = true_costs_.get();
  return view;
}

JobOutcome SimulatedJob::finish() const {
  return {index_, submission_.time, began_.value_or(0), ended_.value_or(0), std::max(restarts_, 0), service_};
}

}  // namespace lanista::goodput

// Steps of lanes: batches are fed, the section runs once for all of them, and the lanes that are meant commit.
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "lanista/base/check.h"
#include "lanista/device/aten_pending.h"
#include "lanista/nn/gradient_square.h"

namespace lanista::device {

void AtenMachine::check_hyper(const nn::LaneHyper& hyper) const {
  LANISTA_CHECK(hyper.numbers.empty() || hyper.numbers.size() == facts().lane_numbers.size(),
                std::to_string(hyper.numbers.size()) + " numbers of a lane instead of " +
                    std::to_string(facts().lane_numbers.size()));
}

void AtenMachine::check_batch(const nn::Batch& batch, bool trains) const {
  const auto want = [&](std::size_t seen, std::int64_t wanted, const char* what) {
    LANISTA_CHECK(static_cast<std::int64_t>(seen) == wanted, std::to_string(seen) + " " + what + " for " +
                                                                 std::to_string(batch.size) + " samples instead of " +
                                                                 std::to_string(wanted));
  };
  LANISTA_CHECK(batch.size >= 1 && batch.size <= options_.max_batch, "a batch of " + std::to_string(batch.size) +
                                                                         " samples for a program of at most " +
                                                                         std::to_string(options_.max_batch));
  want(batch.features.size(), infer_.types.at(infer_.input).shape.elements(batch.size), "values");
  if (!trains) return;
  if (classes_ == 0) {
    want(batch.targets.size(), train_->types.at(train_->target).shape.elements(batch.size), "targets");
  } else {
    want(batch.labels.size(), batch.size * positions_, "labels");
    for (const std::int32_t label : batch.labels) {
      LANISTA_CHECK(label >= 0 && label < classes_,
                    "label " + std::to_string(label) + " of " + std::to_string(classes_) + " classes");
    }
  }
  if (compute_.draws_masks()) want(batch.sample_index.size(), batch.size, "sample numbers");
  if (!batch.weights.empty()) want(batch.weights.size(), batch.size, "weights");
}

// [lanes, batch, …] of what batches bring as floats; zeros where a lane has none.
Tensor AtenMachine::values_of(const Fed& fed, std::span<const float> nn::Batch::*member,
                              const graph::ValueType& type) const {
  std::vector<std::int64_t> sizes{fed.lanes.count};
  for (const std::int64_t dim : type.shape.dims) sizes.push_back(dim == graph::kBatch ? fed.size : dim);
  const std::vector<std::int64_t> one(sizes.begin() + 1, sizes.end());
  const auto host = [&](const nn::Batch& batch) {
    return at::from_blob(const_cast<float*>((batch.*member).data()), one, at::TensorOptions(at::kFloat));
  };
  Tensor all;
  if (fed.shared) {
    all = host(*fed.of.front()).to(real_.dtype(at::kFloat)).unsqueeze(0).expand(sizes);
  } else {
    all = at::zeros(sizes, real_.dtype(at::kFloat));
    for (std::size_t i = 0; i < fed.of.size(); ++i) {
      if (fed.of[i] != nullptr) all.select(0, static_cast<std::int64_t>(i)).copy_(host(*fed.of[i]));
    }
  }
  if (type.dtype == graph::DType::kReal) {
    // A batch's memory is the caller's: what is shared must not be it.
    return fed.shared && real_.dtype() == at::kFloat ? all.select(0, 0).clone().unsqueeze(0).expand(sizes)
                                                     : all.to(real_.dtype());
  }
  // What is no token number is a token that no vocabulary holds.
  const Tensor known = (all >= 0).logical_and(all < 0x1p31);
  return at::where(known, all, at::full_like(all, -1)).to(at::kLong);
}

Tensor AtenMachine::labels_of(const Fed& fed) const {
  const auto longs = real_.dtype(at::kLong);
  const auto host = [&](const nn::Batch& batch) {
    return at::from_blob(const_cast<std::int32_t*>(batch.labels.data()), {fed.size * positions_},
                         at::TensorOptions(at::kInt))
        .to(longs);
  };
  if (fed.shared) return host(*fed.of.front()).unsqueeze(0).expand({fed.lanes.count, fed.size * positions_});
  Tensor all = at::zeros({fed.lanes.count, fed.size * positions_}, longs);
  for (std::size_t i = 0; i < fed.of.size(); ++i) {
    if (fed.of[i] != nullptr) all.select(0, static_cast<std::int64_t>(i)).copy_(host(*fed.of[i]));
  }
  return all;
}

// `hyper` and `active` are of these lanes alone.
Frame AtenMachine::frame_of(const Fed& fed, std::span<const nn::LaneHyper> hyper,
                            std::span<const std::uint8_t> active) const {
  Frame frame{.lanes = fed.lanes.count, .batch = fed.size, .total = fed.size, .real = real_};
  std::vector<double> smoothing;
  std::vector<float> weights;
  const auto of = [&](std::size_t i) { return fed.shared ? fed.of.front() : fed.of[i]; };
  bool weighted = false;
  for (std::size_t i = 0; i < hyper.size(); ++i) {
    smoothing.push_back(hyper[i].label_smoothing);
    for (std::size_t k = 0; k < facts().lane_numbers.size(); ++k) {
      frame.host_numbers.push_back(hyper[i].numbers.empty() ? facts().lane_numbers[k].value : hyper[i].numbers[k]);
    }
    const nn::Batch* batch = of(i);
    const nn::LaneState& state = states_[static_cast<std::size_t>(fed.lanes.begin) + i];
    LaneKey key;
    if (active[i] != 0 && batch != nullptr) {
      key = {.seed = state.seed(),
             .step = static_cast<std::uint64_t>(state.step_count()),
             .active = true,
             .samples = batch->sample_index};
    }
    frame.keys.push_back(key);
    const bool own = batch != nullptr && !batch->weights.empty();
    weighted |= own;
    for (std::size_t n = 0; n < static_cast<std::size_t>(fed.size); ++n) {
      weights.push_back(own ? batch->weights[n] : 1.0F);
    }
  }
  frame.smoothing = at::tensor(smoothing, at::kDouble).to(real_.device());
  frame.numbers = at::tensor(frame.host_numbers, at::kDouble).reshape({frame.lanes, -1}).to(real_.device());
  if (weighted) frame.weights = at::tensor(weights, at::kFloat).reshape({frame.lanes, frame.batch}).to(real_);
  return frame;
}

UpdateHyper AtenMachine::hyper_of(const Lanes& lanes, std::span<const nn::LaneHyper> hyper) const {
  std::vector<std::int64_t> done;
  for (std::int64_t i = 0; i < lanes.count; ++i) done.push_back(std::max<std::int64_t>(0, step_count(lanes.begin + i)));
  return UpdateHyper(hyper, done, real_);
}

AtenMachine::Computed AtenMachine::compute(const Fed& fed, const Frame& frame,
                                           const std::function<void()>& done) const {
  Values values;
  bind_state(fed.lanes, train_->state, values);
  values[train_->input] = values_of(fed, &nn::Batch::features, train_->types.at(train_->input));
  values[train_->target] =
      classes_ > 0 ? labels_of(fed) : values_of(fed, &nn::Batch::targets, train_->types.at(train_->target));
  compute_.run(frame, values, done);

  const nn::StateLayout& layout = kind_->layout();
  Computed of{.losses = values.at(train_->loss),
              .gradients = at::zeros({frame.lanes, layout.parameters}, real_),
              .buffers = part_of(fed.lanes, 1, layout.buffers).clone()};
  for (const nn::StateItem& item : layout.items) {
    const auto& sources = item.tensor.trained ? train_->gradient : train_->renewed;
    const auto found = sources.find(item.tensor.node);
    if (found == sources.end()) continue;
    piece_of(item.tensor.trained ? of.gradients : of.buffers, item).copy_(values.at(found->second));
  }
  return of;
}

// [lanes], in double: nn::gradient_square of each.
Tensor AtenMachine::gradient_squares(const Lanes& lanes, const Tensor& gradients,
                                     std::span<const nn::LaneHyper> hyper) const {
  const nn::StateLayout& layout = kind_->layout();
  const std::int64_t slot = nn::second_moment_of(layout);
  Tensor divided = gradients.to(at::kDouble);
  if (slot >= 0) {
    std::vector<double> correction, eps;
    std::vector<std::uint8_t> divides;
    for (std::int64_t i = 0; i < lanes.count; ++i) {
      const nn::LaneHyper& h = hyper[static_cast<std::size_t>(i)];
      const std::int64_t done = std::max<std::int64_t>(0, step_count(lanes.begin + i));
      divides.push_back(done < nn::kFirstMoments ? 0 : 1);
      correction.push_back(nn::moment_correction(h.beta2, done));
      eps.push_back(h.eps);
    }
    const auto column = [&](const std::vector<double>& values) {
      return at::tensor(values, at::kDouble).to(real_.device()).unsqueeze(1);
    };
    const Tensor moments = part_of(lanes, 2 + static_cast<std::size_t>(slot), layout.parameters).to(at::kDouble);
    const Tensor by = at::sqrt(moments) * column(correction) + column(eps);
    divided = at::where(mask_of(divides).unsqueeze(1), divided / by, divided);
  }
  return row_sum(divided * divided).squeeze(1);
}

double AtenMachine::gradient_square(std::int64_t lane, const nn::LaneGradients& gradients,
                                    const nn::LaneHyper& hyper) const {
  const c10::InferenceMode no_gradients;
  const auto values = kind_->is_double() ? static_cast<void*>(gradients.gradients<double>())
                                         : static_cast<void*>(gradients.gradients<float>());
  const Tensor host = at::from_blob(values, {1, kind_->layout().parameters}, real_.device(at::kCPU));
  return gradient_squares({lane, 1}, host.to(real_.device()), {&hyper, 1}).cpu().data_ptr<double>()[0];
}

// [lanes] of truth values.
Tensor AtenMachine::mask_of(std::span<const std::uint8_t> active) const {
  return at::tensor(std::vector<std::int64_t>(active.begin(), active.end()), at::kLong).to(real_.device()) != 0;
}

// Everything is computed before anything is written; what is written is selected, so that no lane meets another's.
void AtenMachine::commit_lanes(const Lanes& lanes, const Computed& of, const UpdateHyper& hyper,
                               std::span<const std::uint8_t> active) {
  const nn::StateLayout& layout = kind_->layout();
  const Tensor mask = mask_of(active).unsqueeze(1);
  std::vector<std::pair<Tensor, Tensor>> writes;
  const auto write = [&](const Tensor& to, const Tensor& value) {
    writes.emplace_back(to, at::where(mask, value, to));
  };
  const Tensor scale = clip_scale(hyper, of.gradients);
  for (const nn::Range& run : hyper.pieces(layout.trained)) {
    const auto piece = [&](const Tensor& flat) { return flat.narrow(1, run.begin, run.count); };
    const Tensor parameters = piece(part_of(lanes, 0, layout.parameters));
    std::vector<Tensor> slots;
    for (std::size_t k = 0; k < layout.slots.size(); ++k)
      slots.push_back(piece(part_of(lanes, 2 + k, layout.parameters)));
    const Updated updated = update_(hyper.at(run.begin), piece(of.gradients) * scale, parameters, slots);
    write(parameters, updated.parameters);
    for (std::size_t k = 0; k < slots.size(); ++k) write(slots[k], updated.slots[k]);
  }
  for (const nn::Range& run : layout.renewed) {
    write(part_of(lanes, 1, layout.buffers).narrow(1, run.begin, run.count),
          of.buffers.narrow(1, run.begin, run.count));
  }
  for (auto& [to, value] : writes) to.copy_(value);
  for (std::int64_t i = 0; i < lanes.count; ++i) {
    if (active[static_cast<std::size_t>(i)] != 0) state_of(lanes.begin + i).count_step();
  }
}

void AtenMachine::run(const nn::Chunk& chunk, std::span<nn::LaneEnd> ends) {
  const c10::InferenceMode no_gradients;
  LANISTA_CHECK(chunk.peers == nullptr, "steps on a device are not shared");
  const auto doubles = at::TensorOptions(at::kDouble).device(real_.device());
  *pending_ = {.ends = ends,
               .active = {chunk.active.begin(), chunk.active.end()},
               .steps = chunk.steps,
               .loss_sum = at::zeros({options_.lanes}, doubles),
               .loss = at::zeros({options_.lanes}, doubles),
               .bad_step = at::full({options_.lanes}, -1, doubles.dtype(at::kLong)),
               .square = std::ranges::count(chunk.watched, std::uint8_t{0}) == std::ssize(chunk.watched)
                             ? Tensor()
                             : at::zeros({options_.lanes}, doubles)};
  for (std::size_t i = 0; i < ends.size(); ++i) {
    if (chunk.active[i] != 0) ends[i] = {.loss_sum = ends[i].loss_sum, .failure = {}};
  }
  for (std::int64_t step = 0; step < chunk.steps; ++step) train_step(chunk.work(step), step);
}

// Lanes whose batches have different sizes take turns, the others masked.
void AtenMachine::train_step(const nn::StepWork& work, std::int64_t step) {
  const auto lanes = static_cast<std::size_t>(options_.lanes);
  LANISTA_CHECK(work.hyper.size() == lanes && (work.batches.size() == 1 || work.batches.size() == lanes),
                "a step wants hyper-parameters for every lane, and one batch or one a lane");
  for (const nn::LaneHyper& each : work.hyper) check_hyper(each);
  const bool shared = work.batches.size() == 1;
  if (shared) check_batch(work.batches[0], true);
  std::map<std::int64_t, std::vector<std::uint8_t>> groups;
  for (std::size_t i = 0; i < lanes; ++i) {
    if (pending_->active[i] == 0) continue;
    try {
      LANISTA_CHECK(static_cast<bool>(states_[i]), "lane " + std::to_string(i) + " is empty");
      if (!shared) check_batch(work.batches[i], true);
      auto& group = groups.try_emplace(work.batches[shared ? 0 : i].size, lanes).first->second;
      group[i] = 1;
    } catch (...) {
      pending_->ends[i].failure = std::current_exception();
      pending_->active[i] = 0;
    }
  }
  for (auto& [size, group] : groups) {
    const auto first = std::ranges::find(group, 1) - group.begin();
    const auto last = std::ranges::find(group.rbegin(), group.rend(), 1).base() - group.begin();
    Fed fed{.lanes = {first, last - first}, .size = size, .of = {}, .shared = shared};
    for (auto i = first; i < (shared ? first + 1 : last); ++i) {
      const auto at = static_cast<std::size_t>(i);
      fed.of.push_back(shared ? &work.batches[0] : group[at] != 0 ? &work.batches[at] : nullptr);
    }
    train_group(fed, work, {group.begin() + first, group.begin() + last}, step);
  }
}

void AtenMachine::train_group(const Fed& fed, const nn::StepWork& work, std::vector<std::uint8_t> active,
                              std::int64_t step) {
  const auto begin = static_cast<std::size_t>(fed.lanes.begin), count = static_cast<std::size_t>(fed.lanes.count);
  const auto fail = [&](std::size_t i) {
    pending_->ends[begin + i].failure = std::current_exception();
    pending_->active[begin + i] = active[i] = 0;
  };
  try {
    const auto hyper = work.hyper.subspan(begin, count);
    const Computed of = compute(fed, frame_of(fed, hyper, active));
    for (std::size_t i = 0; i < count && options_.before_commit; ++i) {
      if (active[i] == 0) continue;
      try {
        options_.before_commit(static_cast<std::int64_t>(begin + i));
      } catch (...) {
        fail(i);
      }
    }
    const Tensor mask = mask_of(active);
    const auto own = [&](Tensor& all) { return all.narrow(0, fed.lanes.begin, fed.lanes.count); };
    const Tensor sum = own(pending_->loss_sum), last = own(pending_->loss), bad = own(pending_->bad_step);
    const Tensor loss = row_sum(of.losses.to(at::kDouble)).squeeze(1) / static_cast<double>(fed.size);
    const Tensor worse = mask.logical_and(at::isfinite(loss).logical_not()).logical_and(bad < 0);
    const Tensor new_sum = at::where(mask, sum + loss * static_cast<double>(fed.size), sum);
    const Tensor new_last = at::where(mask, loss, last), new_bad = at::where(worse, at::full_like(bad, step), bad);
    Tensor square, new_square;
    if (pending_->square.defined()) {
      square = own(pending_->square);
      new_square = at::where(mask, gradient_squares(fed.lanes, of.gradients, hyper), square);
    }
    commit_lanes(fed.lanes, of, hyper_of(fed.lanes, hyper), active);  // the last that may fail
    sum.copy_(new_sum);
    last.copy_(new_last);
    bad.copy_(new_bad);
    if (square.defined()) square.copy_(new_square);
    for (std::size_t i = 0; i < count; ++i) pending_->ends[begin + i].steps += active[i];
  } catch (...) {
    // A device fails whole: all of these lanes are as they were after their last step.
    for (std::size_t i = 0; i < count; ++i) {
      if (active[i] != 0) fail(i);
    }
  }
}

// The only place where a chunk's numbers come to the host.
void AtenMachine::wait() {
  const c10::InferenceMode no_gradients;
  if (pending_->ends.empty()) return;
  const Tensor sum = pending_->loss_sum.cpu(), last = pending_->loss.cpu(), bad = pending_->bad_step.cpu();
  const Tensor square = pending_->square.defined() ? pending_->square.cpu() : Tensor();
  for (std::size_t i = 0; i < pending_->ends.size(); ++i) {
    nn::LaneEnd& end = pending_->ends[i];
    if (end.steps == 0) continue;
    end.loss_sum += sum.data_ptr<double>()[i];
    end.loss = last.data_ptr<double>()[i];
    end.bad_step = bad.data_ptr<std::int64_t>()[i];
    if (square.defined()) end.gradient_square = square.data_ptr<double>()[i];
  }
  *pending_ = {};
}

double AtenMachine::gradients(std::int64_t lane, const nn::Batch& batch, std::int64_t total, const nn::LaneHyper& hyper,
                              nn::LaneGradients& out, bool add) {
  const c10::InferenceMode no_gradients;
  check_hyper(hyper);
  check_batch(batch, true);
  LANISTA_CHECK(total >= batch.size,
                "a batch of " + std::to_string(batch.size) + " samples in a step of " + std::to_string(total));
  const Fed fed{.lanes = {lane, 1}, .size = batch.size, .of = {&batch}, .shared = true};
  const std::uint8_t active = 1;
  Frame frame = frame_of(fed, {&hyper, 1}, {&active, 1});
  frame.total = total;
  const Computed of = compute(fed, frame);
  const auto deliver = [&](void* to, const Tensor& from, bool adds) {
    Tensor host = at::from_blob(to, {from.size(1)}, real_.device(at::kCPU));
    adds ? host.add_(from.squeeze(0).cpu()) : host.copy_(from.squeeze(0));
  };
  const bool wide = kind_->is_double();
  deliver(wide ? static_cast<void*>(out.gradients<double>()) : out.gradients<float>(), of.gradients, add);
  deliver(wide ? static_cast<void*>(out.new_buffers<double>()) : out.new_buffers<float>(), of.buffers, false);
  return row_sum(of.losses.to(at::kDouble)).item<double>();
}

void AtenMachine::commit(std::int64_t lane, const nn::LaneGradients& gradients, const nn::LaneHyper& hyper) {
  const c10::InferenceMode no_gradients;
  const auto host = [&](void* from, std::int64_t elements) {
    return at::from_blob(from, {1, elements}, real_.device(at::kCPU)).to(real_);
  };
  const bool wide = kind_->is_double();
  const nn::StateLayout& layout = kind_->layout();
  const Computed of{
      .losses = {},
      .gradients = host(wide ? static_cast<void*>(gradients.gradients<double>()) : gradients.gradients<float>(),
                        layout.parameters),
      .buffers = host(wide ? static_cast<void*>(gradients.new_buffers<double>()) : gradients.new_buffers<float>(),
                      layout.buffers)};
  const std::uint8_t active = 1;
  commit_lanes({lane, 1}, of, hyper_of({lane, 1}, {&hyper, 1}), {&active, 1});
}

void AtenMachine::renew_buffers(std::int64_t lane, const nn::LaneGradients& from) {
  const c10::InferenceMode no_gradients;
  const nn::StateLayout& layout = kind_->layout();
  void* const values = kind_->is_double() ? static_cast<void*>(from.new_buffers<double>()) : from.new_buffers<float>();
  const Tensor all = at::from_blob(values, {1, layout.buffers}, real_.device(at::kCPU));
  for (const nn::Range& run : layout.renewed) {
    part_of({lane, 1}, 1, layout.buffers).narrow(1, run.begin, run.count).copy_(all.narrow(1, run.begin, run.count));
  }
}

void AtenMachine::rehearse(const nn::Batch& batch, const nn::LaneHyper& hyper, const std::function<void()>& done) {
  const c10::InferenceMode no_gradients;
  check_batch(batch, true);
  const Fed fed{.lanes = {0, 1}, .size = batch.size, .of = {&batch}, .shared = true};
  const std::uint8_t active = 1;
  const Frame frame = frame_of(fed, {&hyper, 1}, {&active, 1});
  const Computed of = compute(fed, frame, done);
  commit_lanes(fed.lanes, of, hyper_of(fed.lanes, {&hyper, 1}), {&active, 1});
  done();
  Values values;
  bind_state(fed.lanes, infer_.state, values);
  values[infer_.input] = values_of(fed, &nn::Batch::features, infer_.types.at(infer_.input));
  predict_.run(frame, values, done);
}

}  // namespace lanista::device

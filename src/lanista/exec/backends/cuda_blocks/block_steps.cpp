// Chunks of steps: the upload of batches, and the collection of results.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include "lanista/base/check.h"
#include "lanista/exec/backends/cuda_blocks/block_executable.h"

namespace lanista::device {
namespace {

constexpr std::int64_t kAlign = 16;

std::int64_t aligned(std::int64_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

// An invalid token number becomes a token that no vocabulary contains.
std::int32_t token_of(float number) { return number >= 0 && number < 0x1p31F ? static_cast<std::int32_t>(number) : -1; }

double whole_power(double base, std::int64_t exponent) {
  double result = 1;
  for (; exponent > 0; exponent >>= 1, base *= base) {
    if ((exponent & 1) != 0) result *= base;
  }
  return result;
}

// Hyper-parameters of an update, converted from double once, as the CPU kernels do.
void set_update(const program::LaneHyper& h, std::int64_t done, block::Step& to) {
  const auto narrow = [](double x) { return static_cast<float>(x); };
  to.done = static_cast<std::uint64_t>(done);
  to.smoothing = h.label_smoothing;
  to.clip_norm = h.clip_norm;
  to.decay = narrow(h.weight_decay);
  to.momentum = narrow(h.momentum);
  to.beta1 = narrow(h.beta1);
  to.one_minus_beta1 = narrow(1.0 - h.beta1);
  to.beta2 = narrow(h.beta2);
  to.one_minus_beta2 = narrow(1.0 - h.beta2);
  to.eps = narrow(h.eps);
  to.root = narrow(std::sqrt(1.0 - whole_power(h.beta2, done + 1)));
  to.has_weight_decay = h.weight_decay != 0 ? 1 : 0;
  to.has_momentum = h.momentum != 0 ? 1 : 0;
  to.nesterov = h.nesterov ? 1 : 0;
  to.first = done == 0 ? 1 : 0;
}

// Returns true if an update has equal hyper-parameters. Spans must be empty, because their contents may have changed.
bool same_numbers(const program::LaneHyper& a, const program::LaneHyper& b) {
  const auto plain = [](const program::LaneHyper& h) { return h.lane_attrs.empty() && h.lr_ranges.empty(); };
  return plain(a) && plain(b) && a.lr == b.lr && a.momentum == b.momentum && a.weight_decay == b.weight_decay &&
         a.beta1 == b.beta1 && a.beta2 == b.beta2 && a.eps == b.eps && a.clip_norm == b.clip_norm &&
         a.label_smoothing == b.label_smoothing && a.nesterov == b.nesterov;
}

// Sets the pointers of a step to an uploaded batch.
void set_batch(const auto& uploaded, block::Step& to) {
  to.input = uploaded.input;
  to.target = uploaded.target;
  to.samples = uploaded.samples;
  to.weights = uploaded.weights;
  to.batch = uploaded.size;
}

}  // namespace

// Reserves staging memory and sets `on_device` to its address on the device.
template <class T>
T* BlockExecutable::put(std::int64_t count, const T*& on_device) {
  const std::int64_t bytes = aligned(count * static_cast<std::int64_t>(sizeof(T)));
  LANISTA_CHECK(num_staged_bytes_ + bytes <= staging_.bytes(), "a step needs more bytes than planned");
  on_device = reinterpret_cast<const T*>(device_staging_.at(num_staged_bytes_));
  T* const here = reinterpret_cast<T*>(staging_.at(num_staged_bytes_));
  num_staged_bytes_ += bytes;
  return here;
}

void BlockExecutable::check_batch(const program::Batch& batch) const {
  const auto want = [&](std::size_t got, std::int64_t wanted, const char* what) {
    LANISTA_CHECK(static_cast<std::int64_t>(got) == wanted, "a batch of " + std::to_string(batch.size) +
                                                                " samples brings " + std::to_string(got) + " " + what +
                                                                " instead of " + std::to_string(wanted));
  };
  LANISTA_CHECK(batch.size >= 1 && batch.size <= options_.max_batch, "a batch of " + std::to_string(batch.size) +
                                                                         " samples for a program of at most " +
                                                                         std::to_string(options_.max_batch));
  want(batch.features.size(), batch.size * sample_values_, "values");
  if (classes_ > 0) {
    want(batch.labels.size(), batch.size * positions_, "labels");
    for (const std::int32_t label : batch.labels) {
      LANISTA_CHECK(label >= 0 && label < classes_,
                    "label " + std::to_string(label) + " of " + std::to_string(classes_) + " classes");
    }
  } else {
    want(batch.targets.size(), batch.size * target_values_, "targets");
  }
  if (program_.has_random_masks) want(batch.sample_index.size(), batch.size, "sample indices for dropout");
  if (!batch.weights.empty()) want(batch.weights.size(), batch.size, "weights");
}

const void* BlockExecutable::put_features(const program::Batch& batch) {
  if (tokens_) {
    const std::int32_t* on_device = nullptr;
    std::ranges::transform(batch.features, put(std::ssize(batch.features), on_device), token_of);
    return on_device;
  }
  const float* on_device = nullptr;
  float* const to = put(std::ssize(batch.features), on_device);
  if (input_.is_identity()) {
    std::ranges::copy(batch.features, to);
  } else {
    input_.convert(batch.size, batch.features.data(), to);
  }
  return on_device;
}

const void* BlockExecutable::put_target(const program::Batch& batch) {
  if (classes_ > 0) {
    const std::int32_t* on_device = nullptr;
    std::ranges::copy(batch.labels, put(std::ssize(batch.labels), on_device));
    return on_device;
  }
  const float* on_device = nullptr;
  target_.convert(batch.size, batch.targets.data(), put(std::ssize(batch.targets), on_device));
  return on_device;
}

BlockExecutable::UploadedBatch BlockExecutable::put_batch(const program::Batch& batch) {
  UploadedBatch uploaded;
  uploaded.input = put_features(batch);
  uploaded.target = put_target(batch);
  uploaded.size = static_cast<int>(batch.size);
  if (program_.has_random_masks)
    std::ranges::copy(batch.sample_index, put(std::ssize(batch.sample_index), uploaded.samples));
  if (!batch.weights.empty()) std::ranges::copy(batch.weights, put(std::ssize(batch.weights), uploaded.weights));
  return uploaded;
}

block::Step BlockExecutable::put_step(const UploadedBatch& uploaded, const program::LaneHyper& hyper,
                                      std::int64_t done) {
  block::Step step{};
  set_batch(uploaded, step);
  set_update(hyper, done, step);
  const std::vector<program::LaneAttr>& lane_attrs = properties().lane_attrs;
  LANISTA_CHECK(
      hyper.lane_attrs.empty() || hyper.lane_attrs.size() == lane_attrs.size(),
      std::to_string(hyper.lane_attrs.size()) + " lane attributes instead of " + std::to_string(lane_attrs.size()));
  if (!lane_attrs.empty()) {
    double* const to = put(std::ssize(lane_attrs), step.lane_attrs);
    for (std::size_t i = 0; i < lane_attrs.size(); ++i)
      to[i] = hyper.lane_attrs.empty() ? lane_attrs[i].value : hyper.lane_attrs[i];
  }
  std::vector<block::LrRange> lr_ranges;
  for (const program::Range& run : state_format_->layout().trained) {
    program::for_each_lr_range(
        hyper.lr_ranges, run.begin, run.count, [&](std::int64_t begin, std::int64_t count, double factor) {
          const double lr = hyper.lr * factor;
          const double correction = corrects_rate_ ? 1.0 - whole_power(hyper.beta1, done + 1) : 1.0;
          lr_ranges.push_back({.begin = static_cast<int>(begin),
                               .count = static_cast<int>(count),
                               .rate = static_cast<float>(-lr / correction),
                               .shrink = static_cast<float>(1.0 - lr * hyper.weight_decay)});
        });
  }
  step.num_lr_ranges = static_cast<int>(lr_ranges.size());
  std::ranges::copy(lr_ranges, put(std::ssize(lr_ranges), step.lr_ranges));
  return step;
}

void BlockExecutable::begin(const program::Chunk& chunk, std::span<program::LaneResult> ends) {
  LANISTA_CHECK(chunk.communicator == nullptr, "steps on a device are not shared");
  chunk_ = chunk;
  ends_ = ends;
  active_.assign(chunk.active.begin(), chunk.active.end());
  next_step_ = 0;
  for (std::size_t i = 0; i < ends.size(); ++i) {
    if (active_[i] != 0) ends[i] = {.loss_sum = ends[i].loss_sum, .failure = {}};
  }
}

// Allocates staging memory for the rest of the chunk, or for as many steps as the limit allows; at least two steps.
void BlockExecutable::allocate_staging(std::int64_t lanes, std::int64_t most) {
  const std::int64_t step = std::max<std::int64_t>(lanes, 1) * staging_bytes_per_lane_,
                     left = chunk_.steps - next_step_;
  const std::int64_t wanted = std::max(step * 2, std::min(step * (left + 1), most));
  if (wanted <= staging_.bytes()) return;
  staging_ = {};
  device_staging_ = {};
  staging_ = BlockMemory(*device_, MemoryKind::kStaging, wanted);
  device_staging_ = BlockMemory(*device_, MemoryKind::kDevice, wanted);
}

void BlockExecutable::open_round(std::int64_t executables) {
  rounds_.clear();
  num_staged_bytes_ = max_step_bytes_ = 0;
  first_step_ = next_step_;
  rounds_.reserve(lane_slots_.size());
  for (std::size_t i = 0; i < lane_slots_.size(); ++i) {
    if (active_[i] != 0) rounds_.push_back({.lane = i, .steps = {}, .hyper = {}, .first = next_step_});
  }
  allocate_staging(std::ssize(rounds_), max_staging_bytes_ / executables);
}

// One more step must fit if it is as large as the largest so far, with its record and loss.
bool BlockExecutable::has_staging_space() const {
  const std::int64_t records = std::ssize(rounds_) * (next_step_ - first_step_ + 1) *
                               static_cast<std::int64_t>(sizeof(block::Step) + sizeof(float) + kAlign);
  return next_step_ == first_step_ || num_staged_bytes_ + max_step_bytes_ + records + 4096 <= staging_.bytes();
}

// Returns true if a batch has the same bytes for both executables.
bool BlockExecutable::has_same_batch_layout(const BlockExecutable& other) const {
  const auto same = [](const program::Reorder& a, const program::Reorder& b) {
    return std::ranges::equal(a.sizes(), b.sizes()) && std::ranges::equal(a.strides(), b.strides());
  };
  return tokens_ == other.tokens_ && sample_values_ == other.sample_values_ && same(input_, other.input_) &&
         classes_ == other.classes_ && target_values_ == other.target_values_ && same(target_, other.target_) &&
         program_.has_random_masks == other.program_.has_random_masks;
}

// Uploads a batch, unless another executable has done so for this step.
BlockExecutable::UploadedBatch BlockExecutable::upload_batch(const program::Batch& batch,
                                                             std::vector<SharedUpload>* shared_uploads) {
  const auto same = [](auto a, auto b) { return a.data() == b.data() && a.size() == b.size(); };
  const auto is_it = [&](const SharedUpload& each) {
    const program::Batch& other = each.batch;
    return batch.size == other.size && same(batch.features, other.features) && same(batch.labels, other.labels) &&
           same(batch.targets, other.targets) && same(batch.sample_index, other.sample_index) &&
           same(batch.weights, other.weights) && has_same_batch_layout(*each.uploader);
  };
  check_batch(batch);
  if (shared_uploads != nullptr) {
    if (const auto found = std::ranges::find_if(*shared_uploads, is_it); found != shared_uploads->end())
      return found->uploaded;
  }
  const UploadedBatch uploaded = put_batch(batch);
  if (shared_uploads != nullptr) shared_uploads->push_back({batch, this, uploaded});
  return uploaded;
}

void BlockExecutable::append_step(std::vector<SharedUpload>* shared_uploads) {
  const std::int64_t before = num_staged_bytes_;
  const program::StepInput work = chunk_.step_input(next_step_);
  LANISTA_CHECK(work.hyper.size() == lane_slots_.size() &&
                    (work.batches.size() == 1 || work.batches.size() == lane_slots_.size()),
                "a step needs hyper-parameters for every lane, and one batch or one batch per lane");
  UploadedBatch uploaded;
  const bool shared = work.batches.size() == 1;
  for (Round& round : rounds_) {
    const std::size_t i = round.lane;
    if (active_[i] == 0) continue;
    try {
      LANISTA_CHECK(static_cast<bool>(lane_slots_[i].state), "lane " + std::to_string(i) + " is empty");
      if (!shared || uploaded.input == nullptr) uploaded = upload_batch(work.batches[shared ? 0 : i], shared_uploads);
      const program::LaneHyper& hyper = work.hyper[i];
      // The hyper-parameters of a lane seldom change between steps. Then the record in the staging memory is used
      // again.
      if (!round.steps.empty() && !corrects_rate_ && same_numbers(round.hyper, hyper)) {
        block::Step& step = round.steps.emplace_back(round.steps.back());
        set_batch(uploaded, step);
        ++step.done;
        step.first = 0;
      } else {
        const std::int64_t done = lane_slots_[i].state.step_count() + std::ssize(round.steps);
        round.steps.push_back(put_step(uploaded, hyper, done));
        round.hyper = hyper;
      }
    } catch (...) {
      ends_[i].failure = std::current_exception();
      active_[i] = 0;
    }
  }
  max_step_bytes_ = std::max(max_step_bytes_, num_staged_bytes_ - before);
  ++next_step_;
}

// Uploads the staged steps, so that their lanes are ready. A launch writes losses where the host reads them.
void BlockExecutable::close_round(std::vector<block::Lane>& lanes) {
  const std::size_t begin = lanes.size();
  for (const Round& round : rounds_) {
    if (round.steps.empty()) continue;
    block::Lane lane{};
    lane.slab = reinterpret_cast<float*>(slab(static_cast<std::int64_t>(round.lane)));
    lane.calls = reinterpret_cast<const block::Call*>(calls_.at());
    lane.call_count = static_cast<int>(program_.calls.size());
    lane.step_count = static_cast<int>(round.steps.size());
    lane.flops = program_.flops;
    lane.seed = lane_slots_[round.lane].state.seed();
    if (lanes.empty()) lane.call_cycles = reinterpret_cast<block::u64*>(call_cycles_.at());
    std::ranges::copy(round.steps, put(std::ssize(round.steps), lane.steps));
    lanes.push_back(lane);
  }
  ++num_rounds_;
  const std::int64_t num_upload_bytes = num_staged_bytes_;
  std::size_t next = begin;
  for (Round& round : rounds_) {
    if (round.steps.empty()) continue;
    const float* unused = nullptr;
    lanes[next].losses = put(std::ssize(round.steps), unused);
    round.losses = lanes[next++].losses;
  }
  device_->copy(device_staging_.at(), staging_.at(), num_upload_bytes);
}

// Steps are counted when their launch is done.
void BlockExecutable::collect_results() {
  for (const Round& round : rounds_) {
    if (round.steps.empty()) continue;
    LaneSlot& at = lane_slots_[round.lane];
    program::LaneResult& end = ends_[round.lane];
    for (std::size_t s = 0; s < round.steps.size(); ++s) {
      end.loss = static_cast<double>(round.losses[s]);
      end.loss_sum += end.loss * static_cast<double>(round.steps[s].batch);
      if (!std::isfinite(end.loss) && end.first_nonfinite_step < 0)
        end.first_nonfinite_step = round.first + static_cast<std::int64_t>(s);
      ++end.steps;
    }
    at.state.set_step_count(at.state.step_count() + std::ssize(round.steps));
    at.is_device_newer = true;
  }
  rounds_.clear();
  if (has_steps()) return;
  staging_ = {};  // returns the memory to the pool
  device_staging_ = {};
}

// If the device fails or memory ends, no lane advances: all lanes keep the state after their last round.
void BlockExecutable::fail(const std::exception_ptr& why) {
  for (std::size_t i = 0; i < ends_.size(); ++i) {
    if (active_[i] != 0) ends_[i].failure = why;
  }
  try {
    device_->wait();  // uploads may still read the staging memory
  } catch (const std::exception&) {
  }
  std::ranges::fill(active_, std::uint8_t{0});
  rounds_.clear();
  next_step_ = chunk_.steps;
}

void BlockExecutable::run(const program::Chunk& chunk, std::span<program::LaneResult> ends) {
  begin(chunk, ends);
  const bool needs_gradient_norm =
      std::ranges::find(chunk.needs_gradient_norm, std::uint8_t{1}) != chunk.needs_gradient_norm.end();
  if (needs_gradient_norm || options_.before_commit) {
    next_step_ = chunk.steps;
    run_on_cpu(chunk, ends);
    return;
  }
  std::vector<block::Lane> lanes;
  while (has_steps()) {
    try {
      open_round(1);
      while (has_steps() && has_staging_space()) append_step(nullptr);
      lanes.clear();
      close_round(lanes);
      if (!lanes.empty()) device_->launch_batcher().run(*device_, lanes, this);
    } catch (...) {
      fail(std::current_exception());
      return;
    }
    if (has_steps()) collect_results();  // wait() collects the last round
  }
}

void BlockExecutable::wait() {
  if (!rounds_.empty()) collect_results();
}

}  // namespace lanista::device

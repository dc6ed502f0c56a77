#include "lanista/exec/train/selection.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "lanista/base/check.h"

namespace lanista::train {
namespace {

constexpr std::string_view kPrefix = "select:";
constexpr const char* kCounts = "select:counts";
constexpr const char* kQueue = "select:queue";
constexpr std::size_t kNumCounts = 5;

Tensor numbers(const char* name, std::span<const std::int64_t> values) {
  Tensor out{name, ElementType::kI64, {std::ssize(values)}, std::vector<std::byte>(values.size_bytes())};
  std::ranges::copy(values, elements_of<std::int64_t>(out).begin());
  return out;
}

Result<std::vector<std::int64_t>> read_numbers(std::span<const Tensor> saved, const char* name) {
  const auto found = std::ranges::find(saved, name, &Tensor::name);
  if (found == saved.end() || found->type != ElementType::kI64) {
    return Error{Code::kDataLoss, std::string("checkpoint lacks '") + name + "'", ""};
  }
  const auto values = elements_of<std::int64_t>(*found);
  return std::vector<std::int64_t>(values.begin(), values.end());
}

}  // namespace

Result<Selection> Selection::make(const study::Recipe& recipe, const data::SelectorContext& facts,
                                  std::span<const data::SelectorPlugin> selectors) {
  Selection out;
  if (recipe.select.name.empty()) return out;
  out.config_ = std::make_shared<const study::PluginConfig>(recipe.select);
  out.selectors_ = selectors;
  out.context_ = facts;
  LANISTA_ASSIGN(out.selector_, data::make_selector(*out.config_, out.context_, out.selectors_));
  LANISTA_ASSIGN(const Options options, data::resolve_selection_options(*out.config_, out.selectors_));
  const auto epochs = static_cast<double>(recipe.epochs);
  out.batch_size_ = recipe.batch;
  out.first_epoch_ = std::max(options.at("warmup_epochs").get<std::int64_t>(),
                              static_cast<std::int64_t>(std::ceil(options.at("from").get<double>() * epochs)));
  out.end_epoch_ = static_cast<std::int64_t>(std::ceil(options.at("until").get<double>() * epochs));
  out.full_batch_period_ = options.at("interrupt").get<std::int64_t>();
  out.max_wait_ = options.at("max_wait").get<std::int64_t>();
  out.recalibration_ = options.at("recalibrate").get<std::int64_t>();
  out.counts_trained_ = options.at("clock").get<std::string>() == "trained";
  return out;
}

Selection::Selection(const Selection& other)
    : config_(other.config_),
      selectors_(other.selectors_),
      context_(other.context_),
      batch_size_(other.batch_size_),
      first_epoch_(other.first_epoch_),
      end_epoch_(other.end_epoch_),
      full_batch_period_(other.full_batch_period_),
      max_wait_(other.max_wait_),
      recalibration_(other.recalibration_),
      counts_trained_(other.counts_trained_) {
  if (!other) return;
  auto made = data::make_selector(*config_, context_, selectors_);
  LANISTA_CHECK(made.ok(), "a selector that was made can be made again");
  selector_ = *std::move(made);
  const Result<void> recalled = restore(other.save());
  LANISTA_CHECK(recalled.ok(), "a selector accepts its own state");
}

Selection& Selection::operator=(const Selection& other) {
  Selection copy(other);
  *this = std::move(copy);
  return *this;
}

bool Selection::selects_at(const DataPosition& position) const {
  if (full_batch_period_ > 0 && position.step % full_batch_period_ == full_batch_period_ - 1) return false;
  return position.epoch >= first_epoch_ && position.epoch < end_epoch_;
}

std::vector<std::size_t> Selection::requested_positions(const DataPosition& position,
                                                        std::span<const std::int64_t> rows) const {
  if (position.step == last_added_step_ || !selects_at(position)) return {};
  return selector_->requested_positions({position.pass, rows});
}

void Selection::add_batch(const DataPosition& position, std::span<const std::int64_t> rows,
                          std::span<const double> losses) {
  if (position.step == last_added_step_) return;
  num_losses_computed_ += std::ssize(losses);
  std::vector<bool> chosen(rows.size(), true);
  if (selects_at(position)) {
    chosen.assign(rows.size(), false);
    for (const std::size_t i : selector_->choose({position.pass, rows}, losses)) chosen[i] = true;
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (chosen[i]) queue_.push_back(rows[i]);
  }
  const auto size = static_cast<std::size_t>(batch_size_);
  if (++batches_since_update_ >= max_wait_) {
    for (std::size_t i = 0; i < rows.size() && queue_.size() < size; ++i) {
      if (!chosen[i]) queue_.push_back(rows[i]);
    }
  }
  num_ready_rows_ = queue_.size() >= size ? size : position.ends_pass ? queue_.size() : 0;
  last_added_step_ = position.step;
}

void Selection::step_done() {
  if (num_ready_rows_ == 0) return;
  queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(num_ready_rows_));
  num_trained_rows_ += static_cast<std::int64_t>(num_ready_rows_);
  ++num_trained_batches_;
  batches_since_update_ = 0;
  num_ready_rows_ = 0;
}

bool Selection::is_selection_tensor(const Tensor& tensor) { return tensor.name.starts_with(kPrefix); }

std::vector<Tensor> Selection::save() const {
  if (selector_ == nullptr) return {};
  const std::array<std::int64_t, kNumCounts> counts{last_added_step_, static_cast<std::int64_t>(num_ready_rows_),
                                                    batches_since_update_, num_trained_rows_, num_trained_batches_};
  std::vector<Tensor> out{numbers(kCounts, counts), numbers(kQueue, queue_)};
  for (Tensor& tensor : selector_->saved_state()) {
    tensor.name.insert(0, kPrefix);
    out.push_back(std::move(tensor));
  }
  return out;
}

Result<void> Selection::restore(std::span<const Tensor> saved) {
  if (selector_ == nullptr) {
    if (saved.empty()) return {};
    return Error{Code::kDataLoss, "checkpoint is of a trial that selects examples ('" + saved[0].name + "')", ""};
  }
  LANISTA_ASSIGN(const auto counts, read_numbers(saved, kCounts));
  LANISTA_ASSIGN(auto queue, read_numbers(saved, kQueue));
  const auto waiting = std::ssize(queue);
  const auto outside = [&](std::int64_t row) { return row < 0 || row >= context_.rows; };
  if (counts.size() != kNumCounts || counts[1] < 0 || counts[1] > waiting || counts[2] < 0 || counts[3] < 0 ||
      counts[4] < 0 || std::ranges::any_of(queue, outside)) {
    return Error{Code::kDataLoss, "checkpoint's 'select:counts' or 'select:queue' do not fit these data", ""};
  }
  std::vector<Tensor> memory;
  for (const Tensor& tensor : saved) {
    if (tensor.name == kCounts || tensor.name == kQueue) continue;
    memory.push_back(tensor);
    memory.back().name.erase(0, kPrefix.size());
  }
  LANISTA_TRY(selector_->restore_state(memory));
  queue_ = std::move(queue);
  last_added_step_ = counts[0];
  num_ready_rows_ = static_cast<std::size_t>(counts[1]);
  batches_since_update_ = counts[2];
  num_trained_rows_ = counts[3];
  num_trained_batches_ = counts[4];
  return {};
}

}  // namespace lanista::train

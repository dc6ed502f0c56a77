#include "lanista/exec/train/selection.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "lanista/base/check.h"
#include "lanista/io/data/select_guard.h"

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

Result<Selection> Selection::make(const study::Recipe& recipe, std::uint64_t seed, const data::Dataset& data) {
  return make(recipe, {.seed = seed, .rows = data.spec().rows, .holdout = data.holdout()});
}

Result<Selection> Selection::make(const study::Recipe& recipe, const data::SelectorFacts& facts) {
  Selection out;
  if (recipe.select.name.empty()) return out;
  out.config_ = std::make_shared<const study::PluginConfig>(recipe.select);
  out.facts_ = facts;
  LANISTA_ASSIGN(out.selector_, data::make_selector(*out.config_, out.facts_));
  LANISTA_ASSIGN(const Options options, data::selection_settings(*out.config_));
  const auto epochs = static_cast<double>(recipe.epochs);
  out.size_ = recipe.batch;
  out.first_epoch_ = std::max(options.at("warmup_epochs").get<std::int64_t>(),
                              static_cast<std::int64_t>(std::ceil(options.at("from").get<double>() * epochs)));
  out.end_epoch_ = static_cast<std::int64_t>(std::ceil(options.at("until").get<double>() * epochs));
  out.interrupt_ = options.at("interrupt").get<std::int64_t>();
  out.max_wait_ = options.at("max_wait").get<std::int64_t>();
  out.recalibration_ = options.at("recalibrate").get<std::int64_t>();
  out.counts_trained_ = options.at("clock").get<std::string>() == "trained";
  out.guarded_ = recipe.select.name == data::kSelectAuto;
  if (const auto found = options.find("found"); found != options.end()) {
    LANISTA_ASSIGN(out.found_, study::read_selecting(*found));
  }
  return out;
}

Selection::Selection(const Selection& other)
    : config_(other.config_),
      facts_(other.facts_),
      size_(other.size_),
      first_epoch_(other.first_epoch_),
      end_epoch_(other.end_epoch_),
      interrupt_(other.interrupt_),
      max_wait_(other.max_wait_),
      recalibration_(other.recalibration_),
      counts_trained_(other.counts_trained_),
      guarded_(other.guarded_),
      found_(other.found_) {
  if (!other) return;
  auto made = data::make_selector(*config_, facts_);
  LANISTA_CHECK(made.ok(), "a selector that was made can be made again");
  selector_ = *std::move(made);
  const Result<void> recalled = restore(other.save());
  LANISTA_CHECK(recalled.ok(), "a selector takes what it gave");
}

Selection& Selection::operator=(const Selection& other) {
  Selection copy(other);
  *this = std::move(copy);
  return *this;
}

bool Selection::has_won(std::int64_t step) const {
  bool won = false;
  for (const study::SelectingAt& each : found_) won = each.step <= step ? each.selects : won;
  return won;
}

bool Selection::selects(const SelectionPlace& place) const {
  if (interrupt_ > 0 && place.step % interrupt_ == interrupt_ - 1) return false;
  return place.epoch >= first_epoch_ && place.epoch < end_epoch_ && (!guarded_ || has_won(place.step));
}

std::vector<std::size_t> Selection::asks(const SelectionPlace& place, std::span<const std::int64_t> rows) const {
  if (place.step == offered_ || !selects(place)) return {};
  return selector_->asks({place.pass, rows});
}

void Selection::offer(const SelectionPlace& place, std::span<const std::int64_t> rows,
                      std::span<const double> losses) {
  if (place.step == offered_) return;
  looked_ += std::ssize(losses);
  std::vector<bool> chosen(rows.size(), true);
  if (selects(place)) {
    chosen.assign(rows.size(), false);
    for (const std::size_t i : selector_->choose({place.pass, rows}, losses)) chosen[i] = true;
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (chosen[i]) queue_.push_back(rows[i]);
  }
  const auto size = static_cast<std::size_t>(size_);
  if (++waited_ >= max_wait_) {
    for (std::size_t i = 0; i < rows.size() && queue_.size() < size; ++i) {
      if (!chosen[i]) queue_.push_back(rows[i]);
    }
  }
  ready_ = queue_.size() >= size ? size : place.ends_pass ? queue_.size() : 0;
  offered_ = place.step;
}

void Selection::step_done() {
  if (ready_ == 0) return;
  queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(ready_));
  trained_ += static_cast<std::int64_t>(ready_);
  ++batches_;
  waited_ = 0;
  ready_ = 0;
}

bool Selection::owns(const Tensor& tensor) { return tensor.name.starts_with(kPrefix); }

std::vector<Tensor> Selection::save() const {
  if (selector_ == nullptr) return {};
  const std::array<std::int64_t, kNumCounts> counts{offered_, static_cast<std::int64_t>(ready_), waited_, trained_,
                                                    batches_};
  std::vector<Tensor> out{numbers(kCounts, counts), numbers(kQueue, queue_)};
  for (Tensor& tensor : selector_->memory()) {
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
  const auto outside = [&](std::int64_t row) { return row < 0 || row >= facts_.rows; };
  if (counts.size() != kNumCounts || counts[1] < 0 || counts[1] > waiting || counts[2] < 0 || counts[3] < 0 ||
      counts[4] < 0 || std::ranges::any_of(queue, outside)) {
    return Error{Code::kDataLoss, "checkpoint's 'select:counts' or 'select:queue' fit no training on these data", ""};
  }
  std::vector<Tensor> memory;
  for (const Tensor& tensor : saved) {
    if (tensor.name == kCounts || tensor.name == kQueue) continue;
    memory.push_back(tensor);
    memory.back().name.erase(0, kPrefix.size());
  }
  LANISTA_TRY(selector_->recall(memory));
  queue_ = std::move(queue);
  offered_ = counts[0];
  ready_ = static_cast<std::size_t>(counts[1]);
  waited_ = counts[2];
  trained_ = counts[3];
  batches_ = counts[4];
  return {};
}

}  // namespace lanista::train

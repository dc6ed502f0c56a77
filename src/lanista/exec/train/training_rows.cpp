#include "lanista/exec/train/training_rows.h"

namespace lanista::train {

void TrainingRows::begin_pass(const TrialDefinition& definition, std::int64_t pass) {
  prepared_.reset();
  order_.reset();
  const TrainerInput& input = definition.input;
  const std::vector<std::int64_t>& train_rows = input.data->rows(data::Part::kTrain);
  const std::int64_t share = definition.epochs.pass_rows(pass);
  const bool all = share == std::ssize(train_rows);
  // Selected rows may be anywhere in the pass.
  if (input.epochs != nullptr && !definition.augmenter.empty() && !selection_ && all) {
    prepared_ = input.epochs->get(input.recipe.augment, definition.augmenter, seed_, pass);
  }
  const auto order = [&] {
    return data::epoch_order(all ? train_rows : input.data->training_subset(share, seed_), seed_, pass);
  };
  order_ = std::make_shared<const std::vector<std::int64_t>>(prepared_ ? prepared_->rows : order());
  pass_ = pass;
}

void TrainingRows::share_pass(const TrainingRows& other) {
  order_ = other.order_;
  prepared_ = other.prepared_;
  pass_ = other.pass_;
}

void TrainingRows::forget_pass() {
  prepared_.reset();
  pass_ = -1;
}

std::span<const float> TrainingRows::prepared_features(std::span<const std::int64_t> rows, std::size_t width) const {
  if (!prepared_) return {};
  const auto begin = static_cast<std::size_t>(rows.data() - order_->data());
  return std::span(prepared_->features).subspan(begin * width, rows.size() * width);
}

}  // namespace lanista::train

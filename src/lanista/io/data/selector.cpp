#include "lanista/io/data/selector.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "lanista/base/edit_distance.h"
#include "lanista/base/option_specs.h"
#include "lanista/base/portable_math.h"
#include "lanista/base/rng.h"
#include "lanista/io/data/loss_ranks.h"
#include "lanista/io/data/selection_comparison.h"

namespace lanista::data {
namespace {

using Positions = std::vector<std::size_t>;

Positions all_positions(std::size_t count) {
  Positions out(count);
  std::iota(out.begin(), out.end(), std::size_t{0});
  return out;
}

/// One uniform number for every row of every pass.
class RowSampler {
 public:
  explicit RowSampler(std::uint64_t seed) : rng_(Rng(seed).split("select")) {}
  /// A function from a row's number to its random number in this pass.
  auto for_pass(std::int64_t pass) const {
    return [pass_rng = rng_.split(static_cast<std::uint64_t>(pass))](std::int64_t row) {
      return pass_rng.split(static_cast<std::uint64_t>(row)).uniform();
    };
  }

 private:
  Rng rng_;
};

/// Losses as one tensor of doubles.
Tensor to_tensor(const char* name, std::span<const double> values) {
  Tensor out{name, ElementType::kF64, {std::ssize(values)}, std::vector<std::byte>(values.size_bytes())};
  std::ranges::copy(values, elements_of<double>(out).begin());
  return out;
}

Result<std::span<const double>> read_doubles(std::span<const Tensor> saved_state, const char* name) {
  const auto found = std::ranges::find(saved_state, name, &Tensor::name);
  if (found == saved_state.end() || found->type != ElementType::kF64) {
    return Error{Code::kDataLoss, std::string("what the selector remembered has no '") + name + "'", ""};
  }
  return elements_of<double>(*found);
}

/// Selects every example with the same probability.
class RandomSelector final : public Selector {
 public:
  RandomSelector(double keep, const SelectorContext& context) : keep_(keep), sampler_(context.seed) {}

  Positions requested_positions(const CandidateBatch&) const override { return {}; }
  Positions choose(const CandidateBatch& candidates, std::span<const double>) override {
    Positions out;
    const auto sampled = sampler_.for_pass(candidates.pass);
    for (std::size_t i = 0; i < candidates.rows.size(); ++i) {
      if (sampled(candidates.rows[i]) < keep_) out.push_back(i);
    }
    return out;
  }

 private:
  double keep_;
  RowSampler sampler_;
};

/// Selects with probability rank^beta, where the rank is that of the loss among the last ones of all examples. A loss
/// is valid for `stale` passes; then it is measured again.
class HistoryPercentileSelector final : public Selector {
 public:
  HistoryPercentileSelector(const Options& options, const SelectorContext& context)
      : beta_(options.at("beta").get<double>()),
        min_probability_(options.at("floor").get<double>()),
        valid_passes_(options.at("stale").get<std::int64_t>()),
        loss_ranks_(options.at("history").get<std::size_t>()),
        sampler_(context.seed) {
    if (valid_passes_ > 1) recorded_losses_.resize(static_cast<std::size_t>(2 * context.rows), -1.0);
  }

  Positions requested_positions(const CandidateBatch& candidates) const override {
    if (beta_ == 0) return {};
    if (valid_passes_ == 1) return all_positions(candidates.rows.size());
    Positions out;
    for (std::size_t i = 0; i < candidates.rows.size(); ++i) {
      const double measured = recorded_losses_[at(candidates.rows[i]) + 1];
      if (measured < 0 || static_cast<double>(candidates.pass) - measured >= static_cast<double>(valid_passes_)) {
        out.push_back(i);
      }
    }
    return out;
  }

  Positions choose(const CandidateBatch& candidates, std::span<const double> losses) override {
    if (beta_ == 0) return all_positions(candidates.rows.size());
    const std::vector<double> all = losses_of(candidates, losses);
    for (const double loss : all) loss_ranks_.add(loss);
    Positions out;
    const auto sampled = sampler_.for_pass(candidates.pass);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const double chance = std::max(min_probability_, portable_pow(loss_ranks_.rank(all[i]), beta_));
      if (sampled(candidates.rows[i]) < chance) out.push_back(i);
    }
    return out;
  }

  std::vector<Tensor> saved_state() const override {
    std::vector<Tensor> out{to_tensor("history", loss_ranks_.losses())};
    if (valid_passes_ > 1) out.push_back(to_tensor("known", recorded_losses_));
    return out;
  }
  Result<void> restore_state(std::span<const Tensor> saved_state) override {
    LANISTA_ASSIGN(const std::span<const double> history, read_doubles(saved_state, "history"));
    if (valid_passes_ > 1) {
      LANISTA_ASSIGN(const std::span<const double> known, read_doubles(saved_state, "known"));
      if (known.size() != recorded_losses_.size()) {
        return Error{Code::kDataLoss,
                     "the selector remembered losses of " + std::to_string(known.size() / 2) + " rows, there are " +
                         std::to_string(recorded_losses_.size() / 2),
                     ""};
      }
      std::ranges::copy(known, recorded_losses_.begin());
    }
    loss_ranks_.assign(history);
    return {};
  }

 private:
  static std::size_t at(std::int64_t row) { return static_cast<std::size_t>(2 * row); }

  // The losses of the whole batch: those that were measured now, and those that are still valid.
  std::vector<double> losses_of(const CandidateBatch& candidates, std::span<const double> measured) {
    if (valid_passes_ == 1) return {measured.begin(), measured.end()};
    const Positions requested = requested_positions(candidates);
    for (std::size_t i = 0; i < requested.size(); ++i) {
      const std::size_t position = at(candidates.rows[requested[i]]);
      recorded_losses_[position] = measured[i];
      recorded_losses_[position + 1] = static_cast<double>(candidates.pass);
    }
    std::vector<double> out;
    out.reserve(candidates.rows.size());
    for (const std::int64_t row : candidates.rows) out.push_back(recorded_losses_[at(row)]);
    return out;
  }

  double beta_, min_probability_;
  std::int64_t valid_passes_;
  LossRanks loss_ranks_;
  std::vector<double> recorded_losses_;  // for each row: its loss, and the pass of its measurement; -1: never
  RowSampler sampler_;
};

/// Selects a number of examples of each batch without replacement. Weights are by the rank of the loss in the batch.
class BatchPercentileSelector final : public Selector {
 public:
  BatchPercentileSelector(double keep, const SelectorContext& context) : keep_(keep), sampler_(context.seed) {}

  Positions requested_positions(const CandidateBatch& candidates) const override {
    return keep_ < 1 ? all_positions(candidates.rows.size()) : Positions();
  }
  // Weighted sampling without replacement by one key for each item (Efraimidis and Spirakis, 2006): the largest
  // log(u) / weight win.
  Positions choose(const CandidateBatch& candidates, std::span<const double> losses) override {
    const std::size_t count = candidates.rows.size();
    if (keep_ >= 1) return all_positions(count);
    const auto kept = std::max<std::size_t>(1, static_cast<std::size_t>(keep_ * static_cast<double>(count)));
    Positions order = all_positions(count);
    const auto smaller = [&](std::size_t a, std::size_t b) {
      const bool no_a = std::isnan(losses[a]), no_b = std::isnan(losses[b]);
      return no_a || no_b ? no_b && !no_a : losses[a] < losses[b];
    };
    std::ranges::stable_sort(order, smaller);
    std::vector<double> keys(count);
    const auto sampled = sampler_.for_pass(candidates.pass);
    for (std::size_t i = 0; i < count; ++i) {
      const double percentile = (static_cast<double>(i) + 0.5) / static_cast<double>(count);
      const double weight = portable_pow(percentile, 1 / keep_ - 1);
      const double uniform_sample = sampled(candidates.rows[order[i]]);
      keys[order[i]] = portable_log(std::max(uniform_sample, 0x1p-54)) / weight;
    }
    Positions out = all_positions(count);
    std::ranges::stable_sort(out, std::greater<>(), [&](std::size_t i) { return keys[i]; });
    out.resize(kept);
    std::ranges::sort(out);
    return out;
  }

 private:
  double keep_;
  RowSampler sampler_;
};

/// Selects the examples of each batch with a loss furthest above that of a model that has not trained on them. What can
/// be learned remains; noise and known examples do not.
class ReducibleLossSelector final : public Selector {
 public:
  ReducibleLossSelector(double keep, const SelectorContext& context)
      : keep_(keep), holdout_loss_(context.holdout_loss) {}

  Positions requested_positions(const CandidateBatch& candidates) const override {
    return keep_ < 1 ? all_positions(candidates.rows.size()) : Positions();
  }
  Positions choose(const CandidateBatch& candidates, std::span<const double> losses) override {
    const std::size_t count = candidates.rows.size();
    Positions order = all_positions(count);
    if (keep_ >= 1) return order;
    std::vector<double> left(count);
    for (std::size_t i = 0; i < count; ++i) {
      const double known = double{holdout_loss_[static_cast<std::size_t>(candidates.rows[i])]};
      // A row without a loss counts as the hardest.
      left[i] = std::isnan(losses[i]) ? std::numeric_limits<double>::infinity() : losses[i] - known;
    }
    std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t i) { return left[i]; });
    order.resize(std::max<std::size_t>(1, static_cast<std::size_t>(keep_ * static_cast<double>(count))));
    std::ranges::sort(order);
    return order;
  }

 private:
  double keep_;
  std::span<const float> holdout_loss_;
};

using OptionKind = OptionSpec::Kind;
constexpr double kMaxCount = 1e6;

std::vector<OptionSpec> with_common_options(std::vector<OptionSpec> own) {
  own.insert(own.end(), selection_options().begin(), selection_options().end());
  return own;
}

std::vector<OptionSpec> percentile_options() {
  return {number_option("beta", OptionKind::kReal, 1.0, 0, 100, "0: all; a share of 1 / (1 + beta) is trained on"),
          number_option("history", OptionKind::kInt, 1024, 1, 1e6, "losses that a loss is ranked among"),
          number_option("floor", OptionKind::kReal, 0.01, 0, 1, "least probability"),
          number_option("stale", OptionKind::kInt, 1, 1, kMaxCount,
                        "passes that a loss counts for before it is measured again")};
}

// The options of selective, and those of the comparison.
std::vector<OptionSpec> auto_selection_options() {
  std::vector<OptionSpec> options = percentile_options();
  options.push_back(count_option("steps", 100, 1, "of the branch on chosen examples; never beyond its epoch"));
  options.push_back(number_option("every", OptionKind::kInt, 0, 0, kMaxCount,
                                  "epochs after which the two are compared once more; 0: never"));
  options.push_back(number_option("backward", OptionKind::kReal, 2.0, 0, 100,
                                  "what a pass backward costs, in passes forward: by that both compute as much"));
  options.push_back(text_option("on", "", "metric that decides; empty: val_accuracy, or else val_loss"));
  OptionSpec found = option("found", OptionKind::kMapList, Options::array(),
                            "what a trial has found, in place of asking: a list of {step: 0, selects: true}, as a "
                            "model package has it");
  found.omits_default = true;
  options.push_back(std::move(found));
  return options;
}

OptionSpec keep_option() {
  return number_option("keep", OptionKind::kReal, 0.5, 0.001, 1, "share of the examples that are trained on");
}

Result<SelectorPlugin> find_selector_plugin(const study::PluginConfig& select) {
  std::vector<std::string> names;
  std::string list;
  std::vector<SelectorPlugin> plugins = builtin_selectors();
  for (SelectorPlugin& plugin : plugins) {
    if (plugin.name == select.name) return std::move(plugin);
    list += (names.empty() ? "" : ", ") + plugin.name;
    names.push_back(plugin.name);
  }
  const std::string nearest = nearest_name(select.name, names);
  return Error{Code::kInvalidArgument,
               "unknown; allowed: " + list + (nearest.empty() ? "" : "; did you mean '" + nearest + "'?"), select.name};
}

}  // namespace

Result<void> Selector::restore_state(std::span<const Tensor> saved_state) {
  if (saved_state.empty()) return {};
  return Error{Code::kDataLoss, "the selector has no state, but '" + saved_state[0].name + "' is restored", ""};
}

const std::vector<OptionSpec>& selection_options() {
  static const std::vector<OptionSpec> options = [] {
    OptionSpec clock;
    clock.name = "clock";
    clock.kind = OptionKind::kText;
    clock.default_value = "read";
    clock.allowed = {"read", "trained"};
    clock.help = "what the learning rate's schedule counts: batches read, or batches trained on";
    return std::vector<OptionSpec>{
        number_option("warmup_epochs", OptionKind::kInt, 1, 0, kMaxCount, "first epochs that train on all examples"),
        number_option("from", OptionKind::kReal, 0, 0, 1,
                      "share of the epochs before which all examples are trained on"),
        number_option("until", OptionKind::kReal, 1, 0, 1,
                      "share of the epochs after which all examples are trained on"),
        number_option("interrupt", OptionKind::kInt, 0, 0, kMaxCount,
                      "every so-manieth batch is trained on whole; 0: none"),
        number_option("max_wait", OptionKind::kInt, 4, 1, kMaxCount,
                      "batches read after which a batch is trained on, filled up from the last one read"),
        number_option(
            "recalibrate", OptionKind::kInt, 0, 0, kMaxCount,
            "batches of all rows that batch norm's running statistics are renewed by before an epoch is measured"),
        clock};
  }();
  return options;
}

std::vector<SelectorPlugin> builtin_selectors() {
  const auto by_percentile = [](const Options& options, const SelectorContext& context) -> std::unique_ptr<Selector> {
    return std::make_unique<HistoryPercentileSelector>(options, context);
  };
  return {{"selective",
           "examples with probability rank^beta, by how their loss ranks among the last ones (Selective-Backprop)",
           with_common_options(percentile_options()), by_percentile},
          {"batch", "a share of each batch, without replacement, weighted by how losses rank in it (Composer's rule)",
           with_common_options({keep_option()}),
           [](const Options& options, const SelectorContext& context) -> std::unique_ptr<Selector> {
             return std::make_unique<BatchPercentileSelector>(options.at("keep").get<double>(), context);
           }},
          {std::string(kSelectionReducible),
           "a share of each batch: those with the loss furthest above the hold-out loss that the data have for them "
           "(RHO-LOSS)",
           with_common_options({keep_option()}),
           [](const Options& options, const SelectorContext& context) -> std::unique_ptr<Selector> {
             return std::make_unique<ReducibleLossSelector>(options.at("keep").get<double>(), context);
           }},
          {"random", "a share of the examples by chance, whatever their losses: the control",
           with_common_options({keep_option()}),
           [](const Options& options, const SelectorContext& context) -> std::unique_ptr<Selector> {
             return std::make_unique<RandomSelector>(options.at("keep").get<double>(), context);
           }},
          {std::string(kSelectionAuto),
           "as selective where that beats training on all examples: two branches of the trial compare them, at equal "
           "computation",
           with_common_options(auto_selection_options()), by_percentile}};
}

Result<void> check_holdout(const study::PluginConfig& select, bool has_holdout) {
  if (select.name != kSelectionReducible || has_holdout) return {};
  return Error{Code::kInvalidArgument,
               "the data have no hold-out losses; name the column of a table that has them (csv:FILE?holdout=COLUMN), "
               "or use selective, batch or random",
               "train.select.reducible"};
}

Result<Options> resolve_selection_options(const study::PluginConfig& select) {
  LANISTA_ASSIGN(const SelectorPlugin plugin, find_selector_plugin(select));
  return resolve_options(select.options, plugin.options);
}

Result<std::unique_ptr<Selector>> make_selector(const study::PluginConfig& select, const SelectorContext& context) {
  LANISTA_ASSIGN(const SelectorPlugin plugin, find_selector_plugin(select));
  LANISTA_ASSIGN(const Options options, resolve_options(select.options, plugin.options));
  LANISTA_TRY(check_holdout(select, !context.holdout_loss.empty()));
  return plugin.make(options, context);
}

}  // namespace lanista::data

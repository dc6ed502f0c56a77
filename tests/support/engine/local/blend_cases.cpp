#include "support/engine/local/blend_cases.h"

#include <cmath>
#include <limits>
#include <utility>

#include "lanista/base/check.h"
#include "lanista/base/rng.h"
#include "lanista/model/graph/text.h"

namespace lanista::runtime::testing {
namespace {

graph::Graph random_model(Rng& rng, std::uint64_t kind, std::int64_t outputs) {
  const std::string hidden = std::to_string(3 + rng.below(6)), out = std::to_string(outputs);
  const char* act = rng.below(2) == 0 ? "relu" : "tanh";
  std::string text;
  if (kind == 0) {
    text = "%0 = input(shape=[5])\n%1 = linear(%0, out=" + hidden + ")\n%2 = " + act +
           "(%1)\n%3 = linear(%2, out=" + out + ")\n%4 = output(%3)\n";
  } else if (kind == 1) {
    text = "%0 = input(shape=[2,5,4])\n%1 = conv2d(%0, out=" + hidden +
           ", kernel=[3], padding=[1])\n%2 = batch_norm(%1)\n%3 = " + act +
           "(%2)\n%4 = global_avg_pool(%3)\n%5 = linear(%4, out=" + out + ")\n%6 = output(%5)\n";
  } else if (kind == 3) {
    text = "%0 = input(shape=[6], dtype=\"index\")\n%1 = embedding(%0, vocab=7, dim=" + hidden + ")\n%2 = " + act +
           "(%1)\n%3 = linear(%2, out=" + out + ")\n%4 = output(%3)\n";
  } else {
    text = "%0 = input(shape=[6], dtype=\"index\")\n%1 = embedding(%0, vocab=7, dim=" + hidden +
           ")\n%2 = flatten(%1)\n%3 = linear(%2, out=" + out + ")\n%4 = output(%3)\n";
  }
  auto parsed = graph::parse(text);
  LANISTA_CHECK(parsed.ok(), parsed ? "" : parsed.error().text());
  return *std::move(parsed);
}

std::vector<double> random_numbers(Rng& rng, std::size_t count, double least) {
  std::vector<double> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(least + 3 * rng.uniform());
  return out;
}

BlendCase random_case(std::uint64_t number) {
  Rng rng = Rng(29).split("blends").split(number);
  const std::uint64_t kind = number % 4 == 3 ? (number % 8 == 7 ? 3 : 2) : number % 2;  // 3: at every position
  const auto outputs = static_cast<std::int64_t>(2 + rng.below(3));
  const std::size_t members = 2 + rng.below(3);
  const std::size_t entries = kind == 0 ? 5 : 2;
  const std::uint64_t units = kind >= 2 ? 0 : rng.below(3);  // none, one for all, one each
  BlendCase out{
      .name = "blend " + std::to_string(number), .how = Blend(number / 4 % 3), .members = {}, .shares = {}, .x = {}};
  formats::OnnxExport options{.mean = {}, .scale = {}, .metadata = {}};
  double sum = 0;
  for (std::size_t k = 0; k < members; ++k) {
    if (units == 2 || (units == 1 && k == 0)) {
      options.mean = random_numbers(rng, entries, -1);
      options.scale = random_numbers(rng, entries, 0.5);
    }
    if (out.how == Blend::kNumbers && number % 3 == 0 && kind != 3) {
      options.target_mean = random_numbers(rng, static_cast<std::size_t>(outputs), -2);
      options.target_scale = random_numbers(rng, static_cast<std::size_t>(outputs), 1);
    }
    out.members.push_back(make_case(out.name + " of " + std::to_string(k), random_model(rng, kind, outputs), options));
    sum += out.shares.emplace_back(0.1 + rng.uniform());
  }
  for (double& share : out.shares) share /= sum;
  out.x = out.members.front().x;
  if (kind == 0 && rng.below(2) == 0) {
    std::vector<double> missing;
    for (std::size_t k = 0; k < members; ++k) {
      if (k == 0 || units != 1) missing = random_numbers(rng, 5, -1);
      for (double& value : missing) value = static_cast<double>(static_cast<float>(value));
      out.members[k].options.missing = missing;
    }
    for (float& x : elements_of<float>(out.x)) {
      if (rng.below(4) == 0) x = std::numeric_limits<float>::quiet_NaN();
    }
  }
  return out;
}

long double blended_number(const BlendCase& one, const std::vector<Tensor>& members, std::size_t at,
                           std::size_t width) {
  long double yes = 0, no = 0, mean = 0;
  for (std::size_t k = 0; k < members.size(); ++k) {
    const auto values = elements_of<float>(members[k]);
    const auto share = static_cast<long double>(one.shares[k]), x = static_cast<long double>(values[at]);
    long double sum = 0;
    for (std::size_t i = at / width * width; i < at / width * width + width; ++i) {
      sum += std::exp(static_cast<long double>(values[i]) - x);
    }
    mean += share * x;
    yes += share / (one.how == Blend::kLabels ? 1 + std::exp(-x) : sum);
    no += share / (1 + std::exp(x));
  }
  switch (one.how) {
    case Blend::kNumbers:
      return mean;
    case Blend::kClasses:
      return std::log(yes);
    case Blend::kLabels:
      return std::log(yes / no);
  }
  return 0;
}

}  // namespace

formats::BlendedModel BlendCase::blended() const {
  formats::BlendedModel out{how, {}};
  for (std::size_t k = 0; k < members.size(); ++k) {
    const OnnxCase& member = members[k];
    out.members.push_back({&member.graph, member.weights, shares[k], member.options.mean, member.options.scale,
                           member.options.target_mean, member.options.target_scale, member.options.missing});
  }
  return out;
}

std::vector<BlendCase> blend_cases(std::uint64_t count) {
  std::vector<BlendCase> out;
  for (std::uint64_t number = 0; number < count; ++number) out.push_back(random_case(number));
  return out;
}

Tensor predict(const BlendCase& one) {
  std::vector<Tensor> members;
  for (OnnxCase member : one.members) {
    member.x = one.x;
    const auto& missing = member.options.missing;
    const auto x = elements_of<float>(member.x);
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (std::isnan(x[i])) x[i] = static_cast<float>(missing[i % missing.size()]);
    }
    members.push_back(predict(member));
  }
  Tensor out = members.front();
  const auto width = static_cast<std::size_t>(out.shape.back());
  const auto y = elements_of<float>(out);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<float>(blended_number(one, members, i, width));
  return out;
}

}  // namespace lanista::runtime::testing

// Reads random ranges in the notation of study files, and writes their values, one JSON object a line, for
// readers/ranges_oracle.py.
// usage: ranges_corpus FILE CASES

#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>

#include "lanista/base/rng.h"
#include "lanista/io/studyfile/notation.h"

namespace {

using namespace lanista;
using nlohmann::json;

/// A decimal number with this many places: "-0.05".
std::string decimal(std::int64_t units, int places) {
  const bool negative = units < 0;
  std::string digits = std::to_string(negative ? -units : units);
  while (static_cast<int>(digits.size()) <= places) digits.insert(digits.begin(), '0');
  if (places > 0) digits.insert(digits.size() - static_cast<std::size_t>(places), ".");
  return (negative ? "-" : "") + digits;
}

json random_case(Rng rng) {
  const int places = static_cast<int>(rng.below(7));
  const bool log = rng.bernoulli(0.2);
  const std::int64_t size = rng.bernoulli(0.5) ? 100 : 1'000'000;
  const std::int64_t lo = log ? rng.between(1, size) : rng.between(-size, size), step = rng.between(1, size);
  const std::int64_t count = rng.between(0, 40), rest = rng.bernoulli(0.5) ? 0 : rng.between(0, step - 1);
  json out{
      {"lo", decimal(lo, places)}, {"hi", decimal(lo + count * step + rest, places)}, {"step", decimal(step, places)}};
  const std::string text = "quant(" + out["lo"].get<std::string>() + ", " + out["hi"].get<std::string>() + ", " +
                           out["step"].get<std::string>() + (log ? ", log)" : ")");
  const auto domain = studyfile::parse_domain(text);
  out["text"] = text;
  out["values"] = json::array();
  out["rounded"] = json::array();
  if (!domain || !*domain) {
    out["error"] = domain ? domain->error().message : "no range";
    return out;
  }
  for (std::int64_t i = 0; i < *space::domain_size(**domain); ++i) {
    out["values"].push_back(space::value_text(space::domain_value(**domain, i, 1)));
  }
  // What floating-point arithmetic gives for a value, and what it is read as.
  const double from = std::stod(out["lo"].get<std::string>()), by = std::stod(out["step"].get<std::string>());
  for (std::int64_t i = 0; i <= count; ++i) {
    const double seen =
        rng.bernoulli(0.5) ? from + static_cast<double>(i) * by : (from / by + static_cast<double>(i)) * by;
    const auto read = space::value_in(**domain, seen);
    out["rounded"].push_back({space::value_text(seen), read ? space::value_text(*read) : "none"});
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: ranges_corpus FILE CASES\n";
    return 2;
  }
  std::ofstream out(argv[1]);
  const Rng rng(20261129);
  for (std::uint64_t i = 0; i < std::stoull(argv[2]); ++i) out << random_case(rng.split(i)).dump() << "\n";
  return out.good() ? 0 : 1;
}

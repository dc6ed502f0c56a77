#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "lanista/model/spaces/blueprint.h"
#include "support/model/spaces/network_tables.h"

// The networks of the papers, as samples of our spaces at the sizes of the papers.
namespace lanista::mutate::testing {

/// One network of a paper.
struct Network {
  std::string name;
  std::string space;
  nlohmann::json options;
  space::Sample sample;
  tables::NetworkSize table;   ///< the sum over its layers
  std::int64_t published = 0;  ///< trained numbers that a public implementation counts; 0: none is known
  double rounded = 0;          ///< millions in the paper, to one digit behind the point; 0: none there
  double macs = 0;             ///< millions of multiply-adds that were published; 0: none
  double tolerance = 0;        ///< of that, relative
};
inline void PrintTo(const Network& network, std::ostream* out) { *out << network.name; }

inline Network with(Network network, std::int64_t published, double rounded, double macs = 0, double tolerance = 0) {
  network.published = published;
  network.rounded = rounded;
  network.macs = macs;
  network.tolerance = tolerance;
  return network;
}

/// A value of a choice between names.
inline space::Value word(std::string text) { return space::Value(std::move(text)); }

std::vector<Network> darts_networks();
std::vector<Network> nasnet_networks();  ///< NASNet-A and AmoebaNet-A
std::vector<Network> enas_networks();
std::vector<Network> mobile_networks();  ///< MnasNet, MobileNetV3, ProxylessNAS and SPOS

}  // namespace lanista::mutate::testing

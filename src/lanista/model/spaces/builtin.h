#pragma once

#include "lanista/model/spaces/published.h"

namespace lanista::mutate {

using enum OptionSpec::Kind;  // for the tables of options

// Each function makes one entry of published_spaces().

/// Returns the name, help, options and factory of the cell space of DARTS.
PublishedSpace darts_space();
/// Returns the name, help, options and factory of the macro space of ENAS, which searches whole networks.
PublishedSpace enas_macro_space();
/// Returns the name, help, options and factory of the micro space of ENAS, which searches cells.
PublishedSpace enas_micro_space();
/// Returns the name, help, options and factory of the factorised space of MnasNet: stages of blocks, each with separate
/// choices.
PublishedSpace mnasnet_space();
/// Returns the name, help, options and factory of the space of MobileNetV3.
PublishedSpace mobilenetv3_space();
/// Returns the name, help, options and factory of the cell space of NAS-Bench-101.
PublishedSpace nasbench101_space();
/// Returns the name, help, options and factory of the cell space of NAS-Bench-201.
PublishedSpace nasbench201_space();
/// Returns the name, help, options and factory of the cell space of NASNet, AmoebaNet and related papers.
PublishedSpace nasnet_space();
/// Returns the name, help, options and factory of the space of ProxylessNAS.
PublishedSpace proxylessnas_space();
/// Returns the name, help, options and factory of the space of Single Path One-Shot.
PublishedSpace spos_space();
/// Returns the name, help, options and factory of the space of transformers with searched depth, heads and widths.
PublishedSpace transformer_space();
/// Returns the name, help, options and factory of the space of wide and deep networks for tables.
PublishedSpace wide_deep_space();

}  // namespace lanista::mutate

#pragma once

#include "lanista/model/spaces/published.h"

namespace lanista::mutate {

/// Makes the cell space of DARTS, an entry of published_spaces(), as the other functions of this header do.
PublishedSpace darts_space();
/// The macro space of ENAS, which searches whole networks.
PublishedSpace enas_macro_space();
/// The micro space of ENAS, which searches cells.
PublishedSpace enas_micro_space();
/// The factorised space of MnasNet.
PublishedSpace mnasnet_space();
/// The space of MobileNetV3.
PublishedSpace mobilenetv3_space();
/// The cells of NAS-Bench-101.
PublishedSpace nasbench101_space();
/// The cells of NAS-Bench-201.
PublishedSpace nasbench201_space();
/// The cell space of NASNet and its relatives.
PublishedSpace nasnet_space();
/// The space of ProxylessNAS.
PublishedSpace proxylessnas_space();
/// The space of Single Path One-Shot.
PublishedSpace spos_space();
/// Transformers with searched depth, heads and widths.
PublishedSpace transformer_space();
/// Wide and deep networks for tables.
PublishedSpace wide_deep_space();

}  // namespace lanista::mutate

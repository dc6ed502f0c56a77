#pragma once

#include "lanista/model/spaces/published.h"

namespace lanista::mutate {

PublishedSpace darts_space();
PublishedSpace enas_macro_space();
PublishedSpace enas_micro_space();
PublishedSpace mnasnet_space();
PublishedSpace mobilenetv3_space();
PublishedSpace nasbench101_space();
PublishedSpace nasbench201_space();
PublishedSpace nasnet_space();
PublishedSpace proxylessnas_space();
PublishedSpace spos_space();
PublishedSpace transformer_space();
PublishedSpace wide_deep_space();

}  // namespace lanista::mutate

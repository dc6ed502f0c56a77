#include "lanista/data_info.h"

#include <algorithm>
#include <iterator>

#include "lanista/app/api/guarded.h"
#include "lanista/io/data/dataset.h"
#include "lanista/io/data/undefined_metrics.h"

namespace lanista {

Result<DataInfo> describe_data(const std::string& source, const std::string& folder) {
  return api::guarded([&]() -> Result<DataInfo> {
    study::DataConfig config;
    config.source = source;
    LANISTA_ASSIGN(const data::Dataset data, data::open(config, folder, real_file_system()));
    const data::DataSpec& spec = data.spec();
    DataInfo out;
    out.name = spec.name;
    out.licence = spec.licence;
    out.feature_shape = spec.features.dims;
    out.num_rows = spec.rows;
    out.num_training_rows = spec.split_rows[0];
    out.num_validation_rows = spec.split_rows[1];
    out.num_test_rows = spec.split_rows[2];
    out.num_classes = spec.classes;
    out.class_names = spec.labels;
    out.target_names = data::target_names(spec);
    out.columns_text = data::schema_text(spec);
    out.warnings = data.data_warnings();
    std::ranges::move(data::part_class_warnings(data), std::back_inserter(out.warnings));
    return out;
  });
}

}  // namespace lanista

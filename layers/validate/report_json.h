// SPDX-License-Identifier: Apache-2.0
//
// Reports as JSON of the layer's own (docs/layers.md has its members) and as SARIF 2.1.0, which CI systems show.
#pragma once

#include <string>
#include <vector>

#include "report.h"

namespace anyplace::validate {

std::string json_of(const std::vector<Report>& reports);
std::string sarif_of(const std::vector<Report>& reports);

}  // namespace anyplace::validate

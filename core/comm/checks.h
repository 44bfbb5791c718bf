// SPDX-License-Identifier: Apache-2.0
//
// The rules that the collectives' arguments keep, which are those of torch.cuda.comm. Each throws invalid_argument, and
// names what breaks it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "anyplace/comm.h"

namespace anyplace::detail {

/// Throws invalid_argument. `place` may be empty; the text's lines are the parts of an Error.
[[noreturn]] void refuse(const char* operation, const std::string& place, std::string text);

/// Exactly one of them is given.
void require_one_target(const comm::Targets& targets, const char* operation);
/// The array isn't null, its memory is there, its device isn't lost; `name` is "input 3".
void require_array(const ArrayView& array, const std::string& name, const char* operation);
/// The same, and it isn't of the host.
void require_on_device(const ArrayView& array, const std::string& name, const char* operation);
void require_usable(const Device& device, const char* operation);
void require_same_dtype(const ArrayView& array, DType dtype, const std::string& name, const char* operation);
void require_same_shape(const ArrayView& array, const Extents& shape, const std::string& name, const char* operation);
/// The same number of dimensions, and the same extents but in `dim`.
void require_same_but(const ArrayView& array, const Extents& shape, std::size_t dim, const std::string& name,
                      const char* operation);
/// The number of the dimension, which may be counted from the end.
std::size_t require_dim(const ArrayView& array, std::int64_t dim, const char* operation);
/// Written arrays aren't read-only, have memory for each element, and share none with each other or with what is read.
void require_apart(const std::vector<Array>& out, const std::vector<Array>& in, const char* operation);
/// Where a sum goes: the device given, else the current one of the first input's backend. One of the inputs is there.
Device require_destination(const std::vector<Array>& inputs, const std::optional<Device>& given, const char* operation);
bool is_on(const ArrayView& array, const Device& device);

}  // namespace anyplace::detail

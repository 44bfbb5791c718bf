// SPDX-License-Identifier: Apache-2.0
//
// The rules that the collectives' arguments keep, which are those of torch.cuda.comm. Each function throws
// invalid_argument if its rule is broken, and names what breaks it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "anyplace/comm.h"

namespace anyplace::detail {

/// Throws invalid_argument. `place` may be empty; the lines of the text are the parts of an Error.
[[noreturn]] void refuse(const char* operation, const std::string& place, std::string text);

/// Exactly one target must be given.
void require_one_target(const comm::Targets& targets, const char* operation);
/// The array may not be null, its memory must be there, and its device may not be lost. `name` is "input 3".
void require_array(const ArrayView& array, const std::string& name, const char* operation);
/// Requires what require_array() does, and that the array isn't the host's.
void require_on_device(const ArrayView& array, const std::string& name, const char* operation);
void require_usable(const Device& device, const char* operation);
void require_same_dtype(const ArrayView& array, DType dtype, const std::string& name, const char* operation);
void require_same_shape(const ArrayView& array, const Extents& shape, const std::string& name, const char* operation);
/// The array must have so many dimensions, and the same extents but in `dim`.
void require_same_but(const ArrayView& array, const Extents& shape, std::size_t dim, const std::string& name,
                      const char* operation);
/// Gives the number of the dimension, which `dim` may count from the end.
std::size_t require_dim(const ArrayView& array, std::int64_t dim, const char* operation);
/// Arrays that are written may not be read-only, must have memory for each element, and may share none with each other
/// or with what is read.
void require_apart(const std::vector<Array>& out, const std::vector<Array>& in, const char* operation);
/// Gives the device that a sum goes to: the given one, else the current one of the first input's backend. One of the
/// inputs must be there.
Device require_destination(const std::vector<Array>& inputs, const std::optional<Device>& given, const char* operation);
bool is_on(const ArrayView& array, const Device& device);

}  // namespace anyplace::detail

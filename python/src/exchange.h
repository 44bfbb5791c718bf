// SPDX-License-Identifier: Apache-2.0
//
// DLPack: what its two ways have in common, capsules of __dlpack__ (dlpack.cpp) and the C table of
// __dlpack_c_exchange_api__ (exchange.cpp).
#pragma once

#include <anyplace/anyplace.h>
#include <anyplace/dlpack.h>
#include <nanobind/nanobind.h>

#include <optional>

#include "objects.h"

namespace anyplace::python {

/// The bytes of a buffer as an array of the calling thread's current stream of its device, which shares its ownership.
Array array_of(const BufferObject& buffer);
/// The array of an Array or a Buffer; empty for anything else.
std::optional<Array> own_array(nb::handle object);

/// Waits for the array's stream where DLPack takes the memory for the host's, whose consumers know no streams. Ctrl-C
/// ends the wait. Needs the GIL, and releases it meanwhile.
void wait_where_host(const Array& array);

/// An array of ordinary memory of the host with that type and shape. It has no stream.
Array host_memory(DType dtype, const Extents& shape);

/// The Python object of an array that is on the calling thread's current stream, which it keeps.
nb::object on_current_stream(Array array);

/// Takes `x` by the table of its type, without a capsule; the array's stream waits for the producer's current one.
/// Empty if the type has no table of this version.
std::optional<Array> take_by_table(nb::handle x, const dlpack::ImportOptions& options);

/// The array, whose owner is another library. When it goes, the owner keeps the memory until the work that the array's
/// stream was given by then is done. Memory of the host is returned as it is: who copies it keeps it. Needs
/// the GIL.
Array kept_in_order(const Array& array);

/// Adds __dlpack_c_exchange_api__ to the classes.
void bind_exchange();

}  // namespace anyplace::python

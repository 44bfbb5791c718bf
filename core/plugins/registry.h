// SPDX-License-Identifier: Apache-2.0
//
// The registry: which backends are loaded, and whether each candidate file was accepted or refused, and why.
//
// Locks, in the order in which they are taken: a name's load_mutex, held while its plugins are loaded; then the
// registry's mutex, held for moments and never while a plugin's code runs.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "anyplace/plugins.h"
#include "runtime/backend.h"

namespace anyplace::detail {

/// The registry's mutex.
std::mutex& registry_mutex() noexcept;

/// Returns the backend of that name, loading it if necessary. Throws no_such_backend; `operation` is for the error's
/// text. Concurrent calls for other names don't wait.
Backend& backend_of(const std::string& name, const char* operation);

/// The backend if it was loaded and accepted in this process, else null. Loads nothing.
Backend* loaded_backend(const std::string& name) noexcept;

/// backend_of() for a name in a place, which has `layers` over it: errors show `place`. Throws invalid_argument if the
/// backend is in use without one of them, and for layers that can't be used (layer_stack.h).
Backend& backend_in_place(const std::string& name, const std::vector<std::string>& layers, const std::string& place,
                          const char* operation);

/// All candidate files in search order, with what is known of them.
std::vector<PluginCandidate> candidates();

/// register_plugin() without the check of the file. Throws invalid_argument if the backend was loaded from another
/// file.
void register_candidate(const std::string& name, const std::string& path);

}  // namespace anyplace::detail

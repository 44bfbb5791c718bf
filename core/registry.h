// SPDX-License-Identifier: Apache-2.0
//
// The registry: which backends are loaded and what became of each candidate. backend.h declares what the rest of the
// core asks of it; here is what exit and plugins.cpp need besides.
//
// Locks, in the order in which they are taken: a name's load_mutex, held while its plugins are loaded; then the
// registry's mutex, held for moments and never while a plugin's code runs.
#pragma once

#include <string>
#include <vector>

#include "anyplace/plugins.h"
#include "backend.h"

namespace anyplace::detail {

/// Every backend that was accepted.
std::vector<Backend*> loaded_backends();

/// backend_of for a name in a place: the errors show `place`.
Backend& backend_in_place(const std::string& name, const std::string& place, const char* operation);

/// What is known of the candidates, in search order.
std::vector<PluginCandidate> candidates();

/// register_plugin without the check of the file. Throws invalid_argument if the backend is in use from another file.
void register_candidate(const std::string& name, const std::string& path);

/// The names of ANYPLACE_AUTO, without aliases. Throws invalid_argument, naming the variable, for what is no known
/// name.
std::vector<std::string> automatic_order(const char* operation);
/// The same, or the default's where the variable is bad: for listings, which have to work then too.
std::vector<std::string> automatic_order_or_default();

}  // namespace anyplace::detail

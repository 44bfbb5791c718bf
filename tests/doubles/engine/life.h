// SPDX-License-Identifier: Apache-2.0
//
// When a double may be called: from its beginning to the end of the process, and in no child that was forked since.
// And which entry a thread is in, for what is noted as misuse.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "call_book.h"
#include "settings.h"

namespace anyplace::doubles {

enum class Phase : uint8_t { uninitialised, ready, ended, forked };
Phase phase() noexcept;
/// Whether this is a child of a process where the double had begun.
inline bool was_forked() noexcept { return phase() == Phase::forked; }
/// Begins unless it has begun before: `make` what there is, and be ready. `end` runs at the end of the process, behind
/// which the phase is `ended`; not in a forked child. Gives what `may_begin` does if that isn't 0.
int begin(const std::function<int()>& may_begin, const std::function<void()>& make, void (*end)());

MisuseLog& misuses();
/// Notes what the entry that the thread is in was wrongly called with: "cuMemFree" and the text.
void misused(const char* text);
/// Says which entry the thread is in.
void set_entry(const char* symbol) noexcept;

/// A book with the failures that the settings ask for. Ends the process if these can't be read.
CallBook& make_call_book(std::vector<const char*> symbols, const Settings& settings);

}  // namespace anyplace::doubles

// SPDX-License-Identifier: Apache-2.0
//
// What comes before every entry: the count, the failures on demand, whether the double may be called at all.
#pragma once

#include <new>
#include <vector>

#include "../control.h"
#include "state.h"

namespace anyplace::doubles {

/// The context of a stream, an event or a module; null of none.
template <class Object>
ContextRef context_of_object(const std::shared_ptr<Object>& object) {
  return object == nullptr ? nullptr : object->context;
}

/// Why the entry may not even begin, or 0. Host functions and kernels may call none; noted as misuse.
int check_phase(const char* symbol);

/// `victims` gives the contexts that a call is about: an error that stays makes them unusable, also if it is only said
/// to have happened. It takes State::mutex.
template <class Call, class Victims>
int enter(std::size_t index, Kind kind, const char* symbol, Call call, Victims victims) noexcept {
  set_entry(symbol);
  const int failure = call_book().count(index);
  const bool sticky = failure != 0 && is_sticky(failure);
  // Where the first call begins, there would be no context yet for the error to stay with.
  if (sticky && kind != Kind::early && vendor.begin != nullptr) static_cast<void>(check_phase(symbol));
  // Found before the call, as that may give the handle back.
  std::vector<ContextRef> lost;
  if (sticky && phase() == Phase::ready) lost = victims();
  const auto fail = [&] {
    for (const ContextRef& context : lost) state().engine.fail(context->fault, failure);
    return failure;
  };
  if (failure != 0 && kind != Kind::release) return fail();
  if (kind != Kind::early) {
    if (const int phase_result = check_phase(symbol); phase_result != 0) return phase_result;
    if (const int current_result = check_current(kind, symbol); current_result != 0) return current_result;
  }
  try {
    const int result = call();
    return failure != 0 ? fail() : result;
  } catch (const std::bad_alloc&) {
    return code::out_of_memory;
  }
}

}  // namespace anyplace::doubles

// SPDX-License-Identifier: Apache-2.0
#include "handles/slots.h"

#include "runtime/subsystem.h"

namespace anyplace::detail {

constinit Slot first_slots[handle_kinds][chunk_size];

std::string notes_on_missing(std::uint64_t id) {
  std::string notes;
  for (const Subsystem* const subsystem : subsystems()) {
    if (subsystem->note_on_missing != nullptr) notes += subsystem->note_on_missing(id);
  }
  return notes;
}

}  // namespace anyplace::detail

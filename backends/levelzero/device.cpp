// SPDX-License-Identifier: Apache-2.0
//
// A device's loss, its queues, its peers, and waiting for it. Its properties are in properties.cpp.
#include "device.h"

namespace anyplace::levelzero {

// ---- Queues --------------------------------------------------------------------------------------------------------

std::uint32_t Device::queue_group() const {
  if (!facts().has_queue_group) {
    refuse(ANYPLACE_STATUS_UNSUPPORTED,
           "this device has no queue that takes kernels and copies, so it can have no stream");
  }
  return facts().queue_group;
}

std::uint32_t Device::next_queue() noexcept {
  return facts().queues == 0 ? 0 : next_queue_.fetch_add(1, std::memory_order_relaxed) % facts().queues;
}

// ---- Peer access ---------------------------------------------------------------------------------------------------

bool Device::can_access(Device& peer) {
  if (&driver_context() != &peer.driver_context()) return false;
  ze_bool_t can = 0;
  const ze_result_t result = api().DeviceCanAccessPeer(native(), peer.native(), &can);
  if (result != ZE_RESULT_SUCCESS) fail_with(result, "zeDeviceCanAccessPeer", peer);
  return can != 0;
}

void Device::share_with(Device& reader) {
  reader.require();
  if (reader.can_access(*this)) return;
  refuse(ANYPLACE_STATUS_UNSUPPORTED,
         reader.place() + " can't reach the memory of " + place() + " (zeDeviceCanAccessPeer)");
}

// ---- Waiting and ending --------------------------------------------------------------------------------------------

bool Device::synchronize(std::uint64_t timeout_ns) {
  const Deadline deadline(timeout_ns);
  require();
  if (context_or_null() == nullptr) return true;  // without a context nothing was ever submitted
  const PendingWork pending = work_.pending();
  for (const SignalRef& signal : pending.signals()) {
    if (!signal->wait(deadline)) return false;
  }
  work_.sweep();
  retired_modules_.sweep();
  return true;
}

void Device::on_loss() noexcept {
  signals_.release_waits();
  host_functions_.wake();
  helper_.wake();
}

void Device::close(FirstFailure& failure) noexcept {
  if (context_or_null() == nullptr) return;
  // On a lost device each call is still tried, and its failure isn't reported.
  FirstFailure expected;
  FirstFailure& found = lost() ? expected : failure;
  retired_modules_.close(found);
  work_.close(found);
  virtual_memory_.close(found);
  shared_memory_.close(found);
  memory_.close(found);
  signals_.close(found);
}

}  // namespace anyplace::levelzero

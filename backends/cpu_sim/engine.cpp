// SPDX-License-Identifier: Apache-2.0
#include "engine.h"

#include <memory>
#include <string>

#include "director.h"
#include "failure.h"
#include "help.h"
#include "thread.h"

namespace anyplace::cpu_sim {
namespace {

/// The director, if there is one, executes one operation at a time.
std::unique_ptr<Scheduler> make_scheduler(const Config& config) {
  Director::make(config);
  if (config.deterministic) return std::make_unique<Scheduler>(1, 0);
  return std::make_unique<Scheduler>(config.workers, config.backoff_ns);
}

}  // namespace

Engine::Engine(const Config& config)
    : config_(config),
      owned_scheduler_(make_scheduler(config)),
      owned_pool_(std::make_unique<StreamPool>(*owned_scheduler_)),
      owned_addresses_(std::make_unique<AddressSpace>()),
      owned_virtual_memory_(std::make_unique<VirtualMemory>(*owned_addresses_)),
      owned_imported_memory_(std::make_unique<ImportedMemory>(*owned_addresses_)) {
  for (std::int32_t i = 0; i < config.devices; ++i) {
    devices_.push_back(std::make_unique<Device>(i, config.memory_bytes, scheduler_, addresses_));
  }
}

void Engine::check_peers(std::int32_t device_index, std::int32_t peer) {
  device(device_index);
  device(peer);
  if (device_index == peer) bad_argument("device " + std::to_string(peer) + " is no peer of itself");
}

Device& Engine::device(std::int32_t index) {
  if (index < 0 || index >= config_.devices) {
    fail(ANYPLACE_STATUS_NO_SUCH_DEVICE, "cpu_sim has " + std::to_string(config_.devices) + " devices and no device " +
                                             std::to_string(index) + "; ANYPLACE_CPU_SIM_DEVICES says how many");
  }
  return *devices_[static_cast<std::size_t>(index)];
}

Stream& Engine::make_stream(Device& device, std::int32_t priority, Rule rule, std::uint64_t cookie) {
  Stream& stream = pool_.take();
  stream.open(device, cookie, priority, rule);
  pool_.name(stream);
  if (Director* const director = Director::get()) director->add(stream);
  return stream;
}

Stream& Engine::from_native(Device& device, std::uint64_t native) {
  Stream* const stream = pool_.find(native);
  if (stream == nullptr) bad_argument(std::to_string(native) + " is no native stream of cpu_sim");
  if (&stream->device() == &device) return *stream;
  const std::int32_t index = stream->device().index();
  stream->drop_handle();
  bad_argument("native stream " + std::to_string(native) + " is of device " + std::to_string(index) +
               " and not of device " + std::to_string(device.index()));
}

void Engine::enable_peer(std::int32_t device, std::int32_t peer) {
  check_peers(device, peer);
  addresses_.enable(device, peer);
}

void Engine::disable_peer(std::int32_t device, std::int32_t peer) {
  check_peers(device, peer);
  addresses_.disable(device, peer);
}

void Engine::retire(Ref<Kernel> kernel) noexcept {
  for (const auto& device : devices_) device->keep_while_queued(kernel);
}

bool Engine::shut_down(const Deadline& deadline) {
  if (on_own_thread()) return false;  // A kernel or host function ends the process, and would wait for itself.
  for (const auto& device : devices_) {
    if (!synchronize(*device, deadline)) return false;
  }
  for (const auto& device : devices_) {
    if (!device->host_thread().stop(deadline)) return false;
  }
  return scheduler_.stop(deadline);
}

}  // namespace anyplace::cpu_sim

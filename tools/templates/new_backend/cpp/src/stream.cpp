// SPDX-License-Identifier: Apache-2.0
#include "stream.h"

#include <exception>
#include <utility>

#include "device.h"

namespace newname_backend {

using anyplace::backend::Failure;

Stream::Stream(Device& device, anyplace::backend::Host host, std::uint64_t cookie)
    : device_(device), host_(host), cookie_(cookie) {
  device_.add(*this);
}

Stream::~Stream() { device_.remove(*this); }

Point Stream::submit(Command command) {
  const std::lock_guard lock(mutex_);
  commands_.push_back(std::move(command));
  if (!has_worker_) {
    try {
      device_.workers().start([self = shared_from_this()] { self->run(); });
    } catch (...) {
      commands_.pop_back();
      throw;
    }
    has_worker_ = true;
  }
  changed_.notify_one();
  return {completed_, ++submitted_};
}

Point Stream::mark() const {
  const std::lock_guard lock(mutex_);
  return {completed_, submitted_};
}

void Stream::wait_for(const Point& point) {
  // A point of this stream's earlier work, or one that has been reached, needs no wait.
  if (point.timeline == completed_ || point.reached()) return;
  submit([point] { point.wait(Deadline(ANYPLACE_FOREVER)); });
}

void Stream::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  changed_.notify_one();
}

void Stream::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return closed_ || !commands_.empty(); });
    if (commands_.empty()) break;
    Command command = std::move(commands_.front());
    commands_.pop_front();
    lock.unlock();
    execute(command);
    command = nullptr;
    completed_->advance();
    lock.lock();
  }
  has_worker_ = false;
}

// The fault of a command belongs to its stream: anyplace shows it in query and throws it in synchronize. The stream
// goes on, unless the status is DEVICE_LOST.
void Stream::execute(const Command& command) const {
  try {
    command();
  } catch (const Failure& failure) {
    host_.stream_fault(cookie_, failure.status(), failure.what(), failure.vendor_code(), failure.vendor_name().c_str());
  } catch (const std::exception& exception) {
    host_.stream_fault(cookie_, ANYPLACE_STATUS_BACKEND_FAILED, exception.what());
  }
}

}  // namespace newname_backend

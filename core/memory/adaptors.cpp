// SPDX-License-Identifier: Apache-2.0
//
// The adaptors that keep no list of their allocations: limit, logging, failing. Each holds the allocator below it.
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <utility>

#include "memory/adaptors.h"
#include "memory/device_allocators.h"
#include "runtime/call.h"

namespace anyplace {

namespace detail {

std::shared_ptr<Allocator> required(std::shared_ptr<Allocator> upstream, const char* operation) {
  if (upstream == nullptr) {
    fail(ErrorCode::invalid_argument, "", operation,
         "the allocator below is null\ncurrent_allocator(device) is one to put it on");
  }
  return upstream;
}

namespace {

/// Throws an adaptor's own out_of_memory, with a text like the device's.
[[noreturn]] void refuse(const StreamView& stream, const char* operation, std::string text, MemoryFigures figures) {
  ErrorDetails details;
  details.code = ErrorCode::out_of_memory;
  details.place = stream.device().to_string();
  details.operation = operation;
  details.text = std::move(text);
  details.memory = figures;
  throw Error(std::move(details));
}

class LimitAllocator final : public Allocator {
 public:
  LimitAllocator(std::shared_ptr<Allocator> upstream, std::uint64_t limit) noexcept
      : upstream_(std::move(upstream)), limit_(limit) {}

  std::uint64_t allocate(const StreamView& stream, std::uint64_t bytes) override {
    std::uint64_t used = used_.load(std::memory_order_relaxed);
    do {
      if (bytes > limit_ || used > limit_ - bytes) {
        refuse(stream, "limit_allocator", fmt::format("with {} bytes more it would be over its limit", bytes),
               {bytes, limit_ - std::min(used, limit_), 0, used, limit_});
      }
    } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
    try {
      return upstream_->allocate(stream, bytes);
    } catch (...) {
      used_.fetch_sub(bytes, std::memory_order_relaxed);
      throw;
    }
  }
  void deallocate(const StreamView& stream, std::uint64_t address, std::uint64_t bytes) override {
    upstream_->deallocate(stream, address, bytes);
    used_.fetch_sub(bytes, std::memory_order_relaxed);
  }

 private:
  const std::shared_ptr<Allocator> upstream_;
  const std::uint64_t limit_;
  std::atomic<std::uint64_t> used_{0};
};

class LoggingAllocator final : public Allocator {
 public:
  LoggingAllocator(std::shared_ptr<Allocator> upstream, std::function<void(std::string_view)> sink)
      : upstream_(std::move(upstream)), sink_(std::move(sink)) {}

  std::uint64_t allocate(const StreamView& stream, std::uint64_t bytes) override {
    std::uint64_t address = 0;
    try {
      address = upstream_->allocate(stream, bytes);
    } catch (...) {
      tell("failed", stream, 0, bytes);
      throw;
    }
    tell("allocate", stream, address, bytes);
    return address;
  }
  void deallocate(const StreamView& stream, std::uint64_t address, std::uint64_t bytes) override {
    tell("free", stream, address, bytes);
    try {
      upstream_->deallocate(stream, address, bytes);
    } catch (...) {
      tell("refused", stream, address, bytes);
      throw;
    }
  }

 private:
  void tell(const char* what, const StreamView& stream, std::uint64_t address, std::uint64_t bytes) noexcept {
    try {
      sink_(fmt::format("{},{},{},{:#x},{}", what, ::syscall(SYS_gettid), stream.id(), address, bytes));
    } catch (...) {
      report_current("", "logging_allocator");
    }
  }

  const std::shared_ptr<Allocator> upstream_;
  const std::function<void(std::string_view)> sink_;
};

class FailingAllocator final : public Allocator {
 public:
  FailingAllocator(std::shared_ptr<Allocator> upstream, std::uint64_t nth, bool for_good) noexcept
      : upstream_(std::move(upstream)), nth_(nth), for_good_(for_good) {}

  std::uint64_t allocate(const StreamView& stream, std::uint64_t bytes) override {
    if (bytes != 0) {
      const std::uint64_t number = count_.fetch_add(1, std::memory_order_relaxed) + 1;
      if (number == nth_ || (for_good_ && number > nth_)) {
        MemoryFigures figures;
        figures.requested = bytes;
        refuse(stream, "failing_allocator", fmt::format("allocation {} fails, as it was told to", number), figures);
      }
    }
    return upstream_->allocate(stream, bytes);
  }
  void deallocate(const StreamView& stream, std::uint64_t address, std::uint64_t bytes) override {
    upstream_->deallocate(stream, address, bytes);
  }

 private:
  const std::shared_ptr<Allocator> upstream_;
  const std::uint64_t nth_;
  const bool for_good_;
  std::atomic<std::uint64_t> count_{0};
};

}  // namespace
}  // namespace detail

std::shared_ptr<Allocator> limit_allocator(std::shared_ptr<Allocator> upstream, std::uint64_t limit) {
  return std::make_shared<detail::LimitAllocator>(detail::required(std::move(upstream), "limit_allocator"), limit);
}

std::shared_ptr<Allocator> logging_allocator(std::shared_ptr<Allocator> upstream,
                                             std::function<void(std::string_view)> sink) {
  constexpr const char* operation = "logging_allocator";
  upstream = detail::required(std::move(upstream), operation);
  if (!sink) detail::fail(ErrorCode::invalid_argument, "", operation, "the sink is empty");
  return std::make_shared<detail::LoggingAllocator>(std::move(upstream), std::move(sink));
}

std::shared_ptr<Allocator> failing_allocator(std::shared_ptr<Allocator> upstream, std::uint64_t nth, bool for_good) {
  constexpr const char* operation = "failing_allocator";
  upstream = detail::required(std::move(upstream), operation);
  if (nth == 0) {
    detail::fail(ErrorCode::invalid_argument, "", operation, "there is no allocation 0\nthe first one is 1");
  }
  return std::make_shared<detail::FailingAllocator>(std::move(upstream), nth, for_good);
}

}  // namespace anyplace

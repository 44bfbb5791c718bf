// SPDX-License-Identifier: Apache-2.0
// VendorListener: the interface to a tool of one kind (NVTX, ROCTX, ITT).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "anyplace/annotate.h"

namespace anyplace::detail {

/// An annotation for a tool. The text ends with '\0' and has 64 KiB at most.
struct VendorCall {
  const char* text;
  const annotate::Attributes* attributes;
};

/// A tool. Each function is called on the annotating thread, by several threads at once, and the last two under the
/// registry's lock. An exception comes from the tool, which is then called no more.
class VendorListener {
 public:
  VendorListener() = default;
  VendorListener(const VendorListener&) = delete;  // tools keep its address
  VendorListener& operator=(const VendorListener&) = delete;
  virtual ~VendorListener() = default;

  virtual void push(const VendorCall& call) = 0;
  virtual void pop(std::uint32_t domain) = 0;
  virtual void mark(const VendorCall& call) = 0;
  /// Begins the range with our id `id`, and returns the tool's id of it.
  virtual std::uint64_t start(const VendorCall& call, std::uint64_t id) = 0;
  /// Ends the range with the tool's id `id`.
  virtual void end(std::uint32_t domain, std::uint64_t id) = 0;
  virtual void name_thread(const char* name) = 0;
  virtual void domain_added(std::uint32_t domain, const char* name) = 0;
  virtual void category_added(std::uint32_t category, const char* name) = 0;
};

/// The result of looking for a tool. `listener` is the tool, if it can be used, and `problem` says what is wrong. If
/// both are empty, no tool was asked for, and `idle` says so.
struct OpenedVendor {
  std::unique_ptr<VendorListener> listener;
  std::string library;
  std::string problem;
  std::string idle;
};

/// These open a tool, and never close it. `named` says that ANYPLACE_ANNOTATE names this kind, which is then expected
/// to be there.
OpenedVendor open_nvtx(bool named);
OpenedVendor open_roctx(bool named);
OpenedVendor open_itt(bool named);

}  // namespace anyplace::detail

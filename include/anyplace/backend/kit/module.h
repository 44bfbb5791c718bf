// SPDX-License-Identifier: Apache-2.0
//
// Module: a loaded image and the kernels of it that were asked for. RetiredModules unloads it when nothing that is
// queued can need it.
//
// `Vendor` supplies the vendor's calls. All its members are static:
//
//   Device, Scope, End     a device with retired_modules() (retired_modules.h); DeviceScope and EndScope of
//                          device_base.h, or with the same members
//   Native, Function       types: the vendor's handles of a module and of a function in it
//   Kernel                 the backend's class, constructed of (Device&, Function, const char* name) in a Scope
//   Native load(Device&, const anyplace_module_desc&)        throws INVALID_IMAGE, with the reason
//   Called<Result> find(Native, const char* name, Function&) noexcept
//   Result not_found       what find() returns where there is no such function
//   Called<Result> find_variable(Native, const char* name, anyplace_global&) noexcept; not_found as of find()
//   const char* names_tool which shows the names that an image has: "cuobjdump -elf"
//   Called<Result> unload(Native) noexcept
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "../abi.h"
#include "results.h"

namespace anyplace::backend {

/// Thread-safe.
template <class Vendor>
class Module {
 public:
  using Device = typename Vendor::Device;
  using Kernel = typename Vendor::Kernel;
  using Native = typename Vendor::Native;

  /// Loads an image. Throws INVALID_IMAGE, and what the vendor reports.
  Module(Device& device, const anyplace_module_desc& desc) : device_(device), native_(Vendor::load(device, desc)) {}
  Module(const Module&) = delete;  // it owns the vendor's module
  Module& operator=(const Module&) = delete;

  /// Finds a kernel; a name that is asked for again gives the same object. Throws NO_SUCH_KERNEL.
  Kernel& kernel(const char* name) {
    const std::lock_guard lock(mutex_);
    if (const auto known = kernels_.find(name); known != kernels_.end()) return *known->second;
    const typename Vendor::Scope scope(device_);
    typename Vendor::Function function{};
    const auto made = Vendor::find(native_, name, function);
    if (made.result == Vendor::not_found) {
      Device::Vendor::Results::fail(made.result, made.call, ANYPLACE_STATUS_NO_SUCH_KERNEL,
                                    std::string("the module has no kernel \"") + name +
                                        "\"; C++ mangles names that aren't extern \"C\" (" + Vendor::names_tool +
                                        " shows them)");
    }
    device_.check(made);
    return *kernels_.emplace(name, std::make_unique<Kernel>(device_, function, name)).first->second;
  }
  /// Finds a variable of the module. Throws NO_SUCH_GLOBAL.
  void global(const char* name, anyplace_global& out) const {
    const typename Vendor::Scope scope(device_);
    const auto found = Vendor::find_variable(native_, name, out);
    if (found.result == Vendor::not_found) {
      Device::Vendor::Results::fail(
          found.result, found.call, ANYPLACE_STATUS_NO_SUCH_GLOBAL,
          std::string("the module has no variable \"") + name + "\" (" + Vendor::names_tool + " shows the names)");
    }
    device_.check(found);
  }
  /// The vendor's module.
  Native native() const noexcept { return native_; }

  /// Destroys the module once nothing that is queued can need it. Never waits.
  static void unload(Module* module) {
    const std::unique_ptr<Module> ended(module);
    Device& device = ended->device_;
    const typename Vendor::End scope(device);
    if (!device.lost() && device.retired_modules().keep_until_over(ended->native_)) return;
    scope.end([&] { return Vendor::unload(ended->native_); });
  }

 private:
  Device& device_;
  const Native native_;
  std::mutex mutex_;  // guards kernels_; the vendor is called under it
  std::map<std::string, std::unique_ptr<Kernel>, std::less<>> kernels_;
};

}  // namespace anyplace::backend

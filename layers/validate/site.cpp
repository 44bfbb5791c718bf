// SPDX-License-Identifier: Apache-2.0
#include "site.h"

#include <link.h>
#include <unwind.h>

#include <cstdio>
#include <cstring>
#include <string_view>

#include "symbols.h"

namespace anyplace::validate {

bool Sites::is_own(std::uintptr_t address) const noexcept {
  const std::vector<Module>* const own = own_.load(std::memory_order_acquire);
  if (own == nullptr) return false;
  for (const Module& module : *own) {
    if (address >= module.begin && address < module.end) return true;
  }
  return false;
}

void Sites::learn_modules() {
  auto* const found = new std::vector<Module>();
  const auto add = [](dl_phdr_info* info, std::size_t, void* to) {
    const std::string_view path(info->dlpi_name == nullptr ? "" : info->dlpi_name);
    const std::string_view file = path.substr(path.rfind('/') + 1);
    const bool is_own = file.starts_with("libanyplace.so") || file.starts_with("libanyplace_layer_") ||
                        file.starts_with("libanyplace_backend_");
    if (!is_own) return 0;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
      const ElfW(Phdr)& part = info->dlpi_phdr[i];
      if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
      const std::uintptr_t begin = info->dlpi_addr + part.p_vaddr;
      static_cast<std::vector<Module>*>(to)->push_back({begin, begin + part.p_memsz});
    }
    return 0;
  };
  ::dl_iterate_phdr(add, found);
  own_.store(found, std::memory_order_release);
}

Sites::Frames Sites::capture() const noexcept {
  struct Walk {
    const Sites& sites;
    Frames frames;
    int steps = 0;
  } walk{*this, {}, 0};
  const auto step = [](_Unwind_Context* context, void* to) {
    Walk& walk = *static_cast<Walk*>(to);
    const std::uintptr_t address = _Unwind_GetIP(context);
    if (++walk.steps > 48 || address == 0) return _URC_END_OF_STACK;
    // A return address lies behind the call, so the call itself is one byte before.
    if (walk.sites.is_own(address - 1)) return _URC_NO_REASON;
    walk.frames.address[walk.frames.count++] = reinterpret_cast<void*>(address - 1);
    return walk.frames.count == most_frames ? _URC_END_OF_STACK : _URC_NO_REASON;
  };
  _Unwind_Backtrace(step, &walk);
  return walk.frames;
}

SiteId Sites::id_of(const Frames& frames) {
  std::uint64_t hash = 1469598103934665603u;
  for (int i = 0; i < frames.count; ++i) {
    hash = (hash ^ reinterpret_cast<std::uintptr_t>(frames.address[i])) * 1099511628211u;
  }
  const auto [from, to] = by_hash_.equal_range(hash);
  for (auto found = from; found != to; ++found) {
    const Frames& known = sites_[found->second].frames;
    if (known.count == frames.count &&
        std::memcmp(known.address, frames.address, sizeof(void*) * static_cast<std::size_t>(frames.count)) == 0) {
      return found->second;
    }
  }
  const auto id = static_cast<SiteId>(sites_.size());
  sites_.emplace_back().frames = frames;
  by_hash_.emplace(hash, id);
  return id;
}

void Sites::symbolise(Site& site) {
  if (site.symbolised) return;
  site.symbolised = true;
  for (int i = 0; i < site.frames.count; ++i) {
    const Symbol symbol = symbol_at(reinterpret_cast<std::uintptr_t>(site.frames.address[i]));
    char offset[32];
    std::snprintf(offset, sizeof(offset), "+0x%llx", static_cast<unsigned long long>(symbol.offset));
    const std::string module = symbol.module.empty() ? "unknown" : symbol.module;
    site.texts.push_back((symbol.function.empty() ? "?" : symbol.function) + " (" + module + offset + ")");
    site.functions.push_back(symbol.function.empty() ? "?" : symbol.function);
    if (symbol.function == "main") break;
  }
}

const std::vector<std::string>& Sites::frames_of(SiteId site) {
  symbolise(sites_[site]);
  return sites_[site].texts;
}

const std::vector<std::string>& Sites::functions_of(SiteId site) {
  symbolise(sites_[site]);
  return sites_[site].functions;
}

}  // namespace anyplace::validate

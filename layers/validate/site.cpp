// SPDX-License-Identifier: Apache-2.0
#include "site.h"

#include <link.h>
#include <unwind.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "symbols.h"
#include "thread.h"

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
  auto found = std::make_unique<std::vector<Module>>();
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
  ::dl_iterate_phdr(add, found.get());
  own_.store(all_own_.emplace_back(std::move(found)).get(), std::memory_order_release);
}

void Sites::walk(CallChain& chain, std::uintptr_t from) const noexcept {
  struct Walk {
    const Sites& sites;
    CallChain& chain;
    std::uintptr_t from;
  } walk{*this, chain, from};
  const auto step = [](_Unwind_Context* context, void* to) {
    const Walk& walk = *static_cast<Walk*>(to);
    CallChain& chain = walk.chain;
    const std::uintptr_t address = _Unwind_GetIP(context);
    if (chain.count == CallChain::most_steps || address == 0) return _URC_END_OF_STACK;
    const auto stack = static_cast<std::uintptr_t>(_Unwind_GetCFA(context));
    if (stack <= walk.from) return _URC_NO_REASON;  // a frame of the walk itself
    chain.steps[chain.count++] = {stack, address};
    // A return address lies behind the call, so the call itself is one byte before.
    if (walk.sites.is_own(address - 1)) return _URC_NO_REASON;
    if (chain.address_count == 0) chain.first_outside = chain.count - 1;
    chain.address[chain.address_count++] = reinterpret_cast<void*>(address - 1);
    return chain.address_count == most_frames ? _URC_END_OF_STACK : _URC_NO_REASON;
  };
  _Unwind_Backtrace(step, &walk);
  if (chain.address_count == 0) chain.first_outside = chain.count;
}

namespace {

// Sanitizers watch the words between return addresses, and other processors keep those elsewhere.
#if !defined(__x86_64__) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool chains_are_read = false;
#elif !defined(__has_feature)
constexpr bool chains_are_read = true;
#else
constexpr bool chains_are_read = !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer);
#endif

}  // namespace

[[gnu::noinline]] Sites::Frames Sites::capture() const noexcept {
  const auto from = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  const auto caller = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
  CallChains& chains = this_thread().chains;
  CallChain* chain = chains_are_read ? chains.find(from, caller) : nullptr;
  if (chain == nullptr) {
    chain = chains.add(from, caller);
    if (chain == nullptr) return {};
    walk(*chain, from);
  }
  Frames frames;
  frames.count = chain->address_count;
  std::memcpy(frames.address, chain->address, sizeof(frames.address));
  frames.chain = chain;
  return frames;
}

SiteId Sites::id_of(const Frames& frames) {
  if (frames.chain != nullptr && frames.chain->known_site != 0) return frames.chain->known_site - 1;
  std::uint64_t hash = 1469598103934665603u;
  for (int i = 0; i < frames.count; ++i) {
    hash = (hash ^ reinterpret_cast<std::uintptr_t>(frames.address[i])) * 1099511628211u;
  }
  const auto [from, to] = by_hash_.equal_range(hash);
  for (auto found = from; found != to; ++found) {
    const Frames& known = sites_[found->second].frames;
    if (known.count == frames.count &&
        std::memcmp(known.address, frames.address, sizeof(void*) * static_cast<std::size_t>(frames.count)) == 0) {
      if (frames.chain != nullptr) frames.chain->known_site = found->second + 1;
      return found->second;
    }
  }
  const auto id = static_cast<SiteId>(sites_.size());
  sites_.emplace_back().frames = frames;
  sites_.back().frames.chain = nullptr;
  by_hash_.emplace(hash, id);
  if (frames.chain != nullptr) frames.chain->known_site = id + 1;
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

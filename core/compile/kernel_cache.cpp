// SPDX-License-Identifier: Apache-2.0
#include "anyplace/kernel_cache.h"

#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

#include "compile/cache.h"
#include "runtime/call.h"

namespace anyplace::kernel_cache {

std::string folder() {
  detail::enter("kernel_cache::folder");
  const std::optional<detail::KernelCache> cache = detail::KernelCache::find();
  return cache ? cache->folder() : "";
}

std::string problem() {
  detail::enter("kernel_cache::problem");
  std::string problem;
  detail::KernelCache::find(&problem);
  return problem;
}

std::string warning() {
  detail::enter("kernel_cache::warning");
  std::string warning;
  detail::KernelCache::find(nullptr, &warning);
  return warning;
}

std::vector<Entry> entries() {
  detail::enter("kernel_cache::entries");
  std::vector<Entry> all;
  const std::optional<detail::KernelCache> cache = detail::KernelCache::find();
  if (!cache || cache->folder().empty()) return all;
  const std::vector<detail::KernelCache::Entry> kept = cache->entries();
  for (auto it = kept.rbegin(); it != kept.rend(); ++it) {
    const detail::KernelCache::Facts facts = detail::KernelCache::facts_of(it->path);
    all.push_back({it->path, it->bytes, it->used_ns, facts.source, facts.compiler, facts.format, facts.architecture,
                   facts.problem});
  }
  return all;
}

std::uint64_t clear() {
  constexpr const char* operation = "kernel_cache::clear";
  detail::enter(operation);
  std::uint64_t count = 0;
  const std::optional<detail::KernelCache> cache = detail::KernelCache::find();
  if (!cache || cache->folder().empty()) return count;
  // A compilation whose unfinished entry is deleted here merely keeps nothing.
  for (const std::string& path : cache->files()) {
    std::error_code error;
    const bool is_gone = std::filesystem::remove(path, error);
    if (error) {
      detail::fail(ErrorCode::backend_failed, "", operation, fmt::format("can't delete {}: {}", path, error.message()));
    }
    if (is_gone && path.ends_with(detail::KernelCache::suffix)) ++count;
  }
  return count;
}

}  // namespace anyplace::kernel_cache

// SPDX-License-Identifier: Apache-2.0
#include "annotate/registry.h"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "annotate/listeners.h"
#include "runtime/call.h"
#include "runtime/no_destructor.h"
#include "runtime/text.h"

namespace anyplace {
namespace detail {
namespace {

constexpr std::size_t longest_name = 1024;

/// Names and their numbers, which begin at 1. They are read without the lock.
template <std::uint32_t limit>
struct NameTable {
  std::array<std::atomic<const std::string*>, limit> names{};
  std::uint32_t count = 1;

  std::string_view at(std::uint32_t number) const noexcept {
    if (number == 0 || number >= limit) return {};
    const std::string* const name = names[number].load(std::memory_order_acquire);
    return name == nullptr ? std::string_view() : std::string_view(*name);
  }
  std::uint32_t find(std::string_view name) const noexcept {
    for (std::uint32_t number = 1; number < count; ++number) {
      if (at(number) == name) return number;
    }
    return 0;
  }
};

struct Registry {
  std::mutex mutex;  // guards the counts and the adding of names; tools are told of names under it
  NameTable<max_domains> domains;
  NameTable<max_categories> categories;
};
constinit NoDestructor<Registry> registry_storage;
Registry& registry() noexcept { return registry_storage.value; }

void check_name(std::string_view name, const char* operation) {
  const char* problem = nullptr;
  if (name.empty()) problem = "the name is empty";
  if (name.size() > longest_name) problem = "the name has more than 1024 bytes";
  if (name.find('\0') != std::string_view::npos) problem = "the name has a '\\0' in it";
  if (problem == nullptr) return;
  fail(ErrorCode::invalid_argument, "", operation,
       fmt::format("{}: {}\na name has 1 to 1024 bytes, none of them 0\nsee docs/annotations.md", problem,
                   in_quotes(name)));
}

template <std::uint32_t limit>
std::uint32_t add(NameTable<limit>& table, std::string_view name, const char* what, const char* operation,
                  void (VendorListener::*tell)(std::uint32_t, const char*)) {
  check_name(name, operation);
  // A forked child's lock may be held by a thread that isn't there, and a tool may ask for a domain while it is told of
  // one.
  if (annotations_silent() || inside_listener()) return 0;
  const std::lock_guard lock(registry().mutex);
  if (const std::uint32_t known = table.find(name)) return known;
  if (table.count == limit) {
    fail(ErrorCode::invalid_argument, "", operation,
         fmt::format(
             "there are {} {} already, and {} would be one more\nmake them once and keep them: what is different "
             "each time belongs into names and payloads\nsee docs/annotations.md",
             limit - 1, what, in_quotes(name)));
  }
  auto kept = std::make_unique<const std::string>(name);
  const std::uint32_t number = table.count++;
  table.names[number].store(kept.get(), std::memory_order_release);
  const char* const text = kept.release()->c_str();
  each_vendor([&](VendorListener& listener, std::size_t) { (listener.*tell)(number, text); });
  return number;
}

}  // namespace

std::string_view domain_name(std::uint32_t domain) noexcept { return registry().domains.at(domain); }
std::string_view category_name(std::uint32_t category) noexcept { return registry().categories.at(category); }

void introduce(VendorListener& listener, void (*publish)(VendorListener&)) {
  const std::lock_guard lock(registry().mutex);
  for (std::uint32_t number = 1; number < registry().domains.count; ++number) {
    listener.domain_added(number, registry().domains.at(number).data());
  }
  for (std::uint32_t number = 1; number < registry().categories.count; ++number) {
    listener.category_added(number, registry().categories.at(number).data());
  }
  publish(listener);
}

}  // namespace detail

namespace annotate {

Domain::Domain(std::string_view name)
    : number_(anyplace::detail::add(anyplace::detail::registry().domains, name, "domains", "annotate::Domain",
                                    &anyplace::detail::VendorListener::domain_added)) {}

Category::Category(std::string_view name)
    : number_(anyplace::detail::add(anyplace::detail::registry().categories, name, "categories", "annotate::Category",
                                    &anyplace::detail::VendorListener::category_added)) {}

}  // namespace annotate
}  // namespace anyplace

// SPDX-License-Identifier: Apache-2.0
#include "annotate/libraries.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <string_view>
#include <utility>

#include "annotate/listeners.h"
#include "annotate/registry.h"
#include "annotate/vendor_listener.h"
#include "anyplace/backend/kit/trust.h"
#include "plugins/elf_check.h"
#include "runtime/call.h"
#include "runtime/no_destructor.h"
#include "runtime/text.h"

namespace anyplace {
namespace detail {
namespace {

struct Kind {
  const char* name;
  OpenedVendor (*open)(bool named);
};
constexpr std::array<Kind, vendor_kinds> kinds{{{"nvtx", open_nvtx}, {"roctx", open_roctx}, {"itt", open_itt}}};

struct Libraries {
  std::mutex mutex;  // held while tools are looked for; guards the rest
  bool looked = false;
  std::array<annotate::ListenerLibrary, vendor_kinds> found;
};
NoDestructor<Libraries> libraries_storage;
Libraries& libraries() noexcept { return libraries_storage.value; }

/// Writes a warning. It never throws, because a program mustn't fail over a warning.
void warn(std::string_view text) noexcept {
  std::fprintf(stderr, "anyplace: warning: %.*s\n", static_cast<int>(text.size()), text.data());
}

/// The kinds of tools that ANYPLACE_ANNOTATE asks for.
struct Wanted {
  bool by_signs = true;  ///< each kind is used if its own signs ask for it (docs/annotations.md)
  std::array<bool, vendor_kinds> named{};
};

Wanted read_variable() {
  const char* const value = std::getenv("ANYPLACE_ANNOTATE");
  if (value == nullptr || *value == '\0' || std::string_view(value) == "auto") return {};
  Wanted wanted{.by_signs = false};
  if (std::string_view(value) == "off") return wanted;
  for (std::string_view rest = value;;) {
    const std::string_view word = rest.substr(0, rest.find(','));
    bool known = false;
    for (std::size_t kind = 0; kind < vendor_kinds; ++kind) {
      if (word == kinds[kind].name) known = wanted.named[kind] = true;
    }
    if (!known) {
      warn(
          fmt::format("ANYPLACE_ANNOTATE is {}; allowed are auto, off, and nvtx, roctx and itt with commas between; it "
                      "counts as auto",
                      in_quotes(value)));
      return {};
    }
    if (word.size() == rest.size()) return wanted;
    rest.remove_prefix(word.size() + 1);
  }
}

void publish_nvtx(VendorListener& listener) { add_vendor(0, listener); }
void publish_roctx(VendorListener& listener) { add_vendor(1, listener); }
void publish_itt(VendorListener& listener) { add_vendor(2, listener); }
constexpr std::array<void (*)(VendorListener&), vendor_kinds> publish{publish_nvtx, publish_roctx, publish_itt};

void open_kind(std::size_t kind, const Wanted& wanted) {
  annotate::ListenerLibrary& found = libraries().found[kind];
  found.name = kinds[kind].name;
  if (!wanted.by_signs && !wanted.named[kind]) {
    found.reason = "ANYPLACE_ANNOTATE leaves it out";
    return;
  }
  OpenedVendor opened;
  try {
    opened = kinds[kind].open(wanted.named[kind]);
    if (opened.listener) introduce(*opened.listener, publish[kind]);
  } catch (const std::exception& exception) {
    opened.listener.reset();
    opened.problem = fmt::format("it threw while it was opened: {}", one_line(exception.what()));
  } catch (...) {
    opened.listener.reset();
    opened.problem = "it threw while it was opened";
  }
  found.library = opened.library;
  found.active = static_cast<bool>(opened.listener);
  found.reason = opened.problem.empty() ? opened.idle : opened.problem;
  static_cast<void>(opened.listener.release());  // a tool stays until the process ends
  if (!opened.problem.empty()) {
    warn(fmt::format("annotations {} {}: {}{}{}; see docs/annotations.md",
                     found.active ? "go nowhere yet in" : "don't go to", found.name,
                     found.library.empty() ? "" : in_quotes(found.library), found.library.empty() ? "" : ": ",
                     opened.problem));
  }
}

}  // namespace

void look_for_libraries() noexcept {
  const std::lock_guard lock(libraries().mutex);
  if (std::exchange(libraries().looked, true)) return;
  watch_forks_for_annotations();
  try {
    const Wanted wanted = read_variable();
    for (std::size_t kind = 0; kind < vendor_kinds; ++kind) open_kind(kind, wanted);
  } catch (...) {
    warn("there is no memory to look for tools that hear annotations");
  }
  annotate::detail::listeners.fetch_and(~not_looked_for, std::memory_order_release);
}

void note_library_failed(std::size_t kind) noexcept {
  try {
    std::string said = "an exception that is no std::exception";
    try {
      throw;
    } catch (const std::exception& exception) {
      said = one_line(exception.what());
    } catch (...) {
    }
    const std::string reason = fmt::format("it threw in an annotation: {}; it is called no more", said);
    warn(fmt::format("annotations don't go to {} any more: {}; see docs/annotations.md", kinds[kind].name, reason));
    const std::lock_guard lock(libraries().mutex);
    libraries().found[kind].active = false;
    libraries().found[kind].reason = reason;
  } catch (...) {  // there is no memory for the reason; the tool is called no more all the same
  }
}

std::string tool_file_problem(const std::string& path) {
  if (path.find('/') == std::string::npos) return "";
  int shortage = 0;
  if (std::string problem = file_problem(path, &shortage); !problem.empty()) return problem;
  const backend::Distrust found = backend::distrust_of(path);
  return found.remedy.empty() ? found.problem : found.problem + ": " + found.remedy;
}

std::string linker_error() {
  const char* const said = dlerror();
  return one_line(bounded(said == nullptr ? "the dynamic linker doesn't say why" : said));
}

}  // namespace detail

namespace annotate {

std::vector<ListenerLibrary> listener_libraries() {
  using namespace anyplace::detail;
  if (annotations_silent()) {
    fail(ErrorCode::forked, "", "annotate::listener_libraries", "annotations are silent in the child of a fork");
  }
  if (AnnotatingThread* const thread = calling_thread(); thread != nullptr && !thread->inside) {
    const InsideListener inside(thread);
    look_for_libraries();
  }
  const std::lock_guard lock(libraries().mutex);
  return {libraries().found.begin(), libraries().found.end()};
}

}  // namespace annotate
}  // namespace anyplace

// SPDX-License-Identifier: Apache-2.0
//
// ITT: the static part that a collector (VTune's, or ITT's reference collector) attaches to. INTEL_LIBITTNOTIFY64 names
// the collector, as for every program with ITT in it. Pushed ranges are tasks of the thread, started ones overlapped
// tasks, marks markers of the thread's track; categories, colours and payloads are metadata of those.
#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <unordered_map>

#include "annotate/itt_abi.h"
#include "annotate/libraries.h"
#include "annotate/registry.h"
#include "annotate/vendor_listener.h"

namespace anyplace::detail {
namespace {

using itt::no_id;

/// ITT keeps a string for ever: a program that makes up names without end must not fill its memory.
constexpr std::size_t most_strings = 16384;

/// The functions that a collector writes, and the record that it is given.
struct IttPart {
#define ANYPLACE_ITT_MEMBER(name, result, parameters, group) result(*name) parameters = nullptr;
  using Domain = itt::Domain;
  using StringHandle = itt::StringHandle;
  using Id = itt::Id;
  using Scope = itt::Scope;
  using MetadataType = itt::MetadataType;
  ANYPLACE_ITT_ENTRIES(ANYPLACE_ITT_MEMBER)
#undef ANYPLACE_ITT_MEMBER
  std::array<itt::ApiInfo, 13> list{};
  itt::Global global{};
};

IttPart& itt_part();

class IttLock {
 public:
  IttLock() noexcept { pthread_mutex_lock(&itt_part().global.mutex); }
  IttLock(const IttLock&) = delete;
  IttLock& operator=(const IttLock&) = delete;
  ~IttLock() { pthread_mutex_unlock(&itt_part().global.mutex); }
};

/// Adds a node with a copy of the text at the head of the list. Null if memory is lacking.
template <class Node>
Node* add_to(Node*& list, const char* Node::*text_of, const char* text, Node fresh) {
  auto* const node = new (std::nothrow) Node(fresh);
  char* const copy = node == nullptr ? nullptr : strdup(text);
  if (copy == nullptr) {
    delete node;
    return nullptr;
  }
  node->*text_of = copy;
  node->next = list;
  return list = node;
}

/// Makes domains for a collector without a function for it. They live for ever, as the collector may keep them.
itt::Domain* own_domain_create(const char* name) {
  if (name == nullptr) return nullptr;
  const IttLock lock;
  itt::Domain*& list = itt_part().global.domain_list;
  for (itt::Domain* each = list; each != nullptr; each = each->next) {
    if (std::strcmp(each->name, name) == 0) return each;
  }
  return add_to(list, &itt::Domain::name, name, itt::Domain{1, nullptr, nullptr, 0, nullptr, nullptr});
}
/// Makes strings for a collector without a function for it. IttListener asks for each text once, so the list, which can
/// be long, isn't searched.
itt::StringHandle* own_string_handle_create(const char* text) {
  if (text == nullptr) return nullptr;
  const IttLock lock;
  return add_to(itt_part().global.string_list, &itt::StringHandle::text, text, itt::StringHandle{});
}

void make_itt_part(IttPart& part) {
  part.domain_create = own_domain_create;
  part.string_handle_create = own_string_handle_create;
  std::size_t count = 0;
#define ANYPLACE_ITT_LIST(name, result, parameters, group)                                                        \
  part.list[count++] = {"__itt_" #name, reinterpret_cast<void**>(&part.name), reinterpret_cast<void*>(part.name), \
                        reinterpret_cast<void*>(part.name), itt::group};
  ANYPLACE_ITT_ENTRIES(ANYPLACE_ITT_LIST)
#undef ANYPLACE_ITT_LIST
  std::memcpy(part.global.magic, itt::magic, sizeof(itt::magic));
  part.global.version_major = 3;
  part.global.version_build = itt::version_build;
  // The mutex is recursive, because a collector may lock it while it calls the functions above.
  pthread_mutexattr_t recursive;
  pthread_mutexattr_init(&recursive);
  pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&part.global.mutex, &recursive);
  pthread_mutexattr_destroy(&recursive);
  part.global.mutex_initialized = 1;
  part.global.atomic_counter = 1;
  part.global.api_list = part.list.data();
}

IttPart& itt_part() {
  static IttPart* const part = [] {
    auto* const made = new IttPart;
    make_itt_part(*made);
    return made;
  }();
  return *part;
}

class IttListener final : public VendorListener {
 public:
  IttListener()
      : payload_key_(part_.string_handle_create("payload")),
        category_key_(part_.string_handle_create("category")),
        color_key_(part_.string_handle_create("color")),
        more_(part_.string_handle_create("(one of too many different names)")) {
    domain_added(0, "anyplace");
  }

  void push(const VendorCall& call) override {
    const itt::Domain* const domain = wanted(call.attributes->domain.number());
    if (domain == nullptr || part_.task_begin == nullptr) return;
    part_.task_begin(domain, no_id, no_id, string(call.text));
    add_metadata(domain, no_id, *call.attributes);  // without an id the metadata is for the current task
  }
  void pop(std::uint32_t number) override {
    const itt::Domain* const domain = wanted(number);
    if (domain != nullptr && part_.task_end != nullptr) part_.task_end(domain);
  }
  void mark(const VendorCall& call) override {
    const itt::Domain* const domain = wanted(call.attributes->domain.number());
    if (domain == nullptr || part_.marker == nullptr) return;
    if (!has_metadata(*call.attributes)) return part_.marker(domain, no_id, string(call.text), itt::scope_track);
    const itt::Id id = id_of(marks_.fetch_add(1, std::memory_order_relaxed) + 1, &marks_);
    if (part_.id_create != nullptr) part_.id_create(domain, id);
    part_.marker(domain, id, string(call.text), itt::scope_track);
    add_metadata(domain, id, *call.attributes);
    if (part_.id_destroy != nullptr) part_.id_destroy(domain, id);
  }
  std::uint64_t start(const VendorCall& call, std::uint64_t number) override {
    const itt::Domain* const domain = wanted(call.attributes->domain.number());
    if (domain == nullptr || part_.task_begin_overlapped == nullptr) return 0;
    const itt::Id id = id_of(number, this);
    if (part_.id_create != nullptr) part_.id_create(domain, id);
    part_.task_begin_overlapped(domain, id, no_id, string(call.text));
    add_metadata(domain, id, *call.attributes);
    return number;
  }
  void end(std::uint32_t domain_number, std::uint64_t number) override {
    const itt::Domain* const domain = wanted(domain_number);
    if (number == 0 || domain == nullptr || part_.task_end_overlapped == nullptr) return;
    const itt::Id id = id_of(number, this);
    part_.task_end_overlapped(domain, id);
    if (part_.id_destroy != nullptr) part_.id_destroy(domain, id);
  }
  void name_thread(const char* name) override {
    if (part_.thread_set_name != nullptr) part_.thread_set_name(name);
  }
  void domain_added(std::uint32_t number, const char* name) override {
    domains_[number].store(part_.domain_create(name), std::memory_order_release);
  }
  void category_added(std::uint32_t /*category*/, const char* /*name*/) override {}

 private:
  /// The domain of that number; null if the collector doesn't want its annotations.
  const itt::Domain* wanted(std::uint32_t number) const noexcept {
    const itt::Domain* const domain = domains_[number < max_domains ? number : 0].load(std::memory_order_acquire);
    return domain != nullptr && domain->flags != 0 ? domain : nullptr;
  }
  /// An address of the object that numbers them makes ids unique.
  static itt::Id id_of(std::uint64_t number, const void* maker) noexcept {
    return {reinterpret_cast<std::uintptr_t>(maker), number, 0};
  }

  itt::StringHandle* string(const char* text) {
    const std::lock_guard lock(mutex_);
    if (const auto found = strings_.find(text); found != strings_.end()) return found->second;
    if (strings_.size() == most_strings) return more_;
    itt::StringHandle* const made = part_.string_handle_create(text);
    strings_.emplace(text, made);
    return made;
  }

  static bool has_metadata(const annotate::Attributes& attributes) noexcept {
    return attributes.color || attributes.category.number() != 0 ||
           attributes.payload.kind() != annotate::Payload::Kind::none;
  }
  void add_metadata(const itt::Domain* domain, itt::Id id, const annotate::Attributes& attributes) {
    const std::string_view category = category_name(attributes.category.number());
    if (!category.empty() && part_.metadata_str_add != nullptr) {
      part_.metadata_str_add(domain, id, category_key_, category.data(), category.size());
    }
    if (part_.metadata_add == nullptr) return;
    if (attributes.color) {
      std::uint32_t color = *attributes.color;
      part_.metadata_add(domain, id, color_key_, itt::metadata_u32, 1, &color);
    }
    add_payload(domain, id, attributes.payload);
  }
  void add_payload(const itt::Domain* domain, itt::Id id, const annotate::Payload& payload) {
    std::int64_t i64 = payload.i64();
    std::uint64_t u64 = payload.u64();
    double f64 = payload.f64();
    switch (payload.kind()) {
      case annotate::Payload::Kind::none:
        return;
      case annotate::Payload::Kind::i64:
        return part_.metadata_add(domain, id, payload_key_, itt::metadata_s64, 1, &i64);
      case annotate::Payload::Kind::u64:
        return part_.metadata_add(domain, id, payload_key_, itt::metadata_u64, 1, &u64);
      case annotate::Payload::Kind::f64:
        return part_.metadata_add(domain, id, payload_key_, itt::metadata_f64, 1, &f64);
    }
  }

  IttPart& part_ = itt_part();
  itt::StringHandle* const payload_key_;
  itt::StringHandle* const category_key_;
  itt::StringHandle* const color_key_;
  itt::StringHandle* const more_;
  std::array<std::atomic<itt::Domain*>, max_domains> domains_{};
  std::atomic<std::uint64_t> marks_{0};
  std::mutex mutex_;  // guards strings_; the collector makes strings under it
  std::unordered_map<std::string, itt::StringHandle*> strings_;
};

/// Attaches to the collector as ITT's static part does: it fills in the pointers itself or, before ITT 3, exports the
/// functions.
std::string attach(void* library) {
  IttPart& part = itt_part();
  part.global.library = library;
  if (const auto init = reinterpret_cast<itt::ApiInit>(dlsym(library, "__itt_api_init"))) {
    init(&part.global, itt::group_all);
  } else if (dlsym(library, "__itt_api_version") != nullptr) {
    for (const itt::ApiInfo& entry : part.list) {
      void* const found = entry.name == nullptr ? nullptr : dlsym(library, entry.name);
      if (found != nullptr) *entry.function = found;
    }
  } else {
    return "it has neither __itt_api_init nor __itt_api_version, so it is no collector for ITT";
  }
  part.global.api_initialized = 1;
  if (part.task_begin == nullptr && part.task_begin_overlapped == nullptr && part.marker == nullptr) {
    return "it takes neither tasks nor markers";
  }
  if (part.domain_create == nullptr || part.string_handle_create == nullptr) {
    return "it took away the functions that make domains and strings";
  }
  return "";
}

}  // namespace

OpenedVendor open_itt(bool named) {
  OpenedVendor opened;
  const char* const path = secure_getenv("INTEL_LIBITTNOTIFY64");
  if (path == nullptr || *path == '\0') {
    opened.idle = "no collector asks for ITT: INTEL_LIBITTNOTIFY64 isn't set";
    if (named) {
      opened.problem = "ANYPLACE_ANNOTATE names it, but INTEL_LIBITTNOTIFY64, which names the collector, isn't set";
    }
    return opened;
  }
  opened.library = path;
  opened.problem = tool_file_problem(path);
  if (!opened.problem.empty()) return opened;
  void* const library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) {
    opened.problem = linker_error();
    return opened;
  }
  opened.problem = attach(library);
  if (opened.problem.empty()) opened.listener = std::make_unique<IttListener>();
  return opened;
}

}  // namespace anyplace::detail

// SPDX-License-Identifier: Apache-2.0
#include "plugins/registry.h"

#include <fmt/format.h>

#include <cstdlib>
#include <map>
#include <mutex>
#include <new>
#include <utility>

#include "plugins/automatic_order.h"
#include "plugins/layer_stack.h"
#include "plugins/names.h"
#include "plugins/not_found.h"
#include "plugins/plugin_load.h"
#include "plugins/plugin_search.h"
#include "runtime/asymmetric_fence.h"
#include "runtime/call.h"
#include "runtime/exit.h"
#include "runtime/no_destructor.h"
#include "runtime/shortage.h"
#include "runtime/subsystem.h"
#include "runtime/switch_variable.h"

namespace anyplace::detail {
namespace {

/// Why a file was refused.
struct Verdict {
  ErrorCode code = ErrorCode::ok;
  std::string reason;
  std::string remedy;
};

/// The progress of a file whose loading was begun and may have to be continued.
struct Begun {
  Backend* backend = nullptr;
  LoadProgress progress;
};

/// A name that plugin files exist for. Never destroyed.
struct Name {
  std::mutex load_mutex;  // held while plugins of this name are loaded; taken before Registry::mutex
  std::map<std::string, Begun, std::less<>> begun;  ///< by the file's path; guarded by load_mutex

  // -- Guarded by Registry::mutex.
  std::string name;
  Backend* backend = nullptr;
  std::map<std::string, Verdict, std::less<>> verdicts;  ///< by path
  bool all_refused = false;  ///< every file was refused; cleared when register_plugin brings another one
};

struct Registry {
  std::mutex mutex;  // guards names, backends and the members of Name below its line; a leaf
  std::map<std::string, std::unique_ptr<Name>, std::less<>> names;
  std::vector<std::unique_ptr<Backend>> backends;  ///< also refused ones: their plugins keep pointers to their hosts
};

NoDestructor<Registry> only_registry;  // never destroyed: see backend.h
Registry& registry() noexcept { return only_registry.value; }

Name& name_entry(const std::string& name) {
  const std::lock_guard lock(registry().mutex);
  const auto found = registry().names.find(name);
  if (found != registry().names.end()) return *found->second;
  auto made = std::make_unique<Name>();
  made->name = name;
  return *registry().names.emplace(name, std::move(made)).first->second;
}

/// The functions that the core offers to a backend. The context isn't set yet.
anyplace_host offer_host() noexcept {
  anyplace_host host{};
  host.struct_size = sizeof(host);
  host.abi_major = ANYPLACE_ABI_MAJOR;
  host.abi_minor = ANYPLACE_ABI_MINOR;
  for (const Subsystem* const subsystem : subsystems()) {
    if (subsystem->offer != nullptr) subsystem->offer(host);
  }
  return host;
}

/// A new backend that isn't loaded yet.
Backend& make_backend(const PluginFile& file) {
  auto made = std::make_unique<Backend>();
  made->name = file.name;
  made->path = file.path;
  made->host = offer_host();
  made->host.context = made.get();
  const std::lock_guard lock(registry().mutex);
  return *registry().backends.emplace_back(std::move(made));
}

/// Makes the backend's devices. If it threw bad_alloc, the next call goes on from there.
void make_devices(Backend& backend, std::int32_t count) {
  backend.devices.reserve(static_cast<std::size_t>(count));
  for (std::int32_t index = 0; index < count; ++index) {
    if (static_cast<std::size_t>(index) == backend.devices.size()) {
      backend.devices.push_back(std::make_unique<DeviceState>());
    }
    DeviceState& device = *backend.devices[static_cast<std::size_t>(index)];
    device.table = &backend.table;
    device.self = backend.table.self;
    device.index = index;
    device.backend = &backend;
    device.place = fmt::format("{}:{}", backend.name, index);
    for (const Subsystem* const subsystem : subsystems()) {
      if (subsystem->device_made != nullptr) subsystem->device_made(device);
    }
  }
}

/// Tries to load one file, and puts the layers over it. Null if it is refused; the verdict is kept. Throws failures
/// that say nothing about the file (shortage.h, bad_alloc, a layer's); the next call then goes on from there.
Backend* try_file(Name& entry, const PluginFile& file, const std::vector<ChosenLayer>& layers) {
  Begun& begun = entry.begun[file.path];
  if (begun.backend == nullptr) begun.backend = &make_backend(file);
  Backend& backend = *begun.backend;
  LoadResult result = load_plugin(backend, begun.progress);
  if (result.code == ErrorCode::ok) put_layers(backend, layers);
  // Registered again, because handlers run in reverse order: this one runs before the destructors that the plugins have
  // registered by now.
  if (std::atexit(shut_down_at_exit) != 0) throw std::bad_alloc();
  if (result.code == ErrorCode::ok) {
    make_devices(backend, result.device_count);
    add_accepted(backend);
  }
  const std::lock_guard lock(registry().mutex);
  if (result.code == ErrorCode::ok) {
    entry.backend = &backend;
    return &backend;
  }
  if (begun.progress.filled) remove_initialised();
  entry.verdicts[file.path] = {result.code, std::move(result.reason), std::move(result.remedy)};
  return nullptr;
}

bool was_tried(const Name& entry, const std::string& path) {
  const std::lock_guard lock(registry().mutex);
  return entry.verdicts.contains(path);
}

/// A place whose backend is looked for, and who asks.
struct Wanted {
  const std::string& place;
  const std::vector<std::string>& layers;
  const char* operation;
};

/// Loads the first file of the name that is good. Null if there is none.
Backend* load(const std::string& name, const Wanted& wanted) {
  const std::vector<PluginFile> files = find_plugins(name);
  if (files.empty()) return nullptr;
  Name& entry = name_entry(name);
  const LoadingScope loading;
  const std::lock_guard one_at_a_time(entry.load_mutex);
  {
    const std::lock_guard lock(registry().mutex);
    if (entry.backend != nullptr || entry.all_refused) return entry.backend;
  }
  const std::vector<ChosenLayer> layers = chosen_layers(name, wanted.layers, wanted.place, wanted.operation);
  prepare_no_memory_error();
  // Reading these variables here makes a warning about a bad value appear at the first use of a backend.
  static_cast<void>(log_wanted());
  static_cast<void>(have_asymmetric_fence());
  watch_process();
  for (const PluginFile& file : files) {
    if (was_tried(entry, file.path)) continue;
    if (Backend* const backend = try_file(entry, file, layers)) return backend;
  }
  const std::lock_guard lock(registry().mutex);
  entry.all_refused = true;
  return nullptr;
}

/// The first backend of ANYPLACE_AUTO that has a device.
Backend& automatic_backend(const Wanted& wanted) {
  const std::vector<std::string> order = automatic_order(wanted.operation);
  for (const std::string& name : order) {
    Backend* backend = loaded_backend(name);
    if (backend == nullptr) backend = load(name, wanted);
    if (backend != nullptr && !backend->devices.empty()) return *backend;
  }
  fail_no_automatic(order, wanted.operation);
}

/// The backend of a name, an alias or `auto`, which is loaded if necessary.
Backend& find_backend(const std::string& name, const Wanted& wanted) {
  if (Backend* const loaded = loaded_backend(name)) return *loaded;
  // A plugin's constructor or entry function may not load a backend: it could be the one that is being loaded.
  if (!process_running() || in_callback()) refuse_call(wanted.operation);
  if (const std::string problem = name_problem(name); !problem.empty()) fail_bad_name(name, problem, wanted.operation);
  if (name == automatic_name) return automatic_backend(wanted);
  std::string real(without_table_alias(name));
  if (real == name) {
    if (const std::string other = link_alias(name); !other.empty()) real = without_table_alias(other);
  }
  if (real != name) {
    if (Backend* const loaded = loaded_backend(real)) return *loaded;
  }
  if (Backend* const backend = load(real, wanted)) return *backend;
  fail_no_backend(wanted.place, name, real, wanted.operation);
}

}  // namespace

std::mutex& registry_mutex() noexcept { return registry().mutex; }

Backend* loaded_backend(const std::string& name) noexcept {
  const std::lock_guard lock(registry().mutex);
  const auto found = registry().names.find(name);
  return found == registry().names.end() ? nullptr : found->second->backend;
}

Backend& backend_of(const std::string& name, const char* operation) {
  return backend_in_place(name, {}, name, operation);
}

Backend& backend_in_place(const std::string& name, const std::vector<std::string>& layers, const std::string& place,
                          const char* operation) {
  Backend& backend = find_backend(name, {place, layers, operation});
  for (const std::string& layer : layers) require_layer(backend, layer, {"the place", place, operation});
  return backend;
}

std::vector<PluginCandidate> candidates() {
  std::vector<PluginCandidate> listed;
  std::map<std::string, std::string> first;  // by name: the path that is in use, or would be tried next
  const std::vector<PluginFile> files = list_plugins().files;
  const std::lock_guard lock(registry().mutex);
  for (const auto& [name, entry] : registry().names) {
    if (entry->backend != nullptr) first[name] = entry->backend->path;
  }
  for (const PluginFile& file : files) {
    PluginCandidate candidate;
    candidate.name = file.name;
    candidate.path = file.path;
    candidate.source = file.source;
    const auto known = registry().names.find(file.name);
    const Name* const entry = known == registry().names.end() ? nullptr : known->second.get();
    const bool tried = entry != nullptr && entry->verdicts.contains(file.path);
    if (tried) {
      const Verdict& verdict = entry->verdicts.find(file.path)->second;
      candidate.state = PluginCandidate::State::refused;
      candidate.code = verdict.code;
      candidate.reason = verdict.reason;
      candidate.remedy = verdict.remedy;
      if (!verdict.remedy.empty()) candidate.reason += "; " + verdict.remedy;
    } else if (entry != nullptr && entry->backend != nullptr && entry->backend->path == file.path) {
      candidate.state = PluginCandidate::State::accepted;
    } else if (const auto [other, inserted] = first.try_emplace(file.name, file.path); !inserted) {
      candidate.state = PluginCandidate::State::shadowed;
      candidate.reason = other->second + " comes first";
    }
    listed.push_back(std::move(candidate));
  }
  return listed;
}

void register_candidate(const std::string& name, const std::string& path) {
  {
    const std::lock_guard lock(registry().mutex);
    const auto known = registry().names.find(name);
    if (known != registry().names.end()) {
      Name& entry = *known->second;
      if (entry.backend != nullptr) {
        if (entry.backend->path == path) return;
        fail(ErrorCode::invalid_argument, "", "register_plugin",
             fmt::format("the backend {} is in use already, from {}\nregister {} before its first use", name,
                         entry.backend->path, path));
      }
      entry.all_refused = entry.all_refused && entry.verdicts.contains(path);
    }
  }
  add_registered({name, path, PluginCandidate::Source::registered, PluginKind::backend});
}

}  // namespace anyplace::detail

// SPDX-License-Identifier: Apache-2.0
#include "table_backend.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <span>
#include <utility>

#include "child.h"

namespace anyplace::conformance {
namespace {

// ---- The core's side, as far as these cases need it ----------------------------------------------------------------

thread_local std::string last_message;

struct FaultBook {
  std::mutex mutex;  // guards the members
  std::vector<TableFault> faults;
  bool notes_texts = false;
  std::vector<std::string> texts;  // all kinds of texts
};
/// Never destroyed, because a backend's thread may report a fault while the process exits.
FaultBook& fault_book() {
  static FaultBook* const book = new FaultBook;
  return *book;
}

/// Texts are kept only if a case asks for it, because other cases count what is left behind.
void note_text(const char* text) {
  if (text == nullptr) return;
  FaultBook& book = fault_book();
  const std::lock_guard lock(book.mutex);
  if (book.notes_texts) book.texts.emplace_back(text);
}

void leave_message(void*, std::int64_t code, const char* name, const char* text) {
  note_text(name);
  note_text(text);
  last_message = text == nullptr ? "" : text;
  if (name != nullptr && *name != '\0') last_message += std::string(" (") + name + ")";
  if (code != 0) last_message += " (" + std::to_string(code) + ")";
}

void stream_fault(void*, std::uint64_t cookie, anyplace_status status, std::int64_t, const char* name,
                  const char* text) {
  note_text(name);
  note_text(text);
  FaultBook& book = fault_book();
  const std::lock_guard lock(book.mutex);
  book.faults.push_back({cookie, status});
}

void user_code(void*) {}

void log(void*, std::uint32_t, const char* text) { note_text(text); }

anyplace_stream_desc stream_desc(std::uint64_t cookie) {
  anyplace_stream_desc desc{};
  desc.struct_size = sizeof(desc);
  desc.cookie = cookie;
  return desc;
}

const anyplace_host& host() {
  static const anyplace_host made = [] {
    anyplace_host filled{};
    filled.struct_size = sizeof(filled);
    filled.abi_major = ANYPLACE_ABI_MAJOR;
    filled.abi_minor = ANYPLACE_ABI_MINOR;
    filled.leave_message = leave_message;
    filled.stream_fault = stream_fault;
    filled.user_code_begin = user_code;
    filled.user_code_end = user_code;
    filled.log = log;
    return filled;
  }();
  return made;
}

/// Keeps a backend's instance reachable for leak checkers, because it is never destroyed.
void keep(void* instance) {
  static std::vector<void*>* const kept = new std::vector<void*>;
  kept->push_back(instance);
}

/// The process that used a backend's table; 0 if none did.
std::atomic<pid_t> table_user{0};

#define TABLE_CALL(entry, ...)                                       \
  do {                                                               \
    step(caller.file, caller.line, #entry);                          \
    require(table_.entry(table_.self, __VA_ARGS__), #entry, caller); \
  } while (false)

}  // namespace

// ---- Life ----------------------------------------------------------------------------------------------------------

anyplace_launch launch_of(std::uint32_t blocks) noexcept {
  anyplace_launch launch{};
  launch.struct_size = sizeof(launch);
  std::fill_n(launch.grid, 3, 1u);
  std::fill_n(launch.block, 3, 1u);
  launch.grid[0] = blocks;
  launch.argument_stride = sizeof(anyplace_argument);
  return launch;
}

anyplace_status do_nothing(void*, const anyplace_block*, void* const*, const std::uint32_t*, std::uint32_t) noexcept {
  return ANYPLACE_STATUS_OK;
}
anyplace_status fail(void*, const anyplace_block*, void* const*, const std::uint32_t*, std::uint32_t) noexcept {
  return ANYPLACE_STATUS_KERNEL_FAILED;
}

TableBackend::TableBackend(const Run& run, Caller caller) : device_(Place(run.place()).index().value()) {
  table_user = getpid();
  step(caller.file, caller.line, "anyplace_backend_entry");
  void* const library = dlopen(run.plugin_file().c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) check_failed(caller.file, caller.line, dlerror());
  void* const entry = dlsym(library, ANYPLACE_ENTRY_SYMBOL);
  if (entry == nullptr) check_failed(caller.file, caller.line, dlerror());
  table_.struct_size = sizeof(table_);
  // The texts are filled first, so that one without a NUL shows.
  for (const std::span<char> text :
       {std::span<char>(table_.name), std::span<char>(table_.version), std::span<char>(table_.description)}) {
    std::fill(text.begin(), text.end(), '\xa5');
  }
  require(reinterpret_cast<anyplace_backend_entry_function>(entry)(&host(), &table_), "anyplace_backend_entry", caller);
  keep(table_.self);
}

TableBackend::~TableBackend() {
  if (!shut_down_ && table_.shutdown != nullptr) table_.shutdown(table_.self, std::uint64_t{5} * 1000 * 1000 * 1000);
}

anyplace_status TableBackend::shut_down(std::uint64_t timeout_ns, Caller caller) {
  if (table_.shutdown == nullptr) skip("the entry shutdown");
  shut_down_ = true;
  step(caller.file, caller.line, ("shutdown with " + std::to_string(timeout_ns) + " ns").c_str());
  return table_.shutdown(table_.self, timeout_ns);
}

std::vector<TableFault> TableBackend::faults() {
  FaultBook& book = fault_book();
  const std::lock_guard lock(book.mutex);
  return book.faults;
}

void TableBackend::note_texts() {
  FaultBook& book = fault_book();
  const std::lock_guard lock(book.mutex);
  book.notes_texts = true;
}

std::vector<std::string> TableBackend::texts() {
  FaultBook& book = fault_book();
  const std::lock_guard lock(book.mutex);
  return book.texts;
}

std::string TableBackend::message() { return std::exchange(last_message, std::string()); }

void TableBackend::require(anyplace_status status, const char* entry, Caller caller) {
  const std::string said = message();
  if (status == ANYPLACE_STATUS_OK) return;
  check_failed(caller.file, caller.line,
               std::string(entry) + " returns " + to_string(static_cast<ErrorCode>(status)) + ": " + said);
}

// ---- Calls ---------------------------------------------------------------------------------------------------------

anyplace_device_properties TableBackend::properties(std::int32_t device, Caller caller) const {
  anyplace_device_properties properties{};
  properties.struct_size = sizeof(properties);
  TABLE_CALL(device_properties, device, &properties);
  return properties;
}

anyplace_memory_info TableBackend::memory(std::int32_t device, Caller caller) const {
  anyplace_memory_info info{};
  info.struct_size = sizeof(info);
  TABLE_CALL(device_memory, device, &info);
  return info;
}

bool TableBackend::has(Capability capability) const {
  return (properties(device_).capabilities >> static_cast<unsigned>(capability) & 1) != 0;
}

anyplace_stream TableBackend::stream_of(std::int32_t device, Caller caller) const {
  static std::atomic<std::uint64_t> cookies{0};
  const anyplace_stream_desc desc = stream_desc(++cookies);
  anyplace_stream stream = 0;
  TABLE_CALL(stream_create, device, &desc, &stream);
  if (stream == 0) check_failed(caller.file, caller.line, "stream_create gives the null handle");
  return stream;
}

anyplace_stream TableBackend::stream_with(std::uint64_t cookie, Caller caller) const {
  const anyplace_stream_desc desc = stream_desc(cookie);
  anyplace_stream stream = 0;
  TABLE_CALL(stream_create, device_, &desc, &stream);
  return stream;
}

std::uint64_t TableBackend::native(anyplace_stream stream, Caller caller) const {
  std::uint64_t native = 0;
  TABLE_CALL(stream_native, stream, &native);
  return native;
}

anyplace_stream TableBackend::wrapper_of(std::uint64_t native, std::uint64_t cookie, Caller caller) const {
  const anyplace_stream_desc desc = stream_desc(cookie);
  anyplace_stream wrapper = 0;
  TABLE_CALL(stream_from_native, device_, native, &desc, &wrapper);
  return wrapper;
}

anyplace_kernel TableBackend::kernel(anyplace_host_kernel function, void* user, void (*release)(void*),
                                     Caller caller) const {
  anyplace_kernel kernel = 0;
  const auto nothing = [](void*) {};
  TABLE_CALL(kernel_from_host, device_, function, user, release == nullptr ? nothing : release, &kernel);
  return kernel;
}

anyplace_event TableBackend::event(std::uint32_t flags, Caller caller) const {
  const anyplace_event_desc desc{sizeof(desc), flags};
  anyplace_event event = 0;
  TABLE_CALL(event_create, device_, &desc, &event);
  if (event == 0) check_failed(caller.file, caller.line, "event_create gives the null handle");
  return event;
}

anyplace_address TableBackend::allocate(std::uint64_t bytes, std::uint32_t kind, Caller caller) const {
  anyplace_address address = 0;
  TABLE_CALL(memory_allocate, device_, kind, bytes, &address);
  if (address == 0) check_failed(caller.file, caller.line, "memory_allocate gives address 0");
  return address;
}

void TableBackend::free(anyplace_address address, std::uint32_t kind, Caller caller) const {
  TABLE_CALL(memory_free, device_, kind, address);
}

void TableBackend::synchronize(anyplace_stream stream, Caller caller) const {
  TABLE_CALL(stream_synchronize, stream, ANYPLACE_FOREVER);
}

void TableBackend::destroy(anyplace_stream stream, Caller caller) const { TABLE_CALL(stream_destroy, stream); }

void TableBackend::write(anyplace_stream stream, anyplace_address address, const Bytes& contents, Caller caller) const {
  TABLE_CALL(memory_copy, stream, address, number_of(contents.data()), contents.size(), ANYPLACE_COPY_HOST_TO_DEVICE);
  synchronize(stream, caller);
}

Bytes TableBackend::read(anyplace_stream stream, anyplace_address address, std::uint64_t bytes, Caller caller) const {
  Bytes contents(static_cast<std::size_t>(bytes), 0xee);
  TABLE_CALL(memory_copy, stream, number_of(contents.data()), address, bytes, ANYPLACE_COPY_DEVICE_TO_HOST);
  synchronize(stream, caller);
  return contents;
}

void TableBackend::fill(anyplace_stream stream, anyplace_address address, std::uint8_t value, std::uint64_t bytes,
                        Caller caller) const {
  TABLE_CALL(memory_set, stream, address, value, 1, bytes);
  synchronize(stream, caller);
}

// ---- Host functions ------------------------------------------------------------------------------------------------

namespace {

void call_body(void* user, anyplace_status) {
  const std::unique_ptr<std::function<void()>> body(static_cast<std::function<void()>*>(user));
  (*body)();
}

}  // namespace

void submit(const TableBackend& backend, anyplace_stream stream, std::function<void()> body, Caller caller) {
  auto kept = std::make_unique<std::function<void()>>(std::move(body));
  step(caller.file, caller.line, "stream_host_function");
  TableBackend::require(backend.table().stream_host_function(backend.self(), stream, call_body, kept.get()),
                        "stream_host_function", caller);
  static_cast<void>(kept.release());  // call_body() owns it now
}

void linger(int round) noexcept {
  volatile int count = 0;
  const int end = (round * 7919) % 4000;
  while (count < end) {
    const int next = count + 1;
    count = next;
  }
}

struct TableHold::State {
  std::mutex mutex;
  std::condition_variable changed;
  bool open = false;  // guarded by mutex
};

TableHold::~TableHold() { open(); }

void TableHold::hold(anyplace_stream stream, Caller caller) {
  if (backend_.has(Capability::host_functions)) {
    state_ = std::make_shared<State>();
    submit(
        backend_, stream,
        [state = state_] {
          std::unique_lock lock(state->mutex);
          state->changed.wait(lock, [&] { return state->open; });
        },
        caller);
    return;
  }
  if (!backend_.has(Capability::gates)) skip("a way to hold a stream back: host_functions or gates");
  step(caller.file, caller.line, "gate_create, stream_wait_gate");
  TableBackend::require(backend_.table().gate_create(backend_.self(), backend_.device(), &gate_), "gate_create",
                        caller);
  TableBackend::require(backend_.table().stream_wait_gate(backend_.self(), stream, gate_), "stream_wait_gate", caller);
}

void TableHold::open() noexcept {
  if (gate_ != 0) {
    const anyplace_gate gate = std::exchange(gate_, anyplace_gate{0});
    backend_.table().gate_open(backend_.self(), gate);
    backend_.table().gate_destroy(backend_.self(), gate);
  }
  if (state_ == nullptr) return;
  const std::lock_guard lock(state_->mutex);
  state_->open = true;
  state_->changed.notify_all();
}

}  // namespace anyplace::conformance

// LeakSanitizer asks this when the process ends. A case that uses the table leaves its handles and memory to the end of
// the process, and the cases of "books" count what a backend leaves behind after everything was freed. In a process
// that a case forked, LeakSanitizer would wait for the parent's threads for ever.
extern "C" __attribute__((visibility("default"))) int __lsan_is_turned_off();
extern "C" int __lsan_is_turned_off() {
  const pid_t user = anyplace::conformance::table_user;
  const pid_t of_case = anyplace::conformance::case_process();
  return user != 0 || (of_case != 0 && of_case != getpid()) ? 1 : 0;
}

#undef TABLE_CALL

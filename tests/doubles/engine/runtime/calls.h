// SPDX-License-Identifier: Apache-2.0
//
// What the calls of CUDA's driver and of HIP do alike: a double's entry says how the vendor's signature and its special
// rules become one of these. Each gives a code, and leaves outputs alone unless it succeeds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "state.h"

namespace anyplace::doubles {

/// A handle or an address as a vendor's signature has it: a pointer or a number.
class Word {
 public:
  Word(uint64_t value) noexcept : value_(value) {}  // NOLINT(google-explicit-constructor)
  Word(std::nullptr_t) noexcept {}                  // NOLINT(google-explicit-constructor)
  template <class Pointed>
  Word(Pointed* pointer) noexcept : value_(reinterpret_cast<uint64_t>(pointer)) {}  // NOLINT
  operator uint64_t() const noexcept { return value_; }                             // NOLINT

 private:
  uint64_t value_ = 0;
};

/// Where a call writes a handle or an address.
class WordOut {
 public:
  template <class Value>
  WordOut(Value* out) noexcept : out_(out) {  // NOLINT(google-explicit-constructor)
    static_assert(sizeof(Value) == sizeof(uint64_t));
  }
  bool is_null() const noexcept { return out_ == nullptr; }
  void write(uint64_t value) const noexcept;

 private:
  void* out_;
};

/// The null check that most entries begin with.
template <class... Pointers>
bool is_null(const Pointers*... pointers) noexcept {
  return ((pointers == nullptr) || ...);
}

inline void* to_pointer(uint64_t address) noexcept { return reinterpret_cast<void*>(address); }  // NOLINT: one space

// -- Devices and contexts.

struct Attribute {
  int number;
  int value;
};
template <std::size_t count>
const int* find_attribute(const Attribute (&attributes)[count], int number) noexcept {
  for (const Attribute& entry : attributes) {
    if (entry.number == number) return &entry.value;
  }
  return nullptr;
}
int physical_of(int device);
int get_device(int* device, int ordinal);
int total_memory(size_t* bytes, int device);
int write_text(char* out, int bytes, int device, const std::string& text);
std::string pci_address(unsigned bus);
/// `bus_of` gives the number of a valid device's bus.
int write_pci_address(char* out, int bytes, int device, unsigned (*bus_of)(int device));
int can_access_peer(int* can, int device, int peer);
int add_peer(Context& context, int device);
int remove_peer(Context& context, int device);
int priority_range(int* least, int* greatest);
/// `ended` is the context if that was its last reference.
int retain_primary(WordOut context, int device);
int release_primary(int device, ContextRef& ended);

// -- Streams and events.

int create_stream(WordOut stream, unsigned flags, int priority);
/// Takes the stream from the table; its work goes on.
int take_stream(Word stream, StreamRef& taken);
int query_stream(Word stream);
int synchronize_stream(Word stream);
int wait_for_event(Word stream, Word event, unsigned flags);
int stream_priority(Word stream, int* priority);
int stream_flags(Word stream, unsigned* flags);
/// A host function, and what is called instead of it if the context has failed by then.
int call_host(Word stream, std::function<void()> function, std::function<void(int fault)> if_failed = {});
/// The conditions of waits, numbered alike; `at_least` is the vendor's own.
template <class Value, class AtLeast>
bool is_satisfied(unsigned condition, Value found, Value value, AtLeast at_least) {
  constexpr unsigned greater_or_equal = 0, equal = 1, any_bit = 2;
  if (condition == greater_or_equal) return at_least(found, value);
  if (condition == equal) return found == value;
  return condition == any_bit ? (found & value) != 0 : static_cast<Value>(~(found | value)) != 0;
}
/// A poll that holds the stream back until `satisfied`, which reads what `uses` names.
int wait_until(const StreamRef& stream, Uses uses, std::function<bool()> satisfied);

int create_event(WordOut event, unsigned flags);
/// The event, with its context's error if it has one.
int find_event(const Locked&, uint64_t handle, EventRef& event);
int record_event(Word event, Word stream);
int query_event(Word event);
int synchronize_event(Word event);
int destroy_event(Word event);
/// Writes the handle of an interprocess event: SharedRecords::handle_bytes.
int share_event(void* handle, Word event);
int open_event(WordOut event, const void* handle);
int elapsed_time(float* milliseconds, Word start, Word end);

// -- Memory.

int memory_info(size_t* free, size_t* total);
/// Handles of memory for other processes, of the same size as those of events.
int share_memory(void* handle, uint64_t address);
int open_memory(WordOut address, const void* handle, unsigned flags);
int close_memory(uint64_t address);
int allocate(MemoryKind kind, uint64_t bytes, unsigned flags, WordOut address);
/// The block that begins at the address, if it is of one of the kinds and not freed; else noted as misuse.
std::optional<Block> block_to_free(uint64_t address, std::initializer_list<MemoryKind> kinds);
/// Frees the block; what still runs on it makes the context fail.
int free_block(const Context& context, const Block& block);
/// Host memory that a device may use, pinned or registered.
int device_address(WordOut address, const void* memory);
int register_host(void* memory, size_t bytes, unsigned flags, unsigned known_flags);
std::optional<Block> registered_block(const void* memory);

// -- Pools.

/// Where memory is, who may use it and how, as the structs of both vendors say it with the same numbers.
struct Access {
  int location_type = 0;
  int device = 0;
  int flags = 0;
  static constexpr int on_device = 1;             // of the location's type
  static constexpr int none = 0, read_write = 3;  // of the flags
};
template <class VendorsAccess>
std::vector<Access> read_accesses(const VendorsAccess* accesses, size_t count) {
  std::vector<Access> read;
  for (size_t i = 0; accesses != nullptr && i < count; ++i) {
    read.push_back({accesses[i].location.type, accesses[i].location.id, accesses[i].flags});
  }
  return read;
}

/// `pool` 0: the one that is current to the stream's device.
int allocate_async(WordOut address, size_t bytes, Word pool, Word stream);
int free_async(Word address, Word stream);
int find_pool(const Locked&, uint64_t handle, PoolRef& pool);
int create_pool(WordOut pool, int allocation_type, const Access& location, bool shared, uint64_t limit);
int destroy_pool(Word pool);
int set_pool_attribute(Word pool, int attribute, const void* value);
int get_pool_attribute(Word pool, int attribute, void* value);
int trim_pool(Word pool, size_t keep);
int set_pool_access(Word pool, const std::vector<Access>& accesses);

// -- Virtual memory. Addresses and memory apart: ranges of addresses are reserved, memory is created without an
// address, and mapped into them as often as is liked; what is mapped may be touched by a device only after access was
// set for it. Memory goes when its last handle was released and its last mapping undone, whichever comes last. Needs no
// current context, as in the references.
//
// Stricter than the references: reservations too are multiples of the granularity, and access is none or all (a driver
// may offer reading alone).

/// What memory is to be created.
struct PhysicalProperties {
  int type = 0;
  Access location;
  bool plain = true;       // for no other use, and with no other handles to share than those of `shareable`
  bool shareable = false;  // with handles that are file descriptors
};
int allocation_granularity(size_t* granularity, const PhysicalProperties& properties, int option);
int reserve_addresses(WordOut address, size_t size, size_t alignment, Word wanted, uint64_t flags);
int free_addresses(Word address, size_t size);
int create_memory(WordOut handle, size_t size, const PhysicalProperties& properties, uint64_t flags);
int release_memory(Word handle);
int map_memory(Word address, size_t size, size_t offset, Word handle, uint64_t flags);
int unmap_memory(Word address, size_t size);
int set_access(Word address, size_t size, const std::vector<Access>& accesses);
int get_access(unsigned long long* flags, const Access& location, Word address);
/// The memory that is mapped there; one more release is needed.
int retain_memory(WordOut handle, Word address);
/// `type` is 1 for a file descriptor; there are no others.
int export_memory_handle(void* out, Word handle, int type, uint64_t flags);
int import_memory_handle(WordOut handle, int descriptor, int type);
/// The memory whose handle it is, as long as that isn't released.
PhysicalRef find_physical(const Locked&, uint64_t handle);
/// The live mapping that holds the address.
std::optional<Block> mapping_of(uint64_t address);

// -- Copies and fills. Which of them block the caller is taken from NVIDIA's page on the synchronisation of the driver
// API, which AMD's reference points at without spelling it out:
//   - from pageable host memory: up to 64 KiB are read during the call; of more, the call returns when the copy is
//     done.
//   - to pageable host memory, and from any host memory to any: the call returns when the copy is done.
//   - the forms without a stream: wait, but for copies within devices and fills of device memory, which don't.
// With PAGEABLE_ASYNC=1 the forms with a stream never block, and read and write the user's memory when the stream gets
// there: what wasn't waited for then shows.
//
// Stricter than the references: copies whose ends overlap are noted as misuse.

enum class Form : uint8_t { in_stream, synchronous };
/// One end of a copy: `height` rows that begin `pitch` apart.
struct End {
  uint64_t address = 0;
  uint64_t pitch = 0;
  Want want = Want::any;
};
struct Copy {
  End destination, source;
  uint64_t width = 0;
  uint64_t height = 1;
};
int copy_on(Word stream, const Copy& copy, Form form);
int copy_bytes(Word destination, Want destination_is, Word source, Want source_is, uint64_t bytes, Word stream,
               Form form);
/// Whether the address is memory of the context's device, or of the host.
int check_device_of(const Context& context, uint64_t address);
bool is_host_memory(uint64_t address);

struct Fill {
  uint64_t destination = 0;
  size_t pitch = 0;
  size_t width = 0;  // in elements
  size_t height = 1;
};
/// Element: uint8_t, uint16_t or uint32_t.
template <class Element>
int fill(const Fill& fill, Element value, Word stream, Form form);

// -- Modules and launches.

int add_module(WordOut module, const ContextRef& context, const std::string& image, std::vector<std::string> entries,
               std::string& why);
int find_module(const Locked&, uint64_t handle, ModuleRef& module);
/// `owner`: whose it has to be, if it isn't null.
int unload_module(Word module, const ContextRef& owner);
int get_function(WordOut function, Word module, const char* name);
/// Either output may be null, but not both.
int get_variable(WordOut address, size_t* bytes, Word module, const char* name);
int find_function(Word handle, FunctionRef& function);

/// Arguments of 8 bytes that hold an address of the double's are taken for pointers: what they point into must be there
/// when the kernel runs, and accessible to its device, else the kernel faults as it would on a device. Addresses within
/// structs, or those that a kernel computes, aren't seen.
struct LaunchTarget {
  FunctionRef function;
  StreamRef stream;
};
int find_target(Word function, Word stream, LaunchTarget& target);
/// The threads of a block; 0 if the grid or the block is empty somewhere, or reaches beyond what is given.
uint64_t threads_of(const KernelShape& shape, const int (&max_grid)[3], const int (&max_block)[3]);
/// The values that each of `arguments` points at.
int collect_values(const Function& function, void** arguments, std::vector<const void*>& values);
/// One launch in the context, with copies of the values.
Operation launch_operation(const Context& context, const FunctionRef& function, const KernelShape& shape,
                           const void* const* values);
int launch(const LaunchTarget& target, const KernelShape& shape, const std::vector<const void*>& values);

}  // namespace anyplace::doubles

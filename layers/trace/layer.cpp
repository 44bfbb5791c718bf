// SPDX-License-Identifier: Apache-2.0
//
// The layer `trace`: records each call, and has the operations timed. docs/layers.md is the guide; README.md in layers/
// says which file does what.
#include <anyplace/backend/kit/layer.h>
#include <anyplace/version.h>

#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <type_traits>

#include "operations.h"
#include "record.h"
#include "settings.h"
#include "thread_buffer.h"
#include "traced_backend.h"
#include "writer.h"

namespace anyplace::trace {
namespace {

using backend::EntryOf;
using backend::Failure;
using backend::Host;
using backend::Kind;
using backend::Layer;

/// Entries that are recorded also while no trace is written, because a later one needs the names.
template <auto Entry>
constexpr bool is_followed() {
  if (is_one_of<Entry, &Table::device_properties>) return true;
  for (const backend::Argument& argument : EntryOf<Entry>::arguments) {
    if (argument.role == backend::Role::END) return true;
    if (argument.role == backend::Role::OUT && (backend::is_handle(argument.kind) || argument.kind == Kind::ADDRESS)) {
      return true;
    }
  }
  return false;
}

/// The first argument of a kind; 0 if there is none.
template <auto Entry, class... Args>
std::uint64_t first_of(Kind kind, const Args&... args) noexcept {
  std::uint64_t found = 0;
  std::size_t at = 0;
  const auto look = [&](const auto& value) {
    const backend::Argument& argument = EntryOf<Entry>::arguments[at++];
    if constexpr (std::is_integral_v<std::remove_cvref_t<decltype(value)>>) {
      if (argument.kind == kind && found == 0) found = static_cast<std::uint64_t>(value);
    }
  };
  (look(args), ...);
  return found;
}

/// What a query found that found work to be pending; 0 for all else.
template <auto Entry>
std::uint64_t finding(anyplace_status status, std::uint64_t handle, const std::int32_t* done) noexcept {
  return status == ANYPLACE_STATUS_OK && *done == 0 ? handle ^ entry_index<Entry> : 0;
}

class TraceLayer : public Layer {
 public:
  TraceLayer(Host host, const anyplace_backend_table& below) : Layer(host, below), backend_(host, next()) {
    Writer::only().add_backend(backend_);
  }

  static void load(Host) { Writer::only().use(read_settings()); }

  static std::string command(std::string_view name, std::string_view argument) {
    if (name == "begin") return Writer::only().begin(std::string(argument));
    if (!argument.empty()) {
      throw Failure(ANYPLACE_STATUS_INVALID_ARGUMENT, "the command " + std::string(name) + " takes no argument");
    }
    if (name == "end") {
      Writer::only().end();
    } else if (name == "flush") {
      Writer::only().flush();
    } else {
      throw Failure(ANYPLACE_STATUS_INVALID_ARGUMENT,
                    "there is no command " + std::string(name) + "\ncommands are begin, end and flush");
    }
    return "";
  }

  static void annotation(const anyplace_annotation& what) {
    ThreadBuffer* const buffer = Writer::only().is_tracing() ? thread_buffer() : nullptr;
    if (buffer == nullptr) return;
    static_cast<void>(buffer->is_repeat(0));  // a slice doesn't stand for queries in two ranges
    Record* const record = buffer->claim();
    if (record == nullptr) return;
    *record = {};
    record->kind = Record::Kind::annotation;
    if (what.name_bytes != 0) record->text = new (std::nothrow) std::string(what.name, what.name_bytes);
    record->values = {what.kind,
                      backend::to_handle(const_cast<char*>(what.domain)),
                      backend::to_handle(const_cast<char*>(what.category)),
                      what.range,
                      what.stream,
                      what.payload_kind,
                      what.payload,
                      what.has_color != 0 ? std::uint64_t{1} << 32 | what.color : 0,
                      static_cast<std::uint64_t>(what.depth)};
    record->value_count = annotation_values;
    record->is_virtual = is_time_virtual();
    record->sequence = Writer::next_sequence();
    record->begin_ns = record->end_ns = now_ns();
    buffer->publish();
  }

  template <auto Entry, class... Args>
  anyplace_status call(Args... args) {
    prepare<Entry>(args...);
    ThreadBuffer* const buffer = is_followed<Entry>() || Writer::only().is_tracing() ? thread_buffer() : nullptr;
    if (buffer == nullptr) return pass_on<Entry>(args...);
    Record noted{};
    noted.backend = &backend_;
    noted.entry = entry_index<Entry>;
    noted.is_virtual = is_time_virtual();
    // An object's handle may be used again as soon as its end has begun, and not before its making is over.
    const bool makes = makes_object(noted.entry);
    if (!makes) noted.sequence = Writer::next_sequence();
    if constexpr (is_submission<Entry>) noted.submission = buffer->next_submission();
    if constexpr (is_one_of<Entry, &Table::stream_host_function>) {
      submit_host_function(noted, args...);
    } else {
      pass_on_timed<Entry>(*buffer, noted, args...);
    }
    if (makes) noted.sequence = Writer::next_sequence();
    learn<Entry>(noted.status, args...);
    publish<Entry>(*buffer, noted, args...);
    return noted.status;
  }

  void end() {
    backend_.close();  // of a backend without a shutdown
    Writer::only().flush();
  }

 private:
  /// A host function on its way.
  struct HostCall {
    anyplace_host_function function;
    void* user;
    TracedBackend* backend;
    anyplace_stream stream;
    std::uint64_t submission;

    static void run(void* self, anyplace_status status) {
      const std::unique_ptr<HostCall> call(static_cast<HostCall*>(self));
      const bool is_virtual = is_time_virtual();
      const std::uint64_t begin = now_ns();
      call->function(call->user, status);
      const std::uint64_t end = now_ns();
      ThreadBuffer* const buffer = thread_buffer();
      Record* const record = buffer == nullptr ? nullptr : buffer->claim();
      if (record == nullptr) return;
      *record = {};
      record->kind = Record::Kind::host_function;
      record->backend = call->backend;
      record->entry = entry_index<&Table::stream_host_function>;
      record->begin_ns = begin;
      record->end_ns = end;
      record->submission = call->submission;
      record->is_virtual = is_virtual;
      record->sequence = Writer::next_sequence();
      buffer->publish();
    }
  };

  void submit_host_function(Record& noted, anyplace_stream stream, anyplace_host_function function, void* user) {
    auto call = std::make_unique<HostCall>(HostCall{function, user, &backend_, stream, noted.submission});
    noted.begin_ns = now_ns();
    noted.status = pass_on<&Table::stream_host_function>(stream, &HostCall::run, static_cast<void*>(call.get()));
    noted.end_ns = now_ns();
    if (noted.status == ANYPLACE_STATUS_OK) static_cast<void>(call.release());
  }

  template <auto Entry, class... Args>
  void pass_on_timed(ThreadBuffer& buffer, Record& noted, Args... args) {
    [[maybe_unused]] std::uint64_t stream = 0;
    if constexpr (is_timed<Entry>) {
      stream = first_of<Entry>(Kind::STREAM, args...);
      noted.pool = Writer::only().settings().device_times ? buffer.pool(backend_, stream) : nullptr;
      if (noted.pool != nullptr) noted.timing = backend_.begin_timing(*noted.pool, stream);
      if (noted.timing.begin == 0) noted.pool = nullptr;
    }
    noted.begin_ns = now_ns();
    noted.status = pass_on<Entry>(args...);
    noted.end_ns = now_ns();
    if constexpr (is_timed<Entry>) {
      if (noted.pool == nullptr) return;
      const bool succeeded = noted.status == ANYPLACE_STATUS_OK;
      if (!backend_.end_timing(*noted.pool, stream, noted.timing, succeeded)) noted.pool = nullptr;
    }
  }

  /// Before a call that ends the events of the layer's own.
  template <auto Entry, class... Args>
  void prepare(Args... args) {
    if constexpr (is_one_of<Entry, &Table::shutdown>) {
      Writer::only().settle(backend_, std::chrono::nanoseconds(std::min<std::uint64_t>(args..., INT64_MAX)));
      backend_.close();
    } else if constexpr (is_one_of<Entry, &Table::device_reset>) {
      Writer::only().settle(backend_, {});
      backend_.reset(args...);
    } else if constexpr (is_one_of<Entry, &Table::stream_destroy>) {
      backend_.remove_stream(args...);
    }
  }

  template <auto Entry, class... Args>
  void learn(anyplace_status status, Args... args) {
    if (status == ANYPLACE_STATUS_DEVICE_LOST) {
      if (EntryOf<Entry>::arguments[0].kind == Kind::DEVICE) {
        backend_.lose(static_cast<std::int32_t>(first_of<Entry>(Kind::DEVICE, args...)));
      } else {
        backend_.lose_device_of(first_of<Entry>(Kind::STREAM, args...));
      }
    }
    if (status != ANYPLACE_STATUS_OK) return;
    if constexpr (is_one_of<Entry, &Table::device_properties>) {
      learn_properties(args...);
    } else if constexpr (is_one_of<Entry, &Table::stream_create, &Table::stream_default>) {
      learn_stream(args...);
    }
  }
  void learn_properties(std::int32_t device, const anyplace_device_properties* properties) noexcept {
    try {
      backend_.note_properties(device, *properties);
    } catch (const std::bad_alloc&) {  // its operations aren't timed
    }
    const bool has_virtual_time = backend_.has_virtual_time(*properties);
    const bool is_fixed = Writer::only().choose_order(has_virtual_time);
    if (!has_virtual_time || is_time_virtual()) return;
    const std::uint64_t start = backend_.use_virtual_time(device, is_fixed);
    if (is_fixed) Writer::only().set_start(start);
  }
  void learn_stream(std::int32_t device, const anyplace_stream_desc*, const anyplace_stream* stream) noexcept {
    try {
      backend_.add_stream(*stream, device);
    } catch (const std::bad_alloc&) {  // its operations aren't timed
    }
  }

  /// The text argument of a call, in memory of the writer's; null if there is none.
  template <class Value>
  static void put_text(Record& record, const Value& value) noexcept {
    if constexpr (std::is_same_v<Value, const char*>) {
      try {
        record.text = new std::string(value);
      } catch (const std::bad_alloc&) {
      }
    }
  }

  template <auto Entry, class... Args>
  void publish(ThreadBuffer& buffer, const Record& noted, Args... args) {
    if constexpr (is_one_of<Entry, &Table::stream_query, &Table::event_query>) {
      if (buffer.is_repeat(finding<Entry>(noted.status, args...))) return;
    } else {
      static_cast<void>(buffer.is_repeat(0));
    }
    Record* const record = buffer.claim();
    if (record == nullptr) {
      if (noted.pool != nullptr) noted.pool->give_back(noted.timing);
      return;
    }
    *record = noted;
    record->repeats = buffer.take_repeats();
    std::size_t at = 0;
    (put_values(*record, EntryOf<Entry>::arguments[at++], args), ...);
    (put_text(*record, args), ...);
    buffer.publish();
  }

  TracedBackend backend_;
};

}  // namespace
}  // namespace anyplace::trace

ANYPLACE_EXPORT_LAYER(anyplace::trace::TraceLayer, "trace", ANYPLACE_VERSION,
                      "Writes calls and operations to a file for Perfetto",
                      "ANYPLACE_TRACE ANYPLACE_TRACE_DEVICE ANYPLACE_TRACE_LIMIT")

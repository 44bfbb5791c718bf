// SPDX-License-Identifier: Apache-2.0
#include "trace_reader.h"

#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "input_file.h"
#include "log_trace.h"
#include "pickle_reader.h"
#include "snapshot_trace.h"
#include "text.h"

namespace anyplace::tool {
namespace {

constexpr const char* form =
    "a line is a,ID,BYTES or f,ID,BYTES, and may have a stream's index as a fourth field; the lines of a "
    "logging_allocator and a pickled memory snapshot of PyTorch are read too";
constexpr std::size_t longest_beginning = 16;
constexpr std::uint64_t lines_between_signs = 10000;  ///< how many lines are read between two updates of the progress

/// The contents of a line, which need not make sense yet.
struct Line {
  bool allocates = false;
  std::uint64_t id = 0;
  std::uint64_t bytes = 0;
  std::optional<std::uint64_t> stream;
};

std::uint64_t number(std::string_view field, const char* what) {
  std::uint64_t value = 0;
  const auto [end, failed] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (failed == std::errc::result_out_of_range) {
    throw InputError(std::string(what) + " " + in_quotes(field) + " is too large; it must be below 2^64");
  }
  if (failed != std::errc() || end != field.data() + field.size()) {
    throw InputError(std::string(what) + " " + in_quotes(field) + " isn't a number from 0 on");
  }
  return value;
}

Line parse(std::string_view text) {
  std::array<std::string_view, 4> fields;
  std::size_t count = 0;
  for (std::string_view rest = text;; ++count) {
    if (count == fields.size()) throw InputError(in_quotes(text) + " has more than four fields; " + form);
    const std::size_t comma = rest.find(',');
    fields[count] = rest.substr(0, comma);
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  ++count;
  if (fields[0] != "a" && fields[0] != "f") throw InputError(in_quotes(text) + " doesn't begin with a, or f,; " + form);
  if (count < 3) throw InputError(in_quotes(text) + " is cut off; " + form);
  Line line;
  line.allocates = fields[0] == "a";
  line.id = number(fields[1], "the id");
  line.bytes = number(fields[2], "the size");
  if (count == 4) line.stream = number(fields[3], "the stream");
  if (line.stream && *line.stream > max_stream_index) {
    throw InputError("the stream " + std::to_string(*line.stream) + " is out of range; it is 0 to " +
                     std::to_string(max_stream_index));
  }
  return line;
}

class Reader {
 public:
  void add(const Line& line) { line.allocates ? allocate(line) : free(line); }
  TraceBuilder& trace() noexcept { return trace_; }

 private:
  void allocate(const Line& line) {
    const auto [found, added] = live_.try_emplace(line.id, 0);
    if (!added) {
      throw InputError("allocates id " + std::to_string(line.id) + ", which is still live; free it first (f," +
                       std::to_string(line.id) + "," + std::to_string(trace_.allocation(found->second).bytes) + ")");
    }
    if (!trace_.has_room(line.bytes)) throw InputError("the bytes that are live come to 2^64 or more");
    found->second = trace_.allocate(line.bytes, static_cast<std::uint16_t>(line.stream.value_or(0)));
  }

  void free(const Line& line) {
    const auto found = live_.find(line.id);
    const std::string id = std::to_string(line.id);
    if (found == live_.end())
      throw InputError("frees id " + id + ", which isn't live; an earlier a," + id + ",... is missing");
    const TraceEvent& allocation = trace_.allocation(found->second);
    if (allocation.bytes != line.bytes) {
      throw InputError("frees id " + id + " with " + std::to_string(line.bytes) + " bytes; it was allocated with " +
                       std::to_string(allocation.bytes));
    }
    if (line.stream && *line.stream != allocation.stream) {
      throw InputError("frees id " + id + " on stream " + std::to_string(*line.stream) + "; it is of stream " +
                       std::to_string(allocation.stream));
    }
    trace_.free(found->second);
    live_.erase(found);
  }

  TraceBuilder trace_;
  std::unordered_map<std::uint64_t, std::uint32_t> live_;  ///< the slot of an allocation, by its id
};

/// Throws a TraceError: "FILE:LINE: problem".
[[noreturn]] void fail_at(const std::string& name, std::uint64_t line, const InputError& error) {
  throw TraceError(name + ":" + std::to_string(line) + ": " + error.what());
}

/// Calls `take` with each line that isn't empty, and its number.
template <class Take>
void for_each_line(InputFile& file, Progress& progress, Take&& take) {
  for (std::string line; file.next_line(line);) {
    if (!line.empty()) take(line, file.line_number());
    if (file.line_number() % lines_between_signs == 0) progress.count(file.line_number(), "lines");
  }
}

Trace read_log(InputFile& file, const std::string& name, Progress& progress) {
  LogTrace log;
  try {
    for_each_line(file, progress, [&](const std::string& line, std::uint64_t number) { log.add(line, number); });
    return log.take();
  } catch (const InputError& error) {
    fail_at(name, log.line_of_error() != 0 ? log.line_of_error() : file.line_number(), error);
  }
}

Trace read_snapshot(InputFile& file, const std::string& name, std::optional<std::uint32_t> device) {
  try {
    return trace_of_snapshot(file.take_rest(), device);
  } catch (const InputError& error) {
    throw TraceError(name + " " + error.what());
  } catch (const PickleError& error) {
    throw TraceError(name + " " + error.what());
  }
}

Trace read_text(InputFile& file, const std::string& name, Progress& progress) {
  Reader reader;
  try {
    for_each_line(file, progress, [&](const std::string& line, std::uint64_t) { reader.add(parse(line)); });
  } catch (const InputError& error) {
    fail_at(name, file.line_number(), error);
  }
  return std::move(reader.trace()).take();
}

}  // namespace

std::string trace_name(const std::string& path) {
  if (path == standard_input) return "standard input";
  return path.empty() ? "''" : printable(path);
}

Trace read_trace(const std::string& path, std::optional<std::uint32_t> device, Progress& progress) {
  const std::string name = trace_name(path);
  progress.stage("reading " + name);
  std::optional<InputFile> file;
  std::string begins;
  try {
    file.emplace(path);
    begins = file->beginning(longest_beginning);
  } catch (const InputError& error) {
    throw TraceError(name + " " + error.what());
  }
  const bool is_pickle = begins.starts_with('\x80');
  if (device && !is_pickle) {
    throw TraceError(name + " is no memory snapshot, and --device says which device's history of one to replay");
  }
  if (begins.starts_with("PK\x03\x04")) {
    throw TraceError(name +
                     " is a zip archive, as torch.save writes; a snapshot is read as pickle.dump or "
                     "torch.cuda.memory._dump_snapshot writes it");
  }
  Trace trace;
  if (is_pickle) {
    trace = read_snapshot(*file, name, device);
  } else if (LogTrace::looks_like(begins)) {
    trace = read_log(*file, name, progress);
  } else {
    trace = read_text(*file, name, progress);
  }
  if (trace.events.empty())
    throw TraceError(name + (is_pickle ? " has no allocation in its history" : std::string(" is empty; ") + form));
  return trace;
}

}  // namespace anyplace::tool

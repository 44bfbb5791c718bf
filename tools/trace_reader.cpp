// SPDX-License-Identifier: Apache-2.0
#include "trace_reader.h"

#include <array>
#include <charconv>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "input_file.h"
#include "text.h"

namespace anyplace::tool {
namespace {

constexpr const char* form = "a line is a,ID,BYTES or f,ID,BYTES, and may have a stream's index as a fourth field";

/// Of what a line says, before it is known to make sense.
struct Line {
  bool allocates = false;
  std::uint64_t id = 0;
  std::uint64_t bytes = 0;
  std::optional<std::uint64_t> stream;
};

std::string quoted(std::string_view text) { return "'" + printable(text.substr(0, 60)) + "'"; }

std::uint64_t number(std::string_view field, const char* what) {
  std::uint64_t value = 0;
  const auto [end, failed] = std::from_chars(field.data(), field.data() + field.size(), value);
  if (failed == std::errc::result_out_of_range) {
    throw InputError(std::string(what) + " " + quoted(field) + " is too large; it must be below 2^64");
  }
  if (failed != std::errc() || end != field.data() + field.size()) {
    throw InputError(std::string(what) + " " + quoted(field) + " isn't a number from 0 on");
  }
  return value;
}

Line parse(std::string_view text) {
  std::array<std::string_view, 4> fields;
  std::size_t count = 0;
  for (std::string_view rest = text;; ++count) {
    if (count == fields.size()) throw InputError(quoted(text) + " has more than four fields; " + form);
    const std::size_t comma = rest.find(',');
    fields[count] = rest.substr(0, comma);
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  ++count;
  if (fields[0] != "a" && fields[0] != "f") throw InputError(quoted(text) + " doesn't begin with a, or f,; " + form);
  if (count < 3) throw InputError(quoted(text) + " is cut off; " + form);
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
  std::unordered_map<std::uint64_t, std::uint32_t> live_;  ///< slot by id
};

}  // namespace

Trace read_trace(const std::string& path) {
  const std::string name = path.empty() ? "''" : printable(path);
  std::optional<InputFile> file;
  try {
    file.emplace(path);
  } catch (const InputError& error) {
    throw TraceError(name + " " + error.what());
  }
  Reader reader;
  try {
    for (std::string line; file->next_line(line);) {
      if (!line.empty()) reader.add(parse(line));
    }
  } catch (const InputError& error) {
    throw TraceError(name + ":" + std::to_string(file->line_number()) + ": " + error.what());
  }
  if (reader.trace().events() == 0) throw TraceError(name + " is empty; " + form);
  return std::move(reader.trace()).take();
}

}  // namespace anyplace::tool

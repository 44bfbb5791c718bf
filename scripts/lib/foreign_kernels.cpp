// SPDX-License-Identifier: Apache-2.0
//
// Kernels that were written elsewhere (foreign_kernels.txt), compiled as they are and launched once on cpu_sim: as the
// image for cpu_sim, and as SPIR-V. Both have to write the same. A kernel of which nobody has written down what it is
// called with is compiled alone.
//
//   foreign_kernels LIST FOLDER [PLACE...]     FOLDER has hecbench/ and rodinia/; on the places the kernels run, too
//
// Prints a line for each kernel: its file, its name, and for each way "same", "compiled" or why not. Exit status: 0.
#include <anyplace/anyplace.h>
#include <anyplace/compile.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

/// An argument as the list has it: "f:1024" is 1024 floats of random values in [0, 1), "d:" doubles, "i:1024:64" ints
/// below 64, "l:" longs and "b:" bytes; "f:1024:0" zeros. "=f:0.5", "=i:7" and so on are numbers.
struct Argument {
  char type = 'i';
  bool is_number = false;
  double value = 0;       ///< of a number
  std::size_t count = 0;  ///< of a buffer
  double below = 1;       ///< what its elements are below; 0: all are 0

  explicit Argument(std::string text) {
    is_number = text.front() == '=';
    if (is_number) text.erase(0, 1);
    type = text.at(0);
    std::string rest = text.substr(2);
    const std::size_t colon = rest.find(':');
    if (is_number) value = std::stod(rest);
    if (!is_number) count = std::stoul(rest.substr(0, colon));
    if (!is_number && colon != rest.npos) below = std::stod(rest.substr(colon + 1));
    if (!is_number && colon == rest.npos && type == 'b') below = 256;
  }
  std::size_t element() const { return type == 'b' ? 1 : type == 'f' || type == 'i' ? 4 : 8; }
  std::vector<std::byte> bytes(std::mt19937& random) const {
    std::vector<std::byte> all;
    for (std::size_t i = 0; i < (is_number ? 1 : count); ++i) {
      add(all, is_number ? value : below * (static_cast<double>(random()) / 4294967296.0));
    }
    return all;
  }
  /// Whether two images have written the same. Arithmetic of floats may be fused by one and not by the other.
  bool is_same(const std::vector<std::byte>& a, const std::vector<std::byte>& b) const {
    if (type != 'f' && type != 'd') return a == b;
    for (std::size_t at = 0; at < a.size(); at += element()) {
      const double first = real_at(a, at), second = real_at(b, at);
      const double tolerance = (type == 'f' ? 1e-4 : 1e-9) * std::max({1.0, std::abs(first), std::abs(second)});
      const bool is_close = first == second || std::abs(first - second) <= tolerance;
      if (!is_close && !(std::isnan(first) && std::isnan(second))) return false;
    }
    return true;
  }

 private:
  template <class Number>
  static void append(std::vector<std::byte>& to, Number number) {
    const auto* const bytes = reinterpret_cast<const std::byte*>(&number);
    to.insert(to.end(), bytes, bytes + sizeof(number));
  }
  void add(std::vector<std::byte>& to, double number) const {
    if (type == 'f') append(to, static_cast<float>(number));
    if (type == 'd') append(to, number);
    if (type == 'i') append(to, static_cast<std::int32_t>(static_cast<std::int64_t>(number)));
    if (type == 'l') append(to, static_cast<std::int64_t>(number));
    if (type == 'b') append(to, static_cast<std::uint8_t>(number));
  }
  double real_at(const std::vector<std::byte>& bytes, std::size_t at) const {
    if (type == 'f') {
      float number = 0;
      std::memcpy(&number, &bytes[at], sizeof(number));
      return static_cast<double>(number);
    }
    double number = 0;
    std::memcpy(&number, &bytes[at], sizeof(number));
    return number;
  }
};

struct Row {
  std::string file, before, kernel;
  bool is_launched = false;
  anyplace::LaunchConfig config;
  std::vector<Argument> arguments;
};

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t"), end = text.find_last_not_of(" \t");
  return begin == text.npos ? "" : text.substr(begin, end + 1 - begin);
}

anyplace::Dim3 dim3_of(const std::string& text) {
  std::istringstream words(text);
  std::uint32_t sizes[3] = {1, 1, 1};
  for (std::uint32_t& size : sizes) words >> size;
  return {sizes[0], sizes[1], sizes[2]};
}

std::vector<Row> rows_of(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("can't read " + path);
  std::vector<Row> rows;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#') continue;
    std::vector<std::string> cells;
    std::istringstream parts(line);
    for (std::string cell; std::getline(parts, cell, '|');) cells.push_back(trimmed(cell));
    if (cells.size() < 3) throw std::runtime_error("a row has a file, what is before it, and a kernel: " + line);
    Row row;
    row.file = cells[0];
    row.before = cells[1];
    row.kernel = cells[2];
    row.is_launched = cells.size() >= 7;
    if (row.is_launched) {
      row.config.grid = dim3_of(cells[3]);
      row.config.block = dim3_of(cells[4]);
      row.config.shared_bytes = static_cast<std::uint32_t>(std::stoul(cells[5]));
      std::istringstream words(cells[6]);
      for (std::string word; words >> word;) row.arguments.emplace_back(word);
    }
    rows.push_back(row);
  }
  return rows;
}

/// What a program has in front of its kernels: lines, with " ;; " between them.
std::string source_of(const Row& row) {
  std::string source = row.before;
  for (std::size_t at = 0; (at = source.find(" ;; ", at)) != source.npos;) source.replace(at, 4, "\n");
  return source + "\n#include \"" + row.file.substr(row.file.rfind('/') + 1) + "\"\n";
}

using Memory = std::vector<std::vector<std::byte>>;  ///< of each argument

Memory launched(const Row& row, const anyplace::Device& device, const anyplace::Module& module) {
  const anyplace::Stream stream(device);
  std::mt19937 random(1);
  Memory memory;
  std::vector<anyplace::Buffer> buffers;
  std::vector<std::uint64_t> addresses;
  buffers.reserve(row.arguments.size());
  addresses.reserve(row.arguments.size());
  std::vector<anyplace::LaunchArgument> arguments;
  for (const Argument& one : row.arguments) memory.push_back(one.bytes(random));
  for (std::size_t i = 0; i < memory.size(); ++i) {
    if (row.arguments[i].is_number) {
      arguments.push_back(
          {anyplace::LaunchArgument::Kind::value, static_cast<std::uint32_t>(memory[i].size()), memory[i].data()});
      continue;
    }
    buffers.emplace_back(stream, memory[i].size());
    stream.copy(buffers.back(), std::span<const std::byte>(memory[i]));
    addresses.push_back(buffers.back().address());
    arguments.push_back({anyplace::LaunchArgument::Kind::address, sizeof(std::uint64_t), &addresses.back()});
  }
  stream.launch_arguments(module.kernel(row.kernel), row.config, arguments);
  std::size_t buffer = 0;
  for (std::size_t i = 0; i < memory.size(); ++i) {
    if (!row.arguments[i].is_number) stream.copy(std::span<std::byte>(memory[i]), buffers[buffer++]);
  }
  stream.synchronize();
  return memory;
}

/// The line that says what is wrong.
std::string reason_of(const anyplace::Error& error) {
  const std::string& text = error.vendor_text().empty() ? std::string(error.what()) : error.vendor_text();
  const std::size_t at = text.find("error: ");
  const std::string line = at == text.npos ? text : text.substr(at);
  return line.substr(0, std::min(line.find('\n'), std::size_t{160}));
}

/// "compiled", "same", or what went wrong. `wanted` is what the first way has written, which this sets if it is empty.
std::string tried(const Row& row, const std::string& folder, const std::string& place, const std::string& format,
                  Memory& wanted) try {
  const anyplace::Device device(place);
  const std::string path = folder + "/" + row.file;
  anyplace::CompileOptions options;
  options.name = row.file;
  options.includes = {path.substr(0, path.rfind('/'))};
  options.name_expressions = {row.kernel};
  const std::vector<std::string> targets{format.empty() ? place : format};
  const anyplace::CompiledKernels made = anyplace::compile(source_of(row), targets, options);
  if (!row.is_launched) return "compiled";
  const Memory memory = launched(row, device, anyplace::Module(device, made.images()));
  if (wanted.empty()) wanted = memory;
  for (std::size_t i = 0; i < memory.size(); ++i) {
    if (!row.arguments[i].is_same(wanted[i], memory[i])) return "argument " + std::to_string(i) + " differs";
  }
  return "same";
} catch (const anyplace::Error& error) {
  return reason_of(error);
}

}  // namespace

int main(int count, char** words) try {
  if (count < 3) {
    std::fprintf(stderr, "usage: foreign_kernels LIST FOLDER [PLACE...]\n");
    return 2;
  }
  for (const Row& row : rows_of(words[1])) {
    Memory wanted;
    std::string line = row.file + " | " + row.kernel;
    line += " | " + tried(row, words[2], "cpu_sim:0", "", wanted);
    line += " | " + tried(row, words[2], "cpu_sim:0", "spirv", wanted);
    for (int i = 3; i < count; ++i) line += " | " + tried(row, words[2], words[i], "", wanted);
    std::printf("%s\n", line.c_str());
    std::fflush(stdout);
  }
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "foreign_kernels: %s\n", error.what());
  return 2;
}

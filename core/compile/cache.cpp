// SPDX-License-Identifier: Apache-2.0
#include "compile/cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <string_view>
#include <thread>
#include <utility>

#include "anyplace/backend/kit/trust.h"
#include "compile/dialect.h"
#include "compile/records.h"
#include "compile/sha256.h"
#include "compile/whole_file.h"
#include "runtime/text.h"

namespace anyplace::detail {
namespace {

namespace fs = std::filesystem;

constexpr const char* version_of_entries = "anyplace kernels 2";
constexpr std::uint64_t default_limit = std::uint64_t{1} << 30;
constexpr std::size_t entry_limit = std::size_t{2} << 30;
constexpr std::size_t header_limit = std::size_t{64} << 20;
constexpr std::size_t digits_of_key = 64;
constexpr std::size_t digits_of_folder = 2;             ///< a folder has the entries whose keys begin alike
constexpr std::string_view unfinished_suffix = ".new";  ///< behind the entry's

std::string text_of(const char* value) { return value != nullptr ? value : ""; }

/// A variable's value as an absolute path; "" if it is none, or the process runs with raised privileges.
std::string path_variable(const char* name) {
  const char* const value = ::secure_getenv(name);
  return value != nullptr && *value == '/' ? value : "";
}

/// What ANYPLACE_CACHE says, apart from a folder.
bool is_off(std::string_view value) {
  const auto is_letter = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
  constexpr std::string_view off = "off";
  return value == "0" || std::equal(value.begin(), value.end(), off.begin(), off.end(), is_letter);
}

/// A number of bytes, or a number with a unit: "10MiB". None for any other text.
std::optional<std::uint64_t> bytes_in(std::string_view text) {
  std::uint64_t number = 0;
  const auto [stopped, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(stopped - text.data()));
  unsigned shift = 0;
  for (const std::string_view unit : {"", "KiB", "MiB", "GiB", "TiB"}) {
    if (text == unit) return number <= UINT64_MAX >> shift ? std::optional(number << shift) : std::nullopt;
    shift += 10;
  }
  return std::nullopt;
}

/// Is another text when the file is another one.
std::string identity_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return "";
  return fmt::format("{} {}.{}", status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
}

bool make_folder(const std::string& path) {
  std::error_code error;
  const fs::path parent = fs::path(path).parent_path();
  if (!parent.empty()) fs::create_directories(parent, error);
  return ::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST;
}

/// Makes the folder of a cache if it isn't there. Returns why nothing is kept in it; "" if something is.
std::string problem_of_folder(const std::string& folder) {
  if (!make_folder(folder)) return fmt::format("{} can't be made: {}", folder, std::strerror(errno));
  std::error_code error;
  if (!fs::is_directory(folder, error)) return fmt::format("{} is no folder", folder);
  const backend::Distrust found = backend::distrust_of(folder);
  return found.remedy.empty() ? found.problem : fmt::format("{}: {}", found.problem, found.remedy);
}

std::string place_of(const std::string& folder, const std::string& key) {
  return fmt::format("{}/{}/{}", folder, key.substr(0, digits_of_folder), key.substr(digits_of_folder));
}

/// Tells an entry that is damaged (FNV-1a of 64 bits: no single byte changes without it). SHA-256 would be most of what
/// a hit takes, and keeps nobody out who may write the entry.
std::string checksum(std::string_view bytes) {
  std::uint64_t sum = 0xcbf29ce484222325;
  for (const char byte : bytes) sum = (sum ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  return fmt::format("{:016x}", sum);
}

/// An entry's records that are those of a result, or why it can't be used.
struct Checked {
  std::string content;
  std::string problem;  ///< "" if there is none
};

Checked checked_entry(const std::string& path) {
  if (const backend::Distrust found = backend::distrust_of(path)) {
    return {"", "another user may have written it: " + found.problem};
  }
  std::optional<std::string> text = read_whole_file(path, entry_limit);
  if (!text) return {"", fmt::format("it can't be read: {}", std::strerror(errno))};
  const auto records = read_records(*text);
  if (!records || records->size() != 3) return {"", "it is damaged"};
  const auto& [version, sum, content] = std::tie((*records)[0], (*records)[1], (*records)[2]);
  if (version.second != version_of_entries) return {"", "another version of anyplace made it"};
  if (sum.second != checksum(content.second)) return {"", "it is damaged"};
  return {std::string(content.second), ""};
}

// A header in an entry is "<size> <time of change> <sum> <path>": with the same size and time its text isn't read. They
// are 0 for one that had changed so shortly before that a further change may have had the same time.

constexpr std::int64_t shortly_ns = 2'000'000'000;

std::int64_t in_ns(const timespec& time) { return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec; }

/// None for a header that can't be read, or has changed since the compilation began.
std::optional<std::string> header_in_entry(const std::string& path, std::int64_t began_ns) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  const std::int64_t changed_ns = in_ns(status.st_ctim);  // which nobody can set, unlike the time of writing
  if (changed_ns > began_ns) return std::nullopt;
  const std::optional<std::string> text = read_whole_file(path, header_limit);
  if (!text) return std::nullopt;
  const bool is_old = changed_ns + shortly_ns < began_ns;
  return fmt::format("{} {} {} {}", is_old ? status.st_size : 0, is_old ? changed_ns : 0, sha256(*text), path);
}

/// Why a header makes its entry out of date; "" if it doesn't.
std::string problem_of_header(const std::string& header) {
  const std::size_t behind_size = header.find(' '), behind_time = header.find(' ', behind_size + 1),
                    behind_sum = header.find(' ', behind_time + 1);
  if (behind_size == header.npos || behind_time == header.npos || behind_sum == header.npos) return "it is damaged";
  const std::string path = header.substr(behind_sum + 1);
  const std::string_view sum = std::string_view(header).substr(behind_time + 1, behind_sum - behind_time - 1);
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return "a header that it was made of is gone: " + path;
  if (header.substr(0, behind_time) == fmt::format("{} {}", status.st_size, in_ns(status.st_ctim))) return "";
  const std::optional<std::string> text = read_whole_file(path, header_limit);
  return text && sum == sha256(*text) ? "" : "a header that it was made of has changed: " + path;
}

/// Why one of the headers makes an entry out of date; "" if none does.
std::string problem_of_headers(const std::vector<std::string>& headers) {
  for (const std::string& header : headers) {
    if (std::string problem = problem_of_header(header); !problem.empty()) return problem;
  }
  return "";
}

std::optional<CompileResult> result_in(const std::string& path) {
  const Checked checked = checked_entry(path);
  if (!checked.problem.empty()) return std::nullopt;
  std::optional<CompileResult> result = result_of(checked.content);
  if (!result || !problem_of_headers(result->headers).empty()) return std::nullopt;
  return result;
}

}  // namespace

// ---- Locks ---------------------------------------------------------------------------------------------------------

namespace {

// Locks of a description of the file ("open file description"), not of a process: so they are between threads, too.
bool set_lock(int file, std::int64_t place, short kind) {
  struct flock one {};
  one.l_type = kind;
  one.l_whence = SEEK_SET;
  one.l_start = place;
  one.l_len = 1;
  return ::fcntl(file, F_OFD_SETLK, &one) == 0;
}

std::int64_t place_in_locks(const std::string& key) {
  constexpr std::size_t digits = 15;  // of 4 bits: it stays positive
  std::int64_t place = 0;
  std::from_chars(key.data(), key.data() + digits, place, 16);
  return place;
}

}  // namespace

CacheLock::CacheLock(CacheLock&& other) noexcept : file_(std::exchange(other.file_, -1)), place_(other.place_) {}

CacheLock::~CacheLock() {
  if (file_ < 0) return;
  set_lock(file_, place_, F_UNLCK);  // a process that was forked meanwhile has the description, too
  ::close(file_);
}

CacheLock KernelCache::lock(const std::string& key, const Deadline& deadline) const {
  if (folder_.empty()) return {};
  const std::string path = folder_ + "/locks";
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return {};
  const std::int64_t place = place_in_locks(key);
  while (!set_lock(file, place, F_WRLCK)) {
    if ((errno != EAGAIN && errno != EACCES && errno != EINTR) || deadline.left() == 0) {
      ::close(file);
      return {};
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // waiting for a lock has no limit of time
  }
  return CacheLock(file, place);
}

// ---- Finding and keeping -------------------------------------------------------------------------------------------

namespace {

/// The folder that is written to, or why there is none.
std::string own_folder(std::string& why) {
  std::string folder = path_variable("ANYPLACE_CACHE");
  if (folder.empty()) {
    std::string home = path_variable("XDG_CACHE_HOME");
    if (home.empty() && !path_variable("HOME").empty()) home = path_variable("HOME") + "/.cache";
    if (!home.empty()) folder = home + "/anyplace/kernels";
  }
  why = folder.empty() ? "none of ANYPLACE_CACHE, XDG_CACHE_HOME and HOME is an absolute path"
                       : problem_of_folder(folder);
  return why.empty() ? folder : "";
}

/// Adds a line to what is said of variables that aren't followed.
void warn(std::string& said, const std::string& line) { said += (said.empty() ? "" : "\n") + line; }

std::string shared_folder(std::string& said) {
  const std::string value = text_of(std::getenv("ANYPLACE_CACHE_SHARED"));
  if (value.empty()) return "";
  if (value.front() != '/') {
    warn(said, fmt::format("ANYPLACE_CACHE_SHARED is {}, and no absolute path: it isn't read", in_quotes(value)));
    return "";
  }
  const backend::Distrust distrust = backend::distrust_of(value);
  if (!distrust) return value;
  warn(said, fmt::format("ANYPLACE_CACHE_SHARED is {}, which isn't read: {}", in_quotes(value), distrust.problem));
  return "";
}

std::uint64_t limit_bytes(std::string& said) {
  const std::string value = text_of(std::getenv("ANYPLACE_CACHE_BYTES"));
  if (value.empty()) return default_limit;
  if (const std::optional<std::uint64_t> bytes = bytes_in(value)) return *bytes;
  warn(said, fmt::format("ANYPLACE_CACHE_BYTES is {}, and no number of bytes or number with KiB, MiB, GiB or TiB: it "
                         "is taken as 1GiB",
                         in_quotes(value)));
  return default_limit;
}

}  // namespace

std::optional<KernelCache> KernelCache::find(std::string* problem, std::string* warning) {
  std::string ignored;
  std::string& why = problem != nullptr ? *problem : ignored;
  if (::getauxval(AT_SECURE) != 0) {
    why = "the process runs with raised privileges, and follows no variable";
    return std::nullopt;
  }
  const std::string text = text_of(std::getenv("ANYPLACE_CACHE"));
  if (is_off(text)) {
    why = fmt::format("ANYPLACE_CACHE is {}", text);
    return std::nullopt;
  }
  if (!text.empty() && text.front() != '/') {
    why = fmt::format("ANYPLACE_CACHE is {}, and neither an absolute path nor off", in_quotes(text));
    return std::nullopt;
  }
  KernelCache cache;
  cache.folder_ = own_folder(why);
  std::string ignored_warning;
  std::string& said = warning != nullptr ? *warning : ignored_warning;
  said.clear();
  cache.shared_folder_ = shared_folder(said);
  cache.limit_bytes_ = limit_bytes(said);
  return cache;
}

std::int64_t KernelCache::now_ns() {
  timespec now{};
  // Files' times may be some milliseconds behind it. A change in these is before the compiler reads anything.
  ::clock_gettime(CLOCK_REALTIME, &now);
  return in_ns(now);
}

std::string KernelCache::key_of(const CompileJob& job, const std::string& compiler, const std::string& version) {
  CompileJob known = job;
  known.plugin = identity_of(job.plugin);  // where it is makes no difference
  std::string all;
  add_record(all, "entries", version_of_entries);
  add_record(all, "headers", dialect_sum);
  add_record(all, "compiler", compiler);
  add_record(all, "version", version);
  add_record(all, "job", to_records(known));
  return sha256(all);
}

std::optional<CompileResult> KernelCache::read(const std::string& key) const {
  for (const std::string& folder : {folder_, shared_folder_}) {
    if (folder.empty()) continue;
    const std::string path = place_of(folder, key) + std::string(suffix);
    std::optional<CompileResult> result = result_in(path);
    if (!result) continue;
    ::utimensat(AT_FDCWD, path.c_str(), nullptr, 0);  // the least recently used goes first
    return result;
  }
  return std::nullopt;
}

void KernelCache::keep(const CacheLock& lock, const std::string& key, const Facts& facts, const CompileResult& result,
                       std::int64_t began_ns) const {
  if (!lock.holds()) return;
  CompileResult kept = result;
  for (std::string& header : kept.headers) {
    std::optional<std::string> known = header_in_entry(header, began_ns);
    if (!known) return;  // nobody could tell whether it is what the compiler has read
    header = std::move(*known);
  }
  // What people are shown stands before the result, whose reader passes it over.
  std::string content;
  add_record(content, "source_name", facts.source);
  add_record(content, "compiler", facts.compiler);
  add_record(content, "format", facts.format);
  add_record(content, "architecture", facts.architecture);
  content += to_records(kept);
  std::string entry;
  add_record(entry, "version", version_of_entries);
  add_record(entry, "sum", checksum(content));
  add_record(entry, "content", content);
  if (entry.size() > limit_bytes_) return;
  const std::string path = place_of(folder_, key) + std::string(suffix);
  const std::string made = path + std::string(unfinished_suffix);
  if (!make_folder(fs::path(path).parent_path())) return;
  if (write_whole_file(made, entry) != 0 || ::rename(made.c_str(), path.c_str()) != 0) {
    ::unlink(made.c_str());
    return;
  }
  make_room(path);
}

void KernelCache::make_room(const std::string& newest) const {
  std::vector<Entry> all = entries();
  std::uint64_t bytes = 0;
  for (const Entry& one : all) bytes += one.bytes;
  for (const Entry& one : all) {
    if (bytes <= limit_bytes_) break;
    if (one.path != newest && ::unlink(one.path.c_str()) == 0) bytes -= one.bytes;
  }
}

std::vector<KernelCache::Entry> KernelCache::entries() const {
  std::vector<Entry> all;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder_, error), end; !error && it != end; it.increment(error)) {
    struct stat status {};
    const std::string path = it->path();
    if (!std::string_view(path).ends_with(suffix) || ::lstat(path.c_str(), &status) != 0) continue;
    if (!S_ISREG(status.st_mode)) continue;
    all.push_back({path, static_cast<std::uint64_t>(status.st_size), in_ns(status.st_mtim)});
  }
  std::sort(all.begin(), all.end(), [](const Entry& a, const Entry& b) { return a.used_ns < b.used_ns; });
  return all;
}

std::vector<std::string> KernelCache::files() const {
  const auto is_hexadecimal = [](std::string_view text) {
    return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  };
  std::vector<std::string> all;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder_, error), end; !error && it != end; it.increment(error)) {
    const std::string parent = it->path().parent_path().filename(), name = it->path().filename();
    const std::size_t dot = std::min(name.find('.'), name.size());
    const bool is_own = it.depth() == 1 && parent.size() == digits_of_folder && is_hexadecimal(parent) &&
                        dot == digits_of_key - digits_of_folder && is_hexadecimal(name.substr(0, dot));
    if (is_own) all.push_back(it->path());
  }
  return all;
}

KernelCache::Facts KernelCache::facts_of(const std::string& path) {
  const Checked checked = checked_entry(path);
  Facts facts;
  facts.problem = checked.problem;
  if (!facts.problem.empty()) return facts;
  const std::optional<CompileResult> result = result_of(checked.content);
  facts.problem = result ? problem_of_headers(result->headers) : "it is damaged";
  for (const auto& [name, text] : read_records(checked.content).value_or(std::vector<Record>())) {
    if (name == "source_name") facts.source = text;
    if (name == "compiler") facts.compiler = text;
    if (name == "format") facts.format = text;
    if (name == "architecture") facts.architecture = text;
  }
  return facts;
}

}  // namespace anyplace::detail

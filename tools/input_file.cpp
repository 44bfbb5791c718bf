// SPDX-License-Identifier: Apache-2.0
#include "input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#ifdef ANYPLACE_TOOL_ZLIB
#include <zlib.h>
#endif

namespace anyplace::tool {
namespace {

constexpr std::size_t chunk_bytes = 65536;
constexpr std::string_view gzip_magic("\x1f\x8b", 2);

std::string reason(int number) { return std::strerror(number); }

/// Owns the descriptor of the file or of standard input.
class Descriptor {
 public:
  explicit Descriptor(const std::string& path)
      : number_(path == standard_input ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                                       : open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (number_ < 0) throw InputError("can't be opened: " + reason(errno));
    struct stat about {};
    if (fstat(number_, &about) == 0 && S_ISDIR(about.st_mode)) {
      close(number_);
      throw InputError("is a directory; name a file");
    }
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(number_); }

  /// Reads up to `bytes` bytes; returns how many, 0 at the end.
  std::size_t read(char* to, std::size_t bytes) const {
    for (;;) {
      const ssize_t got = ::read(number_, to, bytes);
      if (got >= 0) return static_cast<std::size_t>(got);
      if (errno != EINTR) throw InputError("can't be read: " + reason(errno));
    }
  }

 private:
  int number_;
};

}  // namespace

/// A source of bytes: the file, or its unpacked contents.
class InputFile::Source {
 public:
  virtual ~Source() = default;
  /// Appends some bytes to `text`; false at the end.
  virtual bool append(std::string& text) = 0;
};

class InputFile::PlainSource final : public Source {
 public:
  explicit PlainSource(const std::string& path) : file_(path) {
    // A small file, a pipe or a slow writer may deliver the two bytes of the magic number in two reads.
    while (first_.size() < gzip_magic.size() && append_read(first_)) {
    }
  }

  bool looks_like_gzip() const { return std::string_view(first_).substr(0, gzip_magic.size()) == gzip_magic; }

  bool append(std::string& text) override {
    if (first_.empty()) return append_read(text);
    text += first_;
    first_.clear();
    return true;
  }

 private:
  bool append_read(std::string& text) {
    const std::size_t got = file_.read(chunk_.data(), chunk_.size());
    text.append(chunk_.data(), got);
    return got > 0;
  }

  Descriptor file_;
  std::array<char, chunk_bytes> chunk_;
  std::string first_;
};

#ifdef ANYPLACE_TOOL_ZLIB

class InputFile::GzipSource final : public Source {
 public:
  explicit GzipSource(std::unique_ptr<PlainSource> packed) : packed_(std::move(packed)) {
    constexpr int gzip_only = 16 + MAX_WBITS;
    if (inflateInit2(&stream_, gzip_only) != Z_OK) throw InputError("can't be unpacked: zlib has no memory");
  }
  GzipSource(const GzipSource&) = delete;
  GzipSource& operator=(const GzipSource&) = delete;
  ~GzipSource() override { inflateEnd(&stream_); }

  bool append(std::string& text) override {
    for (;;) {
      if (stream_.avail_in == 0 && !refill()) {
        if (!between_members_) {
          throw InputError("ends in the middle of its gzip data; it was cut off: copy it again (`gzip -t` checks it)");
        }
        return false;
      }
      if (between_members_) begin_member();
      const std::size_t got = inflate_some();
      text.append(unpacked_.data(), got);
      if (got > 0) return true;
    }
  }

 private:
  bool refill() {
    input_.clear();
    if (!packed_->append(input_)) return false;
    stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
    stream_.avail_in = static_cast<uInt>(input_.size());
    return true;
  }

  /// Begins the next member of a gzip file. Packed files may be joined, and count as one file then.
  void begin_member() {
    inflateReset(&stream_);
    between_members_ = false;
  }

  std::size_t inflate_some() {
    stream_.next_out = reinterpret_cast<Bytef*>(unpacked_.data());
    stream_.avail_out = static_cast<uInt>(unpacked_.size());
    const int result = inflate(&stream_, Z_NO_FLUSH);
    if (result == Z_STREAM_END) {
      between_members_ = true;
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      throw InputError(std::string("holds damaged gzip data (") + (stream_.msg != nullptr ? stream_.msg : "zlib") +
                       "); copy it again (`gzip -t` checks it)");
    }
    return unpacked_.size() - stream_.avail_out;
  }

  std::unique_ptr<PlainSource> packed_;
  std::string input_;
  std::array<char, chunk_bytes> unpacked_;
  z_stream stream_{};
  bool between_members_ = false;
};

#endif

InputFile::InputFile(const std::string& path) {
  auto plain = std::make_unique<PlainSource>(path);
  const bool named_so = std::string_view(path).ends_with(".gz");
  if (!plain->looks_like_gzip()) {
    if (named_so) throw InputError("isn't gzip, though it is named .gz; rename it if it is plain text");
    source_ = std::move(plain);
    return;
  }
#ifdef ANYPLACE_TOOL_ZLIB
  source_ = std::make_unique<GzipSource>(std::move(plain));
#else
  throw InputError("is packed by gzip, and this command was built without zlib (Debian: zlib1g-dev); unpack it first");
#endif
}

InputFile::~InputFile() = default;

bool InputFile::fill() {
  buffer_.erase(0, at_);
  at_ = 0;
  return source_->append(buffer_);
}

std::string_view InputFile::beginning(std::size_t bytes) {
  while (buffer_.size() - at_ < bytes && fill()) {
  }
  return std::string_view(buffer_).substr(at_, bytes);
}

std::string InputFile::take_rest() {
  while (fill()) {
    if (buffer_.size() > max_whole) throw InputError("has more than " + std::to_string(max_whole >> 20) + " MiB");
  }
  at_ = 0;
  return std::exchange(buffer_, {});
}

bool InputFile::next_line(std::string& line) {
  ++line_number_;
  std::size_t searched = at_;
  std::size_t end = buffer_.find('\n', searched);
  while (end == std::string::npos && buffer_.size() - at_ <= max_line) {
    searched = buffer_.size() - at_;
    if (!fill()) {
      if (buffer_.empty()) return false;
      end = buffer_.size();  // the last line may lack its end
      break;
    }
    end = buffer_.find('\n', searched);
  }
  if (end == std::string::npos || end - at_ > max_line) {
    throw InputError("a line has more than " + std::to_string(max_line) + " bytes");
  }
  line.assign(buffer_, at_, end - at_);
  at_ = std::min(end + 1, buffer_.size());
  if (!line.empty() && line.back() == '\r') line.pop_back();
  return true;
}

}  // namespace anyplace::tool

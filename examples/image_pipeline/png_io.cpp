// SPDX-License-Identifier: Apache-2.0
//
// libpng reports errors by longjmp. So each function that calls setjmp here has only trivial locals, and all that must
// be destroyed is owned by its caller.
#include "png_io.h"

#include <fcntl.h>
#include <png.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csetjmp>
#include <cstring>
#include <filesystem>
#include <memory>
#include <new>
#include <system_error>
#include <utility>

namespace image_pipeline {
namespace {

std::string errno_text(int number) { return std::generic_category().message(number); }

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

/// Where libpng's callbacks leave what went wrong.
struct Failure {
  std::array<char, 200> text{};
  std::array<char, 200> warning{};  ///< the first one

  static void keep_first(std::array<char, 200>& to, const char* message) {
    if (to[0] == '\0') std::snprintf(to.data(), to.size(), "%s", message);
  }
};

[[noreturn]] void on_error(png_structp png, png_const_charp message) {
  auto* failure = static_cast<Failure*>(png_get_error_ptr(png));
  Failure::keep_first(failure->text, message);
  png_longjmp(png, 1);
}

// Warnings are about ancillary chunks (colour profiles, texts), which this program doesn't use; but what is wrong with
// a header is in them too, and the error then only says that something is.
void on_warning(png_structp png, png_const_charp message) {
  Failure::keep_first(static_cast<Failure*>(png_get_error_ptr(png))->warning, message);
}

void read_bytes(png_structp png, png_bytep to, std::size_t count) {
  auto* file = static_cast<std::FILE*>(png_get_io_ptr(png));
  if (std::fread(to, 1, count, file) == count) return;
  png_error(png, std::ferror(file) ? "the file can't be read" : "the file is truncated");
}

void write_bytes(png_structp png, png_bytep from, std::size_t count) {
  if (std::fwrite(from, 1, count, static_cast<std::FILE*>(png_get_io_ptr(png))) == count) return;
  char text[128];
  std::snprintf(text, sizeof(text), "%s", std::strerror(errno));
  png_error(png, text);
}

void flush_bytes(png_structp) {}

class Reader {
 public:
  explicit Reader(std::FILE* file) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, &failure_, on_error, on_warning);
    info_ = png_ != nullptr ? png_create_info_struct(png_) : nullptr;
    if (info_ == nullptr) {
      png_destroy_read_struct(&png_, &info_, nullptr);
      throw std::bad_alloc();
    }
    png_set_read_fn(png_, file, read_bytes);
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;
  ~Reader() { png_destroy_read_struct(&png_, &info_, nullptr); }

  /// Up to the first row; asks for 8 bits a channel. False: see failure().
  bool read_header() {
    if (setjmp(png_jmpbuf(png_))) return false;
    png_read_info(png_, info_);
    png_set_expand(png_);
    png_set_scale_16(png_);
    png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    return true;
  }
  bool read_rows(png_bytepp rows) {
    if (setjmp(png_jmpbuf(png_))) return false;
    png_read_image(png_, rows);
    png_read_end(png_, nullptr);
    return true;
  }

  png_structp png() const { return png_; }
  png_infop info() const { return info_; }
  std::string failure() const { return failure_.text.data(); }
  const char* warning() const { return failure_.warning.data(); }

 private:
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  Failure failure_;
};

class Writer {
 public:
  explicit Writer(std::FILE* file) {
    png_ = png_create_write_struct(PNG_LIBPNG_VER_STRING, &failure_, on_error, on_warning);
    info_ = png_ != nullptr ? png_create_info_struct(png_) : nullptr;
    if (info_ == nullptr) {
      png_destroy_write_struct(&png_, &info_);
      throw std::bad_alloc();
    }
    png_set_write_fn(png_, file, write_bytes, flush_bytes);
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  ~Writer() { png_destroy_write_struct(&png_, &info_); }

  bool write(const Picture& picture, int color_type) {
    if (setjmp(png_jmpbuf(png_))) return false;
    png_set_IHDR(png_, info_, picture.width, picture.height, 8, color_type, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_write_info(png_, info_);
    for (png_uint_32 y = 0; y < picture.height; ++y) png_write_row(png_, picture.row(y));
    png_write_end(png_, nullptr);
    return true;
  }

  const char* failure() const { return failure_.text.data(); }

 private:
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  Failure failure_;
};

/// The file, opened, after its signature; and its size in bytes.
std::pair<File, std::uint64_t> open_png(const std::string& path) {
  File file(std::fopen(path.c_str(), "rbe"));
  if (!file) throw FileError("can't read '" + path + "': " + errno_text(errno));
  struct stat status {};
  if (fstat(fileno(file.get()), &status) != 0) throw FileError("can't read '" + path + "': " + errno_text(errno));
  if (S_ISDIR(status.st_mode)) throw FileError("can't read '" + path + "': it is a directory");
  std::array<unsigned char, 8> signature{};
  const std::size_t got = std::fread(signature.data(), 1, signature.size(), file.get());
  if (got == 0) throw FileError("'" + path + "' is not a PNG file: it is empty");
  if (png_sig_cmp(signature.data(), 0, got) != 0) {
    throw FileError("'" + path + "' is not a PNG file: it doesn't begin with PNG's signature");
  }
  if (got < signature.size()) throw FileError("'" + path + "' can't be decoded: the file is truncated");
  const bool regular = S_ISREG(status.st_mode);
  return {std::move(file), regular ? static_cast<std::uint64_t>(status.st_size) : UINT64_MAX};
}

}  // namespace

Picture read_png(const std::string& path) {
  const auto [file, file_bytes] = open_png(path);
  Reader reader(file.get());
  png_set_sig_bytes(reader.png(), 8);
  const auto refuse = [&path](const std::string& why) { throw FileError("'" + path + "' can't be decoded: " + why); };
  if (!reader.read_header())
    refuse(reader.failure() + (*reader.warning() != '\0' ? std::string(": ") + reader.warning() : ""));

  Picture picture;
  picture.width = png_get_image_width(reader.png(), reader.info());
  picture.height = png_get_image_height(reader.png(), reader.info());
  picture.channels = png_get_channels(reader.png(), reader.info());
  const std::string size = std::to_string(picture.width) + " x " + std::to_string(picture.height);
  // Deflate makes nothing more than 1032 times smaller, and a stored pixel has at least one bit: a header that claims
  // more than that is refused before memory is asked for. (Both sides are divided to stay within 64 bits.)
  const std::uint64_t stored_bytes = std::uint64_t{picture.width} * picture.height / 8;
  if (stored_bytes / 1032 > file_bytes) refuse("the file is truncated (it is too short for " + size + " pixels)");
  std::vector<png_bytep> rows;
  try {
    picture.pixels.resize(picture.row_bytes() * picture.height);
    rows.resize(picture.height);
  } catch (const std::exception&) {
    refuse("not enough memory for " + size + " pixels");
  }
  for (std::uint32_t y = 0; y < picture.height; ++y) rows[y] = picture.row(y);
  if (!reader.read_rows(rows.data())) refuse(reader.failure());
  return picture;
}

OutputFile::OutputFile(const std::string& path) : path_(path) {
  const auto refuse = [&path](const std::string& why) { throw FileError("can't write '" + path + "': " + why); };
  if (path.empty()) refuse("the name is empty");
  std::error_code error;
  target_ = std::filesystem::weakly_canonical(path, error).string();
  if (error) refuse(error.message());
  const std::filesystem::file_status status = std::filesystem::status(target_, error);
  if (std::filesystem::is_directory(status)) refuse("it is a directory");
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) refuse("it is not a regular file");
  // Replacing by rename would get around a file's own write protection.
  if (std::filesystem::exists(status) && access(target_.c_str(), W_OK) != 0) refuse(errno_text(errno));
  temporary_ = target_ + ".part-" + std::to_string(getpid());
  const int descriptor = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0) refuse(errno_text(errno));
  stream_ = fdopen(descriptor, "wb");
  if (stream_ == nullptr) {
    const int number = errno;
    close(descriptor);
    unlink(temporary_.c_str());
    refuse(errno_text(number));
  }
}

OutputFile::~OutputFile() {
  if (stream_ != nullptr) std::fclose(stream_);
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void OutputFile::commit() {
  const int closed = std::fclose(std::exchange(stream_, nullptr));
  if (closed != 0 || std::rename(temporary_.c_str(), target_.c_str()) != 0) {
    throw FileError("can't write '" + path_ + "': " + errno_text(errno));
  }
  temporary_.clear();
}

void write_png(OutputFile& file, const Picture& picture) {
  constexpr std::array<int, 5> color_types = {0, PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                                              PNG_COLOR_TYPE_RGB_ALPHA};
  Writer writer(file.stream());
  if (!writer.write(picture, color_types.at(picture.channels))) {
    throw FileError("can't write '" + file.path() + "': " + writer.failure());
  }
}

}  // namespace image_pipeline

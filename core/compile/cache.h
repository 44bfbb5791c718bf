// SPDX-License-Identifier: Apache-2.0
//
// The cache of compiled kernels: a folder with a file for each image, named by the SHA-256 of everything that the image
// was made of. docs/kernels.md has the folder, the variables and the rules for users.
//
// Invariants: an entry is complete, because it is renamed into place, and it is used only if its own checksum and those
// of the headers that were read are right. Nothing that goes wrong with the cache is an error: then it is as if it were
// empty.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compile/job.h"
#include "runtime/deadline.h"

namespace anyplace::detail {

/// Holds a key while it is compiled, so that of several processes and threads one compiles and the others find its
/// entry.
class CacheLock {
 public:
  CacheLock() = default;
  CacheLock(int file, std::int64_t place) noexcept : file_(file), place_(place) {}
  CacheLock(CacheLock&& other) noexcept;
  CacheLock& operator=(CacheLock&&) = delete;
  ~CacheLock();
  bool holds() const noexcept { return file_ >= 0; }

 private:
  int file_ = -1;
  std::int64_t place_ = 0;  ///< the byte of the file that is locked
};

class KernelCache {
 public:
  /// The cache that the environment says; null for none. Reads the environment at each call. `problem`, unless null,
  /// gets why nothing is kept; "" if something is. `warning`, unless null, gets which variable has no value that can be
  /// followed, where something is kept all the same.
  static std::optional<KernelCache> find(std::string* problem = nullptr, std::string* warning = nullptr);

  /// What the images of a job are known by. `compiler` and `version` are the compiler's name and its library's version.
  static std::string key_of(const CompileJob& job, const std::string& compiler, const std::string& version);

  /// Returns the entry of a key, if there is a good one.
  std::optional<CompileResult> read(const std::string& key) const;
  /// Waits until nobody else holds the key, at most until the deadline, and holds it. Holds nothing where that can't
  /// be. All keys are bytes of one file, "locks", which stays: so no lock is left by a process that is killed.
  CacheLock lock(const std::string& key, const Deadline& deadline) const;
  /// What people are told of an entry.
  struct Facts {
    std::string source, compiler, format, architecture;
    std::string problem = {};  ///< why it isn't used; "" if it is
  };
  /// Keeps a result, and makes room for it. Does nothing without the lock of the key: whoever has that is the only one
  /// who writes the entry. `began_ns` is now_ns() before the compilation: a header that has changed since may not be
  /// what the compiler has read, and then nothing is kept.
  void keep(const CacheLock& lock, const std::string& key, const Facts& facts, const CompileResult& result,
            std::int64_t began_ns) const;
  /// Nanoseconds since 1970.
  static std::int64_t now_ns();

  /// The folder that is written to; empty if there is none.
  const std::string& folder() const noexcept { return folder_; }

  struct Entry {
    std::string path;
    std::uint64_t bytes = 0;
    std::int64_t used_ns = 0;  ///< when it was last used, since 1970
  };
  /// All entries of the folder, the least recently used first.
  std::vector<Entry> entries() const;
  /// Reads and checks an entry.
  static Facts facts_of(const std::string& path);
  /// The entries in the folder, and those that aren't complete. Other files, as that of the locks, aren't among
  /// them.
  std::vector<std::string> files() const;

  static constexpr std::string_view suffix = ".kernels";  ///< of an entry's file

 private:
  void make_room(const std::string& newest) const;

  std::string folder_;         ///< read and written
  std::string shared_folder_;  ///< read only
  std::uint64_t limit_bytes_ = 0;
};

}  // namespace anyplace::detail

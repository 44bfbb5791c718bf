// SPDX-License-Identifier: Apache-2.0
//
// distrust_of(): whether somebody else could have put the code at a path there, or could replace it. What is loaded
// into a process has all rights of that process, so it is taken only from where root and the process's own user (the
// effective one) alone may write. docs/places.md#trust has the rules for users.
//
// Every name on the way to the file is looked at, symbolic links too, as the kernel follows them. A path that passes
// can't be led elsewhere by another user afterwards, so opening it by the same path opens what was checked. What root
// or the own user do meanwhile isn't found out.
//
// Thread-safe. Opens nothing at the path.
#pragma once

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>

namespace anyplace::backend {

/// Why code isn't loaded from a path. Empty if it may be.
struct Distrust {
  std::string problem = {};  ///< which part of the path, and who owns or may write it
  std::string remedy = {};   ///< what would be right
  int error = 0;             ///< the errno, where a part of the path couldn't be looked at

  /// Whether the path isn't trusted.
  explicit operator bool() const noexcept { return !problem.empty(); }
};

namespace detail {

constexpr const char* trusted_folders_variable = "ANYPLACE_TRUSTED_FOLDERS";
constexpr std::size_t name_room = 16 * 1024;  ///< bytes for an entry of the users or the groups

/// What a part of a path is to the code at its end.
enum class PathPart {
  LINK,
  WAY,   ///< a folder in which nobody else may replace what comes next
  CODE,  ///< the file, its folder, or a folder of plugins: nobody else may write it
};

inline std::string parent_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos || slash == 0 ? "/" : path.substr(0, slash);
}

inline std::string user_text(uid_t user) {
  char text[name_room];
  passwd entry{}, *found = nullptr;
  const bool has_name = getpwuid_r(user, &entry, text, sizeof(text), &found) == 0 && found != nullptr;
  return "the user " + std::to_string(user) + (has_name ? " (" + std::string(found->pw_name) + ")" : "");
}

/// Whether nobody but the owner is in the group: its name is the owner's, it is the owner's first group, and it lists
/// nobody else. Fedora and others give each user such a group, and let it write the user's files.
inline bool is_owners_own_group(uid_t owner, gid_t group) {
  char user_room[name_room], group_room[name_room];
  passwd user{}, *found_user = nullptr;
  if (getpwuid_r(owner, &user, user_room, sizeof(user_room), &found_user) != 0 || found_user == nullptr) return false;
  struct group entry {
  }, *found = nullptr;
  if (getgrgid_r(group, &entry, group_room, sizeof(group_room), &found) != 0 || found == nullptr) return false;
  const std::string_view name = found_user->pw_name;
  if (found_user->pw_gid != group || name != found->gr_name) return false;
  for (char** member = found->gr_mem; *member != nullptr; ++member) {
    if (name != *member) return false;
  }
  return true;
}

/// Whether no number of this user namespace stands for that owner. The kernel then shows one number for all of them.
inline bool is_unmapped(uid_t owner) {
  static const uid_t overflow = [] {
    uid_t number = 0;
    return std::ifstream("/proc/sys/kernel/overflowuid") >> number ? number : uid_t{65534};
  }();
  if (owner != overflow) return false;
  std::ifstream map("/proc/self/uid_map");
  if (!map) return false;  // without /proc the number is taken for what it is
  for (unsigned long long first = 0, outside = 0, count = 0; map >> first >> outside >> count;) {
    if (owner >= first && owner - first < count) return false;
  }
  return true;
}

/// Whether the owner of the code that asks is one that this user namespace has no number for.
inline bool is_own_code_unmapped() {
  Dl_info info{};
  struct stat status {};
  return dladdr(reinterpret_cast<const void*>(&is_own_code_unmapped), &info) != 0 && info.dli_fname != nullptr &&
         stat(info.dli_fname, &status) == 0 && is_unmapped(status.st_uid);
}

/// In a user namespace the system's own files have such an owner, which can't be told from a user of the machine. The
/// way to a file may be that owner's; the code itself only where this library is, too.
inline bool is_trusted_owner(uid_t owner, PathPart part) {
  if (owner == 0) return true;
  if (is_unmapped(owner)) return part == PathPart::WAY || is_own_code_unmapped();
  return owner == geteuid();
}

/// Who may write besides the owner, in words; "" if nobody.
inline std::string other_writers(const std::string& path, const struct stat& status) {
  if ((status.st_mode & S_IWOTH) != 0) return "every user";
  if ((status.st_mode & S_IWGRP) == 0) return "";
  // With an access control list the group's bits are the most that any user or group of the list may do.
  if (lgetxattr(path.c_str(), "system.posix_acl_access", nullptr, 0) > 0) return "those of its access control list";
  if (is_owners_own_group(status.st_uid, status.st_gid)) return "";
  char text[name_room];
  struct group entry {
  }, *found = nullptr;
  const bool has_name = getgrgid_r(status.st_gid, &entry, text, sizeof(text), &found) == 0 && found != nullptr;
  return "the group " + std::to_string(status.st_gid) + (has_name ? " (" + std::string(found->gr_name) + ")" : "");
}

/// The path without links; "" if nothing is there.
inline std::string resolved(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(realpath(path.c_str(), nullptr), &std::free);
  return real == nullptr ? "" : real.get();
}

inline bool is_in(std::string_view path, std::string_view folder) {
  return folder == "/" || path == folder || (path.starts_with(folder) && path[folder.size()] == '/');
}

/// Whether the user trusts a part of the path `whole`: it is in one of the folders that the variable names, or on the
/// way to one that the whole path ends in. A link on that way isn't trusted: it could lead elsewhere a moment later.
inline bool is_trusted_by_user(const std::string& part, bool is_link, const std::string& whole) {
  const char* const value = secure_getenv(trusted_folders_variable);
  const std::string folders = value == nullptr ? "" : value;
  for (std::size_t begin = 0; begin < folders.size();) {
    const std::size_t end = std::min(folders.find(':', begin), folders.size());
    const std::string named = folders.substr(begin, end - begin);
    begin = end + 1;
    const std::string folder = named.starts_with('/') ? resolved(named) : "";
    if (folder.empty()) continue;
    if (is_in(part, folder)) return true;
    if (!is_link && is_in(folder, part) && is_in(resolved(whole), folder)) return true;
  }
  return false;
}

/// What the user can do about a part of a path that isn't trusted.
inline std::string remedy_text(const std::string& first, const struct stat& status) {
  return first + "; or, if you trust all who may write there, name " +
         (S_ISDIR(status.st_mode) ? "the folder in " : "its folder in ") + trusted_folders_variable +
         "; see docs/places.md#trust";
}

/// Judges one part of the path `whole`. `path` is that part, without links before its end.
inline Distrust part_distrust(const std::string& path, const struct stat& status, PathPart part,
                              const std::string& whole) {
  const bool is_link = part == PathPart::LINK;
  if (!is_trusted_owner(status.st_uid, part) && !is_trusted_by_user(path, is_link, whole)) {
    if (is_unmapped(status.st_uid)) {
      return {path + " belongs to a user outside of this user namespace, and this library doesn't",
              remedy_text("map its owner into the namespace", status)};
    }
    const std::string others = geteuid() == 0 ? "" : " and from " + user_text(geteuid());
    return {path + " belongs to " + user_text(status.st_uid) + ", and code is taken from root" + others +
                (others.empty() ? " alone" : " alone, who runs this process"),
            remedy_text(std::string(is_link ? "chown -h" : "chown") + " it to root" +
                            (others.empty() ? "" : " or to that user"),
                        status)};
  }
  // In a folder with the sticky bit, as /tmp, everybody may add files, but nobody may replace what is another's.
  const bool keeps_entries = part == PathPart::WAY && (status.st_mode & S_ISVTX) != 0;
  if (is_link || keeps_entries) return {};
  const std::string others = other_writers(path, status);
  if (others.empty() || is_trusted_by_user(path, is_link, whole)) return {};
  char mode[8];
  std::snprintf(mode, sizeof(mode), "%04o", static_cast<unsigned>(status.st_mode & 07777));
  const bool is_shared = S_ISDIR(status.st_mode) && (status.st_mode & S_ISVTX) != 0;
  return {path + " may be written by " + others + " (its mode is " + mode + ")",
          remedy_text(is_shared ? "put the file into a folder of its own" : "chmod go-w " + path, status)};
}

}  // namespace detail

/// Why code isn't loaded from the path, which is a file or a folder with code; a relative one is taken from the current
/// folder. A path that leads nowhere is a problem, too, because somebody else could put something there.
inline Distrust distrust_of(const std::string& path) {
  using namespace detail;
  constexpr int most_links = 40;  // as the kernel
  const auto failed = [&](const std::string& part, int error) {
    return Distrust{part + " can't be looked at: " + std::strerror(error), "", error};
  };
  std::string at;  // how far the path is followed, without links; "" is the root
  std::string rest = path.starts_with('/') ? path : resolved(".") + "/" + path;
  struct stat status {};
  if (lstat("/", &status) != 0) return failed("/", errno);
  if (Distrust found = part_distrust("/", status, PathPart::WAY, path)) return found;
  for (int links = 0; !rest.empty();) {
    const std::size_t slash = std::min(rest.find('/'), rest.size());
    const std::string name = rest.substr(0, slash);
    rest.erase(0, slash + 1);
    if (name.empty() || name == ".") continue;
    if (name == "..") {
      at.resize(at.empty() ? 0 : at.rfind('/'));
      continue;
    }
    const std::string next = at + "/" + name;
    if (lstat(next.c_str(), &status) != 0) return failed(next, errno);
    const bool is_link = S_ISLNK(status.st_mode);
    if (Distrust found = part_distrust(next, status, is_link ? PathPart::LINK : PathPart::WAY, path)) return found;
    if (!is_link) {
      at = next;
      continue;
    }
    char target[PATH_MAX];
    const ssize_t length = readlink(next.c_str(), target, sizeof(target));
    if (length < 0) return failed(next, errno);
    if (++links > most_links || static_cast<std::size_t>(length) == sizeof(target)) return failed(next, ELOOP);
    if (length > 0 && *target == '/') at.clear();
    rest = std::string(target, static_cast<std::size_t>(length)) + "/" + rest;
  }
  if (at.empty()) at = "/";
  if (lstat(at.c_str(), &status) != 0) return failed(at, errno);
  if (Distrust found = part_distrust(at, status, PathPart::CODE, path)) return found;
  if (S_ISDIR(status.st_mode)) return {};
  const std::string folder = parent_of(at);
  if (lstat(folder.c_str(), &status) != 0) return failed(folder, errno);
  return part_distrust(folder, status, PathPart::CODE, path);
}

}  // namespace anyplace::backend

// SPDX-License-Identifier: Apache-2.0
//
// Plugins: which backends there are and where they come from. An application needs none of this; `anyplace doctor`
// does.
//
// A backend `name` is looked for as libanyplace_backend_<name>.so, in this order: a path given to register_plugin; the
// directories of the environment variable ANYPLACE_BACKEND_PATH (":" between them, absolute; ignored where the process
// runs with raised privileges); the directory of libanyplace; the directory that backends are installed in. The first
// that is accepted wins. Plugins are never unloaded.
//
// A directory or a file that another user than root or the process's effective one owns, or may write, or could
// replace, is not searched or refused, unless it is in a folder of ANYPLACE_TRUSTED_FOLDERS: docs/places.md#trust.
//
// A symbolic link libanyplace_backend_<alias>.so that leads to a file named libanyplace_backend_<name>.so is no
// candidate: it makes <alias> another name of <name>.
//
// Every function here may be called from any thread, and can throw forked, shut_down, and not_permitted inside a host
// function, a kernel or a plugin's entry; each says what else it throws.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "error.h"
#include "export.h"

namespace anyplace {

/// A file that could be a backend.
struct PluginCandidate {
  /// How the file was found.
  enum class Source {
    registered,      ///< by register_plugin()
    path_variable,   ///< in a directory of ANYPLACE_BACKEND_PATH
    beside_library,  ///< in the directory of the library's own file
    installed,       ///< in the directory that an installed library has its plugins in
  };
  /// What became of the file in this process.
  enum class State {
    unopened,  ///< nobody asked for its name yet
    accepted,  ///< in use
    refused,   ///< `reason` says why
    shadowed,  ///< another file of the same name comes first
  };
  std::string name;                   ///< the backend's name, out of the name of the file
  std::string path;                   ///< absolute
  Source source = Source::installed;  ///< how it was found
  State state = State::unopened;      ///< what became of it
  ErrorCode code = ErrorCode::ok;     ///< the code of the refusal
  std::string reason;                 ///< why it was refused, or by which file it is shadowed
  std::string remedy;                 ///< the end of `reason` that says what the plugin's vendor advises; else ""

  /// `reason` without the remedy.
  std::string problem() const {
    constexpr std::size_t separator = 2;  // "; "
    return reason.substr(0, reason.size() - (remedy.empty() ? 0 : remedy.size() + separator));
  }
};

/// "registered", "ANYPLACE_BACKEND_PATH", "beside the library", "installed". Never throws.
ANYPLACE_API const char* to_string(PluginCandidate::Source source) noexcept;
/// "unopened", "accepted", "refused", "shadowed". Never throws.
ANYPLACE_API const char* to_string(PluginCandidate::State state) noexcept;

/// Every candidate in search order, with what is known of it in this process. Opens no plugin.
ANYPLACE_API std::vector<PluginCandidate> plugin_candidates();

/// A directory of the search.
struct PluginDirectory {
  std::string path;                                                     ///< absolute
  PluginCandidate::Source source = PluginCandidate::Source::installed;  ///< how it came into the search
  bool is_there = true;  ///< if false, nothing is found in it now, which is no problem
};

/// The directories that are searched, in order, each once. Unusable ones of ANYPLACE_BACKEND_PATH, and those that
/// another user could have written, are among plugin_directory_problems() instead.
ANYPLACE_API std::vector<PluginDirectory> plugin_directories();

/// A directory of the search that can't be used, and why; for example a relative one in ANYPLACE_BACKEND_PATH, or one
/// that every user may write.
struct PluginDirectoryProblem {
  std::string directory;  ///< the path as it was given
  std::string reason;     ///< why it can't be used
};
/// Every such directory, in the order of the search. Opens no plugin.
ANYPLACE_API std::vector<PluginDirectoryProblem> plugin_directory_problems();

/// Makes `path` the first candidate for the name in its file name. Opens nothing yet. Throws invalid_argument if the
/// file is not named libanyplace_backend_<name>.so or isn't there, or if that backend is in use already from another
/// file. Whether it is trusted is found out when it is loaded. A backend whose files were all refused is tried again
/// with this one. A file libanyplace_engine_<name>.so is an engine of communicators (communicator.h),
/// libanyplace_compiler_<name>.so a compiler (compile.h), and libanyplace_layer_<name>.so a layer (layers.h); one of
/// its name that is in use stays so.
ANYPLACE_API void register_plugin(const std::string& path);

/// Names of all candidates, without repetition: first in the order of ANYPLACE_AUTO (of its default, if its value is
/// bad), then by the alphabet. Opens no plugin.
ANYPLACE_API std::vector<std::string> backend_names();

/// The aliases of the table: {"gpu", "cuda"} and so on. The function throws none of the errors above.
struct BackendAlias {
  std::string_view alias;    ///< the other name: "gpu"
  std::string_view backend;  ///< the backend that it leads to: "cuda"
};
/// All aliases of the table.
ANYPLACE_API std::vector<BackendAlias> backend_aliases();

/// What a loaded backend says of itself. Asking loads it if need be. Throws no_such_backend, and invalid_argument for a
/// text that is no name.
struct BackendInfo {
  std::string name;                 ///< the name that it gives itself
  std::string version;              ///< the version of the plugin
  std::string description;          ///< what it drives, in a line for people
  std::string path;                 ///< the path of its plugin
  unsigned abi_major = 0;           ///< the major version of the boundary that it was built with
  unsigned abi_minor = 0;           ///< the minor version of the boundary that it was built with
  std::vector<std::string> layers;  ///< the layers over it (layers.h), the outermost first
};
/// What the backend of that name says of itself.
ANYPLACE_API BackendInfo backend_info(std::string_view backend);

}  // namespace anyplace

// SPDX-License-Identifier: Apache-2.0
//
// Place: the text that names a device. Making one only parses text: it opens no plugin and touches no device.
//
//   place     = backend | backend ":" index | backend ":uuid=" uuid | backend ":pci=" address
//   backend   = ( name | "auto" ) { "+" layer }        "auto" stands alone
//   name      = [a-z][a-z0-9_]*            31 characters at most
//   index     = "0" | [1-9][0-9]*          fits int
//   uuid      = [A-Za-z0-9-]+              63 characters at most
//   address   = dddd:dd:dd.d               hexadecimal; the domain has 4 to 8 digits
//   layer     = name                       each once
//
// A uuid may be cut short, as long as only one device's begins so.
//
// A name alone means the calling thread's current device of that backend. `auto` means the first backend with a device,
// in the order of the environment variable ANYPLACE_AUTO. A place with layers names the same device as without; it says
// that they have to be over the backend (layers.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "export.h"

namespace anyplace {

/// A parsed device string. A plain value; safe to copy and to read from any thread.
class ANYPLACE_API Place {
 public:
  /// How the device is named.
  enum class Kind {
    current,    ///< a name alone
    index,      ///< name:index
    uuid,       ///< name:uuid=...
    pci,        ///< name:pci=...
    automatic,  ///< auto
  };

  /// Parses `text`. Throws invalid_argument, which shows the text (shortened and escaped), what is allowed, and the
  /// nearest known name.
  explicit Place(std::string_view text);
  /// Parses `text` as for a std::string_view. Throws invalid_argument for null, too.
  explicit Place(const char* text);
  /// Parses `text` as for a std::string_view.
  explicit Place(const std::string& text);
  /// The device `index` of a backend. Throws as above.
  Place(std::string_view name, int index);

  /// How the device is named.
  Kind kind() const noexcept { return kind_; }
  /// The name as it was written, which may be an alias.
  const std::string& name() const noexcept { return name_; }
  /// The name of the backend: `name` with the table of aliases applied (gpu -> cuda). Aliases that a vendor added with
  /// a symbolic link are resolved when a Device is made. "auto" for automatic.
  std::string backend() const;
  /// The number, if this place is name:index.
  std::optional<int> index() const noexcept;
  /// The layers after the name, in their order.
  const std::vector<std::string>& layers() const noexcept { return layers_; }
  /// The uuid or pci address, unchanged; else empty.
  const std::string& selector() const noexcept { return selector_; }
  /// The text that parses back to this place; the same text that it was made of.
  std::string to_string() const;

  /// Two places are equal if their texts are.
  friend bool operator==(const Place&, const Place&) = default;

 private:
  Kind kind_ = Kind::current;
  int index_ = -1;
  std::string name_;
  std::string selector_;
  std::vector<std::string> layers_;
};

}  // namespace anyplace

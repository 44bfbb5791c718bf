// SPDX-License-Identifier: Apache-2.0
//
// The registry of cases. Files under cases/ fill it before main() with the macros of case.h; nobody else writes to it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "anyplace/device.h"

namespace anyplace::conformance {

class Run;

/// Something that a case requires. If a device lacks it the case is skipped, and the report shows this name.
struct Need {
  enum class Kind { capability, second_device, other_backend, test_module };

  Need(Capability needed) : kind(Kind::capability), capability(needed) {}
  explicit Need(Kind needed) : kind(needed) {}
  std::string name() const;

  Kind kind;
  Capability capability = Capability::timed_events;
};

inline const Need second_device{Need::Kind::second_device};
inline const Need other_backend{Need::Kind::other_backend};
inline const Need test_module{Need::Kind::test_module};

struct CaseDefinition {
  const char* group;
  const char* bullet;
  const char* file;
  int line;
  std::string name;
  std::vector<Need> needs;
  std::function<void(Run&)> body;
};

/// All registered cases, in the order of the bullets, then of the source.
const std::vector<CaseDefinition>& definitions();

/// Adds a case to the registry before main(); see ANYPLACE_CASE.
class Registration {
 public:
  template <class... Needs>
  Registration(const char* group, const char* bullet, const char* file, int line, void (*body)(Run&), std::string name,
               const Needs&... needs) {
    add({group, bullet, file, line, std::move(name), {Need(needs)...}, body});
  }

  /// One case for each parameter; "{}" in the name becomes the parameter's label.
  template <class Parameters, class... Needs>
  Registration(const char* group, const char* bullet, const char* file, int line, const Parameters& parameters,
               void (*body)(Run&, const typename Parameters::value_type&), const std::string& name,
               const Needs&... needs) {
    for (const auto& parameter : parameters) {
      add({group, bullet, file, line, with_label(name, parameter.label), {Need(needs)...}, [body, parameter](Run& run) {
             body(run, parameter);
           }});
    }
  }

 private:
  static void add(CaseDefinition definition);
  static std::string with_label(const std::string& name, const std::string& label);
};

}  // namespace anyplace::conformance

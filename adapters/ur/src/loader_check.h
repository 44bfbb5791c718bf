// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace anyplace_ur {

/// Whether the loader in this process is of the release that the adapter was built for. Releases of Unified Runtime
/// have had other tables under the same version number, and a table carries no size: what tells is whether the loader
/// has every function of the headers. A loader that is a part of the program can't be asked, and is believed. Says
/// once, on standard error, what is missing.
bool loader_is_known() noexcept;

}  // namespace anyplace_ur

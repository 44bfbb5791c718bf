// SPDX-License-Identifier: Apache-2.0
// What the library shows to its users, as opposed to what it keeps hidden.
#ifndef ANYPLACE_EXPORT_H
#define ANYPLACE_EXPORT_H

#if defined(__GNUC__)
#define ANYPLACE_API __attribute__((visibility("default")))
#else
#define ANYPLACE_API
#endif

#endif  // ANYPLACE_EXPORT_H

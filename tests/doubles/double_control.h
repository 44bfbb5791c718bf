/* SPDX-License-Identifier: Apache-2.0
 *
 * What a vendor double offers to tests beside the vendor's functions: failures on demand, counts, what is alive, what
 * was done wrong. Each double's library exports these functions; double_control.hpp finds those of the instance that a
 * backend uses. C, so that any test can. Every function may be called from any thread, also before the double was
 * initialised, also from host functions; none counts as a call of the vendor's.
 *
 * An entry is named by its exported symbol ("cuMemAlloc_v2") or without the version ("cuMemAlloc": all versions of it).
 * Texts are written like snprintf does: at most `bytes` with the NUL, and the length of the whole is returned.
 */
#ifndef ANYPLACE_TESTS_DOUBLES_DOUBLE_CONTROL_H
#define ANYPLACE_TESTS_DOUBLES_DOUBLE_CONTROL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The nth call from now on (1: the next) answers `code` instead of doing its work; with for_good, all later ones too.
 * What gives something back (destroy, free, unload, release) does so all the same, and then answers `code`. A second
 * rule for an entry adds to the first. False: there is no such entry, or nth is 0. */
int anyplace_double_fail_nth(const char* entry, uint64_t nth, int code, int for_good);
void anyplace_double_clear_failures(void);
/* How many calls were made to fail that way. */
uint64_t anyplace_double_failures(void);

/* Calls since the start or the last reset, those that were made to fail included. */
uint64_t anyplace_double_calls_of(const char* entry);
uint64_t anyplace_double_calls(void);
/* The index-th exported symbol, null behind the last. */
const char* anyplace_double_entry(size_t index);

/* What was made and not given back. kind: "stream", "event", "memory", "host", "registered", "module", "pool",
 * "reservation", "physical", "mapping", "context" (a retained primary context counts once), or null for all. */
uint64_t anyplace_double_live(const char* kind);
/* A line for each of them. */
size_t anyplace_double_live_text(char* text, size_t bytes);
/* How many things were not given back before their context was destroyed or released for the last time, and went with
 * it. */
uint64_t anyplace_double_left_behind(void);

/* What was done wrong, also where a real driver might let it pass. */
uint64_t anyplace_double_misuses(void);
/* A line for each of them; the first 256. */
size_t anyplace_double_misuse_text(char* text, size_t bytes);

/* Forgets failures, counts and misuses. What is alive stays. */
void anyplace_double_reset(void);

/* Every context of the device fails at once with `code`, as after a sticky error. False: no such device. */
int anyplace_double_fail_device(int device, int code);
/* The nth kernel from now on that begins to run on the device (1: the next) faults with `code` instead of running. */
int anyplace_double_fault_kernel(int device, uint64_t nth, int code);

/* While held, the device begins no operation that was submitted: what isn't waited for shows. */
int anyplace_double_hold(int device, int held);

#ifdef __cplusplus
}
#endif

#endif /* ANYPLACE_TESTS_DOUBLES_DOUBLE_CONTROL_H */

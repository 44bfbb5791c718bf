/* SPDX-License-Identifier: Apache-2.0
 *
 * What the double of a management library offers to tests. As double_control.h, of which it has the part that applies.
 */
#ifndef ANYPLACE_TESTS_DOUBLES_MONITORING_CONTROL_H
#define ANYPLACE_TESTS_DOUBLES_MONITORING_CONTROL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of a physical device, from now on. README.md lists the names. False: there is no such device or figure. */
int anyplace_monitor_double_set(int device, const char* figure, uint64_t value);
int anyplace_monitor_double_fail_nth(const char* entry, uint64_t nth, int code, int for_good);
void anyplace_monitor_double_clear_failures(void);
uint64_t anyplace_monitor_double_calls_of(const char* entry);
/* The index-th exported symbol, null behind the last. */
const char* anyplace_monitor_double_entry(uint64_t index);

#ifdef __cplusplus
}
#endif

#endif /* ANYPLACE_TESTS_DOUBLES_MONITORING_CONTROL_H */

/* SPDX-License-Identifier: Apache-2.0
 * A shared object that is no plugin: it lacks the entry. */
int anyplace_backend_exit(void);
int anyplace_backend_exit(void) { return 0; }

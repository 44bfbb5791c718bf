// SPDX-License-Identifier: Apache-2.0
//
// What a process takes that does nothing: subtracted from that of speed_first_use.
int main() { return 0; }

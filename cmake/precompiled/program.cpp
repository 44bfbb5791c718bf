// SPDX-License-Identifier: Apache-2.0
// The program whose precompiled headers the test programs share.
int main() {}

// SPDX-License-Identifier: BSD-3-Clause
//
// Nothing: a program for those headers to be compiled with that many begin with.

int main() {
    return 0;
}

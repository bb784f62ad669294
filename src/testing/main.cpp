// SPDX-License-Identifier: BSD-3-Clause
//
// The main of a program that many files of tests share: with the name of one of them as its
// argument, it runs the tests of that file.

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

namespace {

std::string tests_of(const std::string& file) {
    const auto& all = *::testing::UnitTest::GetInstance();
    std::string names;
    for (int s = 0; s < all.total_test_suite_count(); ++s) {
        const auto& suite = *all.GetTestSuite(s);
        for (int t = 0; t < suite.total_test_count(); ++t) {
            const auto& test = *suite.GetTestInfo(t);
            if (!std::string(test.file()).ends_with("/" + file)) continue;
            names += (names.empty() ? "" : ":") + (std::string(suite.name()) + ".") + test.name();
        }
    }
    return names;
}

}  // namespace

int main(int argc, char **argv) {
    ::testing::InitGoogleTest(&argc, argv);
    if (argc > 1) {
        const auto names = tests_of(argv[1]);
        if (names.empty()) {
            std::fprintf(stderr, "%s: no test is of a file %s\n", argv[0], argv[1]);
            return 2;
        }
        GTEST_FLAG_SET(filter, names);
    }
    return RUN_ALL_TESTS();
}

# SPDX-License-Identifier: BSD-3-Clause
"""The C++ scanner that the rules stand on."""

from __future__ import annotations

import cpp
import pytest

LONG_BODY = "\n".join(f"    step({number});" for number in range(8))

FUNCTIONS = {
    "a function": "int run(int ranks) {\n    return ranks;\n}\n",
    "a method in a class": "class Barrier {\n  public:\n    void wait() const {\n    }\n};\n",
    "a function in a nested namespace": "namespace a::b {\nvoid go() {\n}\n}  // namespace a::b\n",
    "a trailing return": "auto find(int x) -> std::optional<int> {\n    return x;\n}\n",
    "member initialisers in braces": "Clock::Clock(int a) : a_{a}, b_{1} {\n    start();\n}\n",
    "member initialisers in parentheses": "Clock::Clock(int a) : a_(a) {\n    start();\n}\n",
    "a default argument in braces": "void go(Options o = Options{1}) {\n    use(o);\n}\n",
    "a C function that returns a struct": "struct point get(int i) {\n    return p[i];\n}\n",
    "an operator": "bool operator()(int a, int b) const noexcept {\n    return a < b;\n}\n",
    "a test": "TEST(ClockTest, Ticks) {\n    EXPECT_TRUE(true);\n}\n",
    "a function in extern C": 'extern "C" {\nint run(void) {\n    return 0;\n}\n}\n',
    "a constrained template": "template <typename T>\n  requires(sizeof(T) > 1)\nT get() {\n}\n",
}


@pytest.mark.parametrize("text", FUNCTIONS.values(), ids=FUNCTIONS.keys())
def test_one_function_is_found_in(text: str) -> None:
    assert len(cpp.functions(text)) == 1


NO_FUNCTIONS = {
    "a declaration": "int run(int ranks);\n",
    "a class": "class Barrier final : public Base<int> {\n    int ranks_ = 0;\n};\n",
    "an aligned struct": "struct alignas(64) Slot {\n    int value;\n};\n",
    "an enumeration": "enum class Stop : int {\n    interval,\n    maximum,\n};\n",
    "a table": "const Row table[] = {\n    {1, f(2)},\n    {3, f(4)},\n};\n",
    "a braced variable": "inline constexpr std::array names{\n    1, 2,\n};\n",
    "a comment": "/* int run() {\n return 0; } */\n// void go() {\n",
    "a macro": "#define OPTIONS(x) \\\n    { \\\n        x \\\n    }\n",
    "a string": 'const char *text = "int run() {";\n',
    "a raw string": 'const char *text = R"(int run() {\n)";\n',
}


@pytest.mark.parametrize("text", NO_FUNCTIONS.values(), ids=NO_FUNCTIONS.keys())
def test_no_function_is_found_in(text: str) -> None:
    assert cpp.functions(text) == []


def test_lines_are_counted_from_the_return_type_to_the_closing_brace() -> None:
    text = f"// A comment.\n\nstatic Result<int>\nwalk(int a)\n{{\n{LONG_BODY}\n}}\n"

    (found,) = cpp.functions(text)

    assert (found.name, found.first, found.last, found.length) == ("walk", 3, 14, 12)


def test_braces_in_strings_characters_and_comments_do_not_count() -> None:
    text = "void a() {\n  put('{', \"{\\\"{\", 1'000'000);  // {\n  /* { */\n}\nvoid b() {\n}\n"

    assert [found.name for found in cpp.functions(text)] == ["a", "b"]


def test_a_lambda_belongs_to_its_function() -> None:
    text = "void a() {\n  auto f = [](int x) {\n    return x;\n  };\n}\n"

    assert [found.length for found in cpp.functions(text)] == [5]


def test_includes_keep_their_line_and_their_kind() -> None:
    text = '#include <mpi.h>\n\n  #  include "base/units.hpp"\n// #include "no.hpp"\n'

    assert cpp.includes(text) == [
        cpp.Include(1, "mpi.h", quoted=False),
        cpp.Include(3, "base/units.hpp", quoted=True),
    ]

// SPDX-License-Identifier: BSD-3-Clause
//
// Values: the elements of a store as numbers of C++.

#pragma once

#include <complex>
#include <cstdint>
#include <type_traits>

#include <lanewise/wavefront/half.hpp>
#include "wavefront/layout/shape.hpp"

namespace lanewise::wavefront {

/* Calls act(std::type_identity<Value>{}) for the type of C++ that `element` is. */
template <typename Act>
auto with_value_type(Element element, const Act& act) {
    switch (element) {
        case Element::f32: return act(std::type_identity<float>{});
        case Element::c64: return act(std::type_identity<std::complex<float>>{});
        case Element::c128: return act(std::type_identity<std::complex<double>>{});
        case Element::i32: return act(std::type_identity<std::int32_t>{});
        case Element::i64: return act(std::type_identity<std::int64_t>{});
        case Element::f16: return act(std::type_identity<half>{});
        case Element::f64: break;
    }
    return act(std::type_identity<double>{});
}

}  // namespace lanewise::wavefront

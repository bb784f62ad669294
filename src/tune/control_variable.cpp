// SPDX-License-Identifier: BSD-3-Clause
//
// See control_variable.hpp.

#include "tune/control_variable.hpp"

#include <array>

namespace lanewise::tune {
namespace {

// Once and for good: MPICH 4.0 has lost its variables when the interface is opened anew.
void open_interface() {
    static const int opened = [] {
        int provided = 0;
        return MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    }();
    static_cast<void>(opened);
}

}  // namespace

bool ControlVariable::describe(int index) {
    std::array<char, 256> name{};
    std::array<char, 8192> text{};
    int name_length = name.size();
    int text_length = text.size();
    int verbosity = 0;
    int binding = 0;
    int scope = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_T_enum names = MPI_T_ENUM_NULL;
    if (MPI_T_cvar_get_info(index, name.data(), &name_length, &verbosity, &type, &names,
                            text.data(), &text_length, &binding, &scope) != MPI_SUCCESS)
        return false;
    description_ = text.data();
    if (type != MPI_INT) return false;
    int count = 0;
    name_length = name.size();
    if (names == MPI_T_ENUM_NULL ||
        MPI_T_enum_get_info(names, &count, name.data(), &name_length) != MPI_SUCCESS)
        return true;
    for (int i = 0; i < count; ++i) {
        Item item;
        name_length = name.size();
        if (MPI_T_enum_get_item(names, i, &item.value, name.data(), &name_length) != MPI_SUCCESS)
            return true;
        item.name = name.data();
        items_.push_back(item);
    }
    return true;
}

ControlVariable::ControlVariable(const std::string& name) {
    open_interface();
    int index = 0;
    int count = 0;
    if (MPI_T_cvar_get_index(name.c_str(), &index) != MPI_SUCCESS || !describe(index)) return;
    if (MPI_T_cvar_handle_alloc(index, nullptr, &handle_, &count) != MPI_SUCCESS || count != 1) {
        return;
    }
    usable_ = true;
    // Some variables are declared and cannot be written.
    usable_ = write(read());
}

ControlVariable::~ControlVariable() {
    if (handle_ != MPI_T_CVAR_HANDLE_NULL) MPI_T_cvar_handle_free(&handle_);
}

int ControlVariable::read() const {
    int value = 0;
    if (handle_ != MPI_T_CVAR_HANDLE_NULL) MPI_T_cvar_read(handle_, &value);
    return value;
}

bool ControlVariable::write(int value) {
    if (!usable_ || MPI_T_cvar_write(handle_, &value) != MPI_SUCCESS) return false;
    return read() == value;
}

}  // namespace lanewise::tune

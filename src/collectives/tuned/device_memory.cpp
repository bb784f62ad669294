// SPDX-License-Identifier: BSD-3-Clause

#include "collectives/tuned/device_memory.hpp"

#include <dlfcn.h>
#include <link.h>
#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

namespace lanewise::tuned {
namespace {

/* cuPointerGetAttribute(void *data, CUpointer_attribute attribute, CUdeviceptr pointer) */
using CudaAttribute = int (*)(void *, int, unsigned long long);
constexpr int cuda_memory_type = 2;
constexpr unsigned cuda_device = 2;

/* hipPointerGetAttributes(hipPointerAttribute_t *attributes, const void *pointer): the structure
   begins with the kind of memory, whose numbers begin with those of the host. */
using HipAttributes = int (*)(void *, const void *);
constexpr std::size_t hip_attributes_bytes = 1024;

/* cuMemcpyDtoH_v2(void *host, CUdeviceptr device, size_t bytes), and hipMemcpyDtoH likewise. */
using CopyToHost = int (*)(void *, const void *, std::size_t);

/* A function of a driver that the program has loaded, in whatever scope. */
void *find_in_driver(const char *function, std::initializer_list<const char *> drivers) {
    if (void *found = dlsym(RTLD_DEFAULT, function)) return found;
    for (const char *driver : drivers) {
        void *loaded = dlopen(driver, RTLD_LAZY | RTLD_NOLOAD);
        if (!loaded) continue;
        void *found = dlsym(loaded, function);
        dlclose(loaded);
        if (found) return found;
    }
    return nullptr;
}

void *find_in_cuda(const char *function) {
    return find_in_driver(function, {"libcuda.so.1"});
}

void *find_in_hip(const char *function) {
    return find_in_driver(function, {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"});
}

struct Drivers {
    CudaAttribute cuda = nullptr;
    HipAttributes hip = nullptr;
};

Drivers find_drivers() {
    return {reinterpret_cast<CudaAttribute>(find_in_cuda("cuPointerGetAttribute")),
            reinterpret_cast<HipAttributes>(find_in_hip("hipPointerGetAttributes"))};
}

/* A number that changes where the process loads a library, or lets go of one. */
std::uint64_t loads() {
    std::uint64_t count = 0;
    dl_iterate_phdr(
        [](dl_phdr_info *any, std::size_t, void *into) {
            *static_cast<std::uint64_t *>(into) = any->dlpi_adds + any->dlpi_subs;
            return 1;
        },
        &count);
    return count;
}

/* To look for a library that is not loaded is to look through folders. */
const Drivers& drivers() {
    thread_local std::uint64_t found_at = 0;
    thread_local Drivers found;
    const auto now = loads();
    if (found_at != now) {
        found = find_drivers();
        found_at = now;
    }
    return found;
}

bool is_cuda_memory(CudaAttribute attribute, const void *pointer) {
    unsigned type = 0;
    return attribute(&type, cuda_memory_type, reinterpret_cast<std::uintptr_t>(pointer)) == 0 &&
           type == cuda_device;
}

bool is_hip_memory(HipAttributes attributes, const void *pointer) {
    alignas(16) std::array<unsigned, hip_attributes_bytes / sizeof(unsigned)> found{};
    return attributes(found.data(), pointer) == 0 && found[0] != 0;
}

CopyToHost copy_of_driver_for(const void *pointer) {
    const auto& here = drivers();
    if (here.cuda && is_cuda_memory(here.cuda, pointer)) {
        return reinterpret_cast<CopyToHost>(find_in_cuda("cuMemcpyDtoH_v2"));
    }
    return reinterpret_cast<CopyToHost>(find_in_hip("hipMemcpyDtoH"));
}

}  // namespace

bool has_devices() {
    const auto& here = drivers();
    // The runtime loads the driver when it is first used.
    return here.cuda || here.hip || dlsym(RTLD_DEFAULT, "cudaPointerGetAttributes");
}

bool is_device_memory(const void *pointer) {
    if (!pointer || pointer == MPI_IN_PLACE) return false;
    const auto& here = drivers();
    return (here.cuda && is_cuda_memory(here.cuda, pointer)) ||
           (here.hip && is_hip_memory(here.hip, pointer));
}

bool copy_from_device(void *to, const void *from, std::size_t bytes) {
    const auto copy = copy_of_driver_for(from);
    return copy && copy(to, from, bytes) == 0;
}

}  // namespace lanewise::tuned

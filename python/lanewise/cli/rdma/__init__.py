# SPDX-License-Identifier: BSD-3-Clause
"""`lanewise rdma`: verbs programs on the software RDMA device, and on paths that may fail."""

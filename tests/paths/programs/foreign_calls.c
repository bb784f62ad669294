// SPDX-License-Identifier: BSD-3-Clause
//
// Calls that a driver answers from its own structures, with a queue pair of the first device in the
// list. Prints what went wrong, and ends with status 1 then.

#include <errno.h>
#include <infiniband/verbs.h>
#include <stdio.h>
#include <string.h>

static int failures = 0;

static void expect(int is_right, const char *what) {
    if (is_right) return;
    fprintf(stderr, "%s\n", what);
    failures = 1;
}

int main(void) {
    struct ibv_device **list = ibv_get_device_list(NULL);
    struct ibv_context *context = list && list[0] ? ibv_open_device(list[0]) : NULL;
    if (!context) return 1;
    struct ibv_pd *domain = ibv_alloc_pd(context);
    struct ibv_cq *queue = ibv_create_cq(context, 16, NULL, NULL, 0);
    struct ibv_qp_init_attr wanted = {
        .send_cq = queue, .recv_cq = queue, .cap = {4, 4, 1, 1, 0}, .qp_type = IBV_QPT_RC};
    struct ibv_qp *qp = ibv_create_qp(domain, &wanted);
    if (!qp) return 1;

    struct ibv_ece ece;
    memset(&ece, 0xff, sizeof ece);
    expect(ibv_query_ece(qp, &ece) == 0 && ece.vendor_id == 0 && ece.options == 0, "query_ece");
    expect(ibv_set_ece(qp, &ece) == 0, "set_ece");
    ece.vendor_id = 0x15b3;
    expect(ibv_set_ece(qp, &ece) == EOPNOTSUPP, "set_ece of a vendor");
    errno = 0;  // who is asked about what it did not make says so
    expect(ibv_qp_to_qp_ex(qp) == NULL && errno == 0, "qp_to_qp_ex");
    expect(ibv_query_qp_data_in_order(qp, IBV_WR_SEND, 0) == 0, "query_qp_data_in_order");
    struct ibv_modify_cq_attr attributes = {.attr_mask = IBV_CQ_ATTR_MODERATE};
    expect(ibv_modify_cq(queue, &attributes) == EOPNOTSUPP, "modify_cq");
    errno = 0;
    struct ibv_mr *region = ibv_reg_dmabuf_mr(domain, 0, 4096, 0, -1, IBV_ACCESS_LOCAL_WRITE);
    expect(region == NULL && errno == EOPNOTSUPP, "reg_dmabuf_mr");

    ibv_destroy_qp(qp);
    ibv_destroy_cq(queue);
    ibv_dealloc_pd(domain);
    ibv_close_device(context);
    ibv_free_device_list(list);
    return failures;
}

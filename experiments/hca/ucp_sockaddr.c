/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A UCX program whose ends find each other by an IP address, as servers that UCX calls do: with
 * UCX_TLS=rc_verbs,rdmacm UCX does so by the connection manager. The caller sends 1 MiB, and the
 * listener sends it back changed.
 *
 * Usage: ucp_sockaddr PORT [ADDRESS]
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucp/api/ucp.h>
#include <unistd.h>

enum { BYTES = 1 << 20, TAG = 7 };

static ucp_worker_h worker;
static ucp_conn_request_h request_of_peer;

static void must(ucs_status_t status, const char *what) {
    if (status == UCS_OK) return;
    fprintf(stderr, "%s: %s\n", what, ucs_status_string(status));
    exit(1);
}

static void on_request(ucp_conn_request_h request, void *unused) {
    (void)unused;
    request_of_peer = request;
}

static void on_error(void *unused, ucp_ep_h ep, ucs_status_t status) {
    (void)unused;
    (void)ep;
    /* The peer ends when it has what it wants. */
    if (status != UCS_ERR_CONNECTION_RESET && status != UCS_ERR_NOT_CONNECTED) must(status, "peer");
}

static void await(ucs_status_ptr_t request, const char *what) {
    if (!request) return;
    if (UCS_PTR_IS_ERR(request)) must(UCS_PTR_STATUS(request), what);
    ucs_status_t status;
    do {
        ucp_worker_progress(worker);
        status = ucp_request_check_status(request);
    } while (status == UCS_INPROGRESS);
    ucp_request_free(request);
    must(status, what);
}

static ucp_ep_h endpoint(const struct sockaddr_in *address) {
    ucp_ep_params_t params = {0};
    params.field_mask = UCP_EP_PARAM_FIELD_ERR_HANDLER | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE;
    params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
    params.err_handler.cb = on_error;
    if (address) {
        params.field_mask |= UCP_EP_PARAM_FIELD_FLAGS | UCP_EP_PARAM_FIELD_SOCK_ADDR;
        params.flags = UCP_EP_PARAMS_FLAGS_CLIENT_SERVER;
        params.sockaddr.addr = (const struct sockaddr *)address;
        params.sockaddr.addrlen = sizeof *address;
    } else {
        params.field_mask |= UCP_EP_PARAM_FIELD_CONN_REQUEST;
        params.conn_request = request_of_peer;
    }
    ucp_ep_h made;
    must(ucp_ep_create(worker, &params, &made), "ucp_ep_create");
    return made;
}

static void listen_at(const struct sockaddr_in *address) {
    ucp_listener_params_t params = {0};
    params.field_mask = UCP_LISTENER_PARAM_FIELD_SOCK_ADDR | UCP_LISTENER_PARAM_FIELD_CONN_HANDLER;
    params.sockaddr.addr = (const struct sockaddr *)address;
    params.sockaddr.addrlen = sizeof *address;
    params.conn_handler.cb = on_request;
    ucp_listener_h listener;
    must(ucp_listener_create(worker, &params, &listener), "ucp_listener_create");
    while (!request_of_peer) ucp_worker_progress(worker);
}

static void send_all(ucp_ep_h ep, const unsigned char *bytes) {
    ucp_request_param_t plain = {0};
    await(ucp_tag_send_nbx(ep, bytes, BYTES, TAG, &plain), "send");
}

static void receive_all(unsigned char *bytes) {
    ucp_request_param_t plain = {0};
    await(ucp_tag_recv_nbx(worker, bytes, BYTES, TAG, ~(ucp_tag_t)0, &plain), "receive");
}

static void end(ucp_ep_h ep) {
    ucp_request_param_t plain = {0};
    await(ucp_worker_flush_nbx(worker, &plain), "flush");
    ucs_status_ptr_t closing = ucp_ep_close_nbx(ep, &plain);
    while (UCS_PTR_IS_PTR(closing) && ucp_request_check_status(closing) == UCS_INPROGRESS) {
        ucp_worker_progress(worker);
    }
    if (UCS_PTR_IS_PTR(closing)) ucp_request_free(closing);
}

int main(int count, char **words) {
    if (count < 2) return 2;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(atoi(words[1]))};
    const int calls = count > 2;
    if (calls) inet_pton(AF_INET, words[2], &address.sin_addr);

    ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES, .features = UCP_FEATURE_TAG};
    ucp_context_h context;
    must(ucp_init(&params, NULL, &context), "ucp_init");
    ucp_worker_params_t worker_params = {0};
    must(ucp_worker_create(context, &worker_params, &worker), "ucp_worker_create");
    if (!calls) listen_at(&address);
    ucp_ep_h ep = endpoint(calls ? &address : NULL);

    unsigned char *bytes = malloc(BYTES);
    for (int i = 0; i < BYTES; ++i) bytes[i] = (unsigned char)(i * 31);
    if (calls) {
        send_all(ep, bytes);
        receive_all(bytes);
        for (int i = 0; i < BYTES; ++i) {
            if (bytes[i] != (unsigned char)(i * 31 + 1)) return 1;
        }
    } else {
        receive_all(bytes);
        for (int i = 0; i < BYTES; ++i) bytes[i] = (unsigned char)(bytes[i] + 1);
        send_all(ep, bytes);
    }
    end(ep);
    puts("all right");
    return 0;
}

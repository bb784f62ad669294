/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * slow_reader BYTES [ADDRESS]: without an address it listens, sends so many bytes and closes. With
 * one it connects, reads nothing for a while, and then everything.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <rdma/rsocket.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { port = 7489, tries = 100, pause_us = 100000, silence_us = 700000 };

static char byte_at(size_t i) {
    return (char)(i * 7 + (i >> 12));
}

static int send_all(int listener, size_t bytes) {
    char *all = malloc(bytes);
    for (size_t i = 0; i < bytes; ++i) all[i] = byte_at(i);
    const int peer = raccept(listener, NULL, NULL);
    size_t sent = 0;
    while (peer >= 0 && sent < bytes) {
        const ssize_t now = rsend(peer, all + sent, bytes - sent, 0);
        if (now <= 0) break;
        sent += (size_t)now;
    }
    printf("sent %zu of %zu bytes\n", sent, bytes);
    free(all);
    return rshutdown(peer, SHUT_RDWR) || rclose(peer) || sent < bytes;
}

static int receive_all(int peer, size_t bytes) {
    static char part[1 << 16];
    size_t got = 0, wrong = 0;
    ssize_t now = 0;
    usleep(silence_us);
    while ((now = rrecv(peer, part, sizeof part, 0)) > 0) {
        for (ssize_t i = 0; i < now; ++i) wrong += part[i] != byte_at(got + (size_t)i);
        got += (size_t)now;
    }
    printf("got %zu of %zu bytes, %zu wrong, then %zd\n", got, bytes, wrong, now);
    return got != bytes || wrong > 0 || now < 0;
}

int main(int count, char **words) {
    const size_t bytes = strtoul(words[1], NULL, 10);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    if (count == 2) {
        const int listener = rsocket(AF_INET, SOCK_STREAM, 0);
        if (rbind(listener, (struct sockaddr *)&address, sizeof address)) return 2;
        if (rlisten(listener, 1)) return 2;
        return send_all(listener, bytes);
    }
    inet_pton(AF_INET, words[2], &address.sin_addr);
    for (int i = 0; i < tries; ++i, usleep(pause_us)) {
        const int peer = rsocket(AF_INET, SOCK_STREAM, 0);
        if (!rconnect(peer, (struct sockaddr *)&address, sizeof address)) {
            return receive_all(peer, bytes);
        }
        rclose(peer);
    }
    return 2;
}

// System calls that the Glibc module does not show. Never define _GNU_SOURCE here: it changes fd_set and clashes with
// the Glibc module (an error in debug builds).
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <malloc.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// accept4 is hidden behind _GNU_SOURCE.
static inline int linux_accept(int descriptor, struct sockaddr *address, socklen_t *length) {
    extern int accept4(int, struct sockaddr *, socklen_t *, int);
    return accept4(descriptor, address, length, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

// Whether a byte of a file can be read without waiting for a disk: preadv2 with RWF_NOWAIT, hidden behind _GNU_SOURCE.
static inline int linux_is_cached(int descriptor, off_t offset) {
    extern ssize_t preadv2(int, const struct iovec *, int, off_t, int);
    char byte;
    struct iovec vector = {&byte, 1};
    return preadv2(descriptor, &vector, 1, offset, 0x8) == 1;
}

// Swift does not offer fork, for programs with threads. Only a process that has none may call this.
static inline pid_t linux_fork(void) { return fork(); }

static inline int linux_close_from(unsigned int first) {
    extern int close_range(unsigned int, unsigned int, int);
    return close_range(first, ~0U, 0);
}

// Waits for a message with exactly two descriptors, as SCM_RIGHTS brings them (unix(7)). Returns 1, 0 at the end, -1 for
// an error or a message that brought something else, whose descriptors are closed.
static inline int linux_receive_two_descriptors(int socket, int *first, int *second) {
    char byte, control[CMSG_SPACE(2 * sizeof(int))] __attribute__((aligned(8)));
    struct iovec piece = {&byte, 1};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    ssize_t count = recvmsg(socket, &message, 0x40000000 /* MSG_CMSG_CLOEXEC */);
    if (count <= 0) return (int)count;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (!header || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) return -1;
    int *descriptors = (int *)CMSG_DATA(header);
    if (header->cmsg_len != CMSG_LEN(2 * sizeof(int))) {
        if (header->cmsg_len == CMSG_LEN(sizeof(int))) close(descriptors[0]);
        return -1;
    }
    *first = descriptors[0];
    *second = descriptors[1];
    return 1;
}

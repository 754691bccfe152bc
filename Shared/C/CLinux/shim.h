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

// Sends a byte and with it descriptors, at most two, over a Unix socket (SCM_RIGHTS, unix(7)), without waiting for room.
static inline int linux_send_descriptors(int socket, const int *descriptors, unsigned int count) {
    char byte = 0, control[CMSG_SPACE(2 * sizeof(int))] __attribute__((aligned(8))) = {0};
    struct iovec piece = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &piece, .msg_iovlen = 1, .msg_control = control, .msg_controllen = CMSG_SPACE(count * sizeof(int))};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(count * sizeof(int));
    for (unsigned int i = 0; i < count; i++) ((int *)CMSG_DATA(header))[i] = descriptors[i];
    return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == 1 ? 0 : -1;
}

// Takes a byte that brings exactly so many descriptors, at most two. Returns 1, 0 at the end, -1 for an error or a byte
// that brought something else, whose descriptors are closed; errno is 0 then.
static inline int linux_receive_descriptors(int socket, int *descriptors, unsigned int count) {
    char byte, control[CMSG_SPACE(2 * sizeof(int))] __attribute__((aligned(8)));
    struct iovec piece = {&byte, 1};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    ssize_t received = recvmsg(socket, &message, 0x40000000 /* MSG_CMSG_CLOEXEC */);
    if (received <= 0) return (int)received;
    errno = 0;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (!header || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) return -1;
    unsigned int brought = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (unsigned int i = 0; i < brought; i++) {
        int descriptor = ((int *)CMSG_DATA(header))[i];
        if (brought == count) descriptors[i] = descriptor;
        else close(descriptor);
    }
    return brought == count ? 1 : -1;
}

// A descriptor of a process, with which whoever has it can end it: a number may be another process's by then. Both are
// in glibc since 2.36.
static inline int linux_process_descriptor(pid_t process) {
    extern int pidfd_open(pid_t, unsigned int);
    return pidfd_open(process, 0);
}
static inline int linux_end_process(int descriptor) {
    extern int pidfd_send_signal(int, int, siginfo_t *, unsigned int);
    return pidfd_send_signal(descriptor, SIGKILL, 0, 0);
}

// Whether a child has ended; it stays to be waited for.
static inline int linux_has_ended(pid_t child) {
    siginfo_t facts = {0};
    return waitid(P_PID, child, &facts, WEXITED | WNOHANG | WNOWAIT) == 0 && facts.si_pid == child;
}

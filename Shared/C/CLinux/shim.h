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
#include <sys/signalfd.h>
#include <sys/sendfile.h>
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

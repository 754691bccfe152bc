#include <linux/sched.h>
#include <seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>

// Macros with parameters, and variadic functions.
static const unsigned int seccomp_kill = SCMP_ACT_KILL_PROCESS;
static const unsigned int seccomp_allow = SCMP_ACT_ALLOW;
static inline unsigned int seccomp_error(int number) { return SCMP_ACT_ERRNO(number); }
static inline int seccomp_rule(scmp_filter_ctx filter, unsigned int action, int call) {
    return seccomp_rule_add_exact(filter, action, call, 0);
}
// Where an argument, under a mask, has this value.
static inline int seccomp_rule_where(
    scmp_filter_ctx filter, unsigned int action, int call, unsigned int argument, unsigned long mask,
    unsigned long value) {
    return seccomp_rule_add_exact(
        filter, action, call, 1, SCMP_CMP64(argument, SCMP_CMP_MASKED_EQ, mask, value));
}
// For mmap: where two have.
static inline int seccomp_rule_where_both(
    scmp_filter_ctx filter, unsigned int action, int call, unsigned int argument, unsigned long mask,
    unsigned long value, unsigned int other, unsigned long other_mask, unsigned long other_value) {
    return seccomp_rule_add_exact(
        filter, action, call, 2, SCMP_CMP64(argument, SCMP_CMP_MASKED_EQ, mask, value),
        SCMP_CMP64(other, SCMP_CMP_MASKED_EQ, other_mask, other_value));
}
static inline int seccomp_forbid_privileges(void) { return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); }
static inline int seccomp_hide_memory(void) { return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }
static inline int seccomp_end_with_parent(void) { return prctl(PR_SET_PDEATHSIG, 9, 0, 0, 0); }

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

// Macros, which Swift does not import.
static inline int parley_tls_name(SSL *ssl, const char *host) { return (int)SSL_set_tlsext_host_name(ssl, host); }
static inline long parley_tls_mode(SSL_CTX *context) {
    // What could not be written is written again from wherever it lies by then.
    return SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
}
// Whether the last call failed because what came does not begin as TLS does.
static inline int parley_tls_is_absent(void) {
    unsigned long error = ERR_peek_error();
    return ERR_GET_LIB(error) == ERR_LIB_SSL && ERR_GET_REASON(error) == SSL_R_WRONG_VERSION_NUMBER;
}

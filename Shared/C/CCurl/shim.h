#include <curl/curl.h>

// Variadic functions, which Swift does not import: one for each type of an option's value.
static inline void parley_curl_set_number(CURL *handle, CURLoption option, long value) {
    curl_easy_setopt(handle, option, value);
}
static inline void parley_curl_set_size(CURL *handle, CURLoption option, curl_off_t value) {
    curl_easy_setopt(handle, option, value);
}
static inline void parley_curl_set_text(CURL *handle, CURLoption option, const char *value) {
    curl_easy_setopt(handle, option, value);
}
static inline void parley_curl_set_pointer(CURL *handle, CURLoption option, void *value) {
    curl_easy_setopt(handle, option, value);
}
// For CURLOPT_READFUNCTION, CURLOPT_WRITEFUNCTION and CURLOPT_HEADERFUNCTION.
static inline void parley_curl_set_bytes(
    CURL *handle, CURLoption option, size_t (*callback)(char *, size_t, size_t, void *)) {
    curl_easy_setopt(handle, option, callback);
}
static inline void parley_curl_set_seek(CURL *handle, int (*callback)(void *, curl_off_t, int)) {
    curl_easy_setopt(handle, CURLOPT_SEEKFUNCTION, callback);
}
static inline long parley_curl_status(CURL *handle) {
    long status = 0;
    curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &status);
    return status;
}
static const size_t parley_curl_read_abort = CURL_READFUNC_ABORT;
static inline void parley_curl_multi_set_number(CURLM *handle, CURLMoption option, long value) {
    curl_multi_setopt(handle, option, value);
}

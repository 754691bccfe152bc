import CCurl

/// A handle of libcurl, for one request at a time, with what every request of this project needs.
///
/// One thread at a time uses it.
public final class CurlHandle: @unchecked Sendable {
    // @unchecked: see above.
    private let handle: OpaquePointer

    /// libcurl, once for the process and before its threads.
    private static let isStarted: Bool = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    public init() {
        precondition(Self.isStarted, "libcurl starts")
        guard let handle = curl_easy_init() else { preconditionFailure("libcurl could not allocate a handle") }
        self.handle = OpaquePointer(handle)
    }

    deinit { curl_easy_cleanup(curl) }

    public var curl: UnsafeMutableRawPointer { UnsafeMutableRawPointer(handle) }

    /// Forgets the request of before, but not its connection.
    /// - Parameter authorities: the certificates that are trusted instead of the machine's.
    public func begin(authorities: String?) {
        curl_easy_reset(curl)
        // Signals are for the whole process.
        parley_curl_set_number(curl, CURLOPT_NOSIGNAL, 1)
        // Nothing but what is configured: no proxy of the environment.
        parley_curl_set_text(curl, CURLOPT_PROXY, "")
        parley_curl_set_text(curl, CURLOPT_PROTOCOLS_STR, "http,https")
        if let authorities { parley_curl_set_text(curl, CURLOPT_CAINFO, authorities) }
    }

    /// The status of the response so far.
    public var status: Int { parley_curl_status(curl) }
}

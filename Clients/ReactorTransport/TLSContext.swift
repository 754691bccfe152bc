import CTLS
import Reactor
import Synchronization

/// The certificates that servers may have, for all connections of the process.
public final class TLSContext: @unchecked Sendable {
    // @unchecked: OpenSSL lets any thread create sessions from a context that no longer changes.
    fileprivate let handle: OpaquePointer
    fileprivate let onRefusal: @Sendable (Endpoint, TLSRefusal) -> Void

    private init(_ handle: OpaquePointer, onRefusal: @escaping @Sendable (Endpoint, TLSRefusal) -> Void) {
        self.handle = handle
        self.onRefusal = onRefusal
    }

    deinit { SSL_CTX_free(handle) }

    private static let current = Mutex<TLSContext?>(nil)

    /// The context of this process. Nil until `trust` is called.
    static var shared: TLSContext? { current.withLock { $0 } }

    /// Sets what is trusted. Must be called before the first connection to a secure endpoint, which otherwise fails.
    ///
    /// - Parameters:
    ///   - authorities: a file of certificates to trust (PEM). Nil means those that the system trusts.
    ///   - onRefusal: called with the first refusal, so that the user can do something about it.
    public static func trust(
        _ authorities: String?, onRefusal: @escaping @Sendable (Endpoint, TLSRefusal) -> Void
    ) throws(TLSError) {
        guard let handle = SSL_CTX_new(TLS_client_method()) else { throw TLSError(description: "TLS is not to be had") }
        let context = TLSContext(handle, onRefusal: onRefusal)
        _ = parley_tls_mode(handle)
        SSL_CTX_set_verify(handle, SSL_VERIFY_PEER, nil)
        if let authorities {
            guard SSL_CTX_load_verify_locations(handle, authorities, nil) == 1 else {
                throw TLSError(description: "no certificate in \(authorities)")
            }
        } else {
            SSL_CTX_set_default_verify_paths(handle)
        }
        current.withLock { $0 = context }
    }
}

/// Why there can be no TLS with a server, however often it is tried.
public enum TLSRefusal: Hashable, Sendable {
    /// The certificate is not trusted, for this reason.
    case certificate(String)
    /// The server does not speak TLS.
    case absent
}

/// The reason why no server can be trusted.
public struct TLSError: Error, Equatable, CustomStringConvertible {
    public let description: String
}

/// TLS on one connected socket, client side. It does not own the descriptor.
@Reactor
final class TLSSession {
    enum Outcome {
        case done(Int)
        /// Wait until the socket is readable, or writable.
        case wait(forWriting: Bool)
        case ended
    }

    // Unsafe only for `deinit`, when no one else has the session.
    private nonisolated(unsafe) let handle: OpaquePointer
    private let context: TLSContext
    private let endpoint: Endpoint
    /// Why the session ended, if trying again is of no use.
    private(set) var refusal: TLSRefusal?
    private static var hasExplained = false

    /// - Parameter endpoint: has the name or address that the certificate must match.
    init?(_ descriptor: CInt, with endpoint: Endpoint, in context: TLSContext) {
        guard let handle = SSL_new(context.handle) else { return nil }
        self.handle = handle
        self.context = context
        self.endpoint = endpoint
        let host = endpoint.bareHost
        SSL_set_fd(handle, descriptor)
        SSL_set_connect_state(handle)
        if X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(handle), host) != 1 {
            SSL_set1_host(handle, host)
            _ = parley_tls_name(handle, host)
        }
    }

    deinit { SSL_free(handle) }

    func read(into buffer: UnsafeMutableRawBufferPointer) -> Outcome {
        ERR_clear_error()
        return outcome(SSL_read(handle, buffer.baseAddress, CInt(clamping: buffer.count)))
    }

    func write(_ bytes: UnsafeRawBufferPointer) -> Outcome {
        ERR_clear_error()
        return outcome(SSL_write(handle, bytes.baseAddress, CInt(clamping: bytes.count)))
    }

    private func outcome(_ result: CInt) -> Outcome {
        if result > 0 { return .done(Int(result)) }
        switch SSL_get_error(handle, result) {
        case SSL_ERROR_WANT_READ: return .wait(forWriting: false)
        case SSL_ERROR_WANT_WRITE: return .wait(forWriting: true)
        default:
            refusal = currentRefusal
            explainRefusal()
            return .ended
        }
    }

    private var currentRefusal: TLSRefusal? {
        let result = SSL_get_verify_result(handle)
        if result != X509_V_OK { return .certificate(String(cString: X509_verify_cert_error_string(result))) }
        return SSL_is_init_finished(handle) == 0 && parley_tls_is_absent() != 0 ? .absent : nil
    }

    /// Explains a refusal once. A lost connection is retried, but an untrusted certificate will not become trusted.
    private func explainRefusal() {
        guard let refusal, !Self.hasExplained else { return }
        Self.hasExplained = true
        context.onRefusal(endpoint, refusal)
    }
}

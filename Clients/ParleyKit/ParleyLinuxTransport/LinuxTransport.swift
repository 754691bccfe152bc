import Foundation
import Glibc
import ParleyKit
import ParleyTransport
import Reactor
import ReactorTransport
import Synchronization

extension Transport {
    /// HTTP and WebSockets on a thread of this module's own, over TLS where the addresses say so.
    ///
    /// - Parameters:
    ///   - media: where files are, unless that is where the server is.
    ///   - authorities: a file of certificates to trust (PEM). Nil means those that the system trusts.
    public static func linux(
        server: URL, socket: URL, media: URL? = nil, authorities: String? = nil
    ) throws -> Transport {
        let http = try Endpoint(server.absoluteString, scheme: "http")
        let webSocket = try Endpoint(socket.absoluteString, scheme: "ws")
        let files = try Endpoint((media ?? server).absoluteString, scheme: "http")
        if http.isSecure || webSocket.isSecure || files.isSecure {
            try TLSContext.trust(authorities) { _, _ in }
            // OpenSSL writes without MSG_NOSIGNAL.
            signal(SIGPIPE, SIG_IGN)
        }
        ReactorThread.start()
        return reactor(http: [http], webSocket: [webSocket], media: [files])
    }

    /// For a program that runs the reactor itself.
    package static func reactor(http: [Endpoint], webSocket: [Endpoint], media: [Endpoint]) -> Transport {
        Transport(http: ReactorHTTP(http), webSocket: ReactorWebSocket(webSocket), media: ReactorHTTP(media))
    }
}

extension Parley.Configuration {
    /// - Parameters:
    ///   - server: such as `https://chat.example`.
    ///   - socket: where WebSockets are opened, unless that is at the same origin.
    ///   - media: where files are, unless that is at the same origin.
    ///   - authorities: a file of certificates to trust (PEM). Nil means those that the system trusts.
    public init(
        server: URL, socket: URL? = nil, media: URL? = nil, directory: URL, authorities: String? = nil,
        token: @escaping @Sendable () async throws -> String
    ) throws {
        self.init(
            directory: directory,
            transport: try .linux(
                server: server, socket: socket ?? Self.socket(of: server) ?? server, media: media,
                authorities: authorities),
            token: token)
    }
}

/// The thread that runs the reactor, one in the process.
private enum ReactorThread {
    private static let isStarted = Mutex(false)

    static func start() {
        let isFirst = isStarted.withLock { isStarted in
            defer { isStarted = true }
            return !isStarted
        }
        guard isFirst else { return }
        let thread = Thread { Reactor.run() }
        thread.name = "parley"
        thread.start()
    }
}

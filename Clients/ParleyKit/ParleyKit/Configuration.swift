import Foundation
import ParleyTransport

#if canImport(Darwin)
    import ParleyFoundationTransport
#endif

extension Parley {
    /// What `Parley.open` needs to know.
    public struct Configuration: Sendable {
        /// Where the copy is kept: a folder of this user's on this device, which is made if there is none.
        public var directory: URL
        /// How the server is reached.
        public var transport: Transport
        /// How many bytes of loaded files are kept on this device. Beyond, those go that nobody looked at for longest.
        public var fileBytes: Int64 = 1 << 30
        /// Gives the user's token, a fresh one each time. It is called when the server asks for one, never twice at once.
        public var token: @Sendable () async throws -> String

        public init(directory: URL, transport: Transport, token: @escaping @Sendable () async throws -> String) {
            self.directory = directory
            self.transport = transport
            self.token = token
        }

        /// The WebSocket of a server that has everything at one origin.
        public static func socket(of server: URL) -> URL? {
            var parts = URLComponents(url: server, resolvingAgainstBaseURL: true)
            parts?.scheme = server.scheme == "https" ? "wss" : "ws"
            parts?.path = "/v1/socket"
            return parts?.url
        }

        #if canImport(Darwin)
            /// - Parameters:
            ///   - server: such as `https://chat.example`.
            ///   - socket: where WebSockets are opened, unless that is at the same origin.
            ///   - media: where files are, unless that is at the same origin.
            public init(
                server: URL, socket: URL? = nil, media: URL? = nil, directory: URL,
                token: @escaping @Sendable () async throws -> String
            ) {
                self.init(
                    directory: directory,
                    transport: .platform(
                        server: server, socket: socket ?? Self.socket(of: server) ?? server, media: media),
                    token: token)
            }
        #endif

        var databasePath: String { directory.appendingPathComponent("parley.db").path }
    }
}

import ReactorTransport
import ServiceKit

/// The address of the system, an argument of all commands but `token`.
package struct ConnectionArguments: Sendable {
    package static let httpOptions: [CommandDescription.Option] = [
        .init(
            "http", "URL",
            "where ingest is; several by commas or repetition\n(default: PARLEY_HTTP, the system in PARLEY_STATE, or http://127.0.0.1:8080)"
        ),
        .init("ca-file", "FILE", "certificates to trust with https:// (default: PARLEY_CA_FILE, or the system's)"),
        TokenSource.option,
    ]
    package static let options =
        [
            CommandDescription.Option(
                "ws", "URL",
                "where fanout is; several by commas or repetition\n(default: PARLEY_WS, the origin of an https:// --http, the system in PARLEY_STATE,\nor ws://127.0.0.1:8081)"
            )
        ] + httpOptions

    /// For commands that send or read files.
    package static let mediaOption = CommandDescription.Option(
        "media", "URL",
        "where media is; several by commas or repetition\n(default: PARLEY_MEDIA, the origin of an https:// --http, the system in PARLEY_STATE,\nor http://127.0.0.1:8084)"
    )

    package let http: [Endpoint]
    package let webSocket: [Endpoint]
    package let media: [Endpoint]
    package let tokens: TokenSource

    /// - Parameter onRefusal: called with a sentence for the user when there can be no TLS with a server.
    package init(
        _ arguments: Arguments, onRefusal: @escaping @Sendable (String) -> Void = { Terminal.tell("parley: \($0)") }
    ) throws(UsageError) {
        var environment = Environment.process
        let system = SystemSettings(environment: environment)
        let named = [arguments.list("http"), environment.list("PARLEY_HTTP", default: ""), system.http]
        http = try Self.endpoints(named.first { !$0.isEmpty } ?? [], "http")
        // TLS ends at a proxy, which has one origin for both.
        let usual = http.allSatisfy(\.isSecure) ? http.map(\.webSocket.description) : system.webSocket
        let sockets = [arguments.list("ws"), environment.list("PARLEY_WS", default: ""), usual]
        webSocket = try Self.endpoints(sockets.first { !$0.isEmpty } ?? [], "ws")
        let files = http.allSatisfy(\.isSecure) ? http.map(\.description) : system.media
        let medias = [arguments.list("media"), environment.list("PARLEY_MEDIA", default: ""), files]
        media = try Self.endpoints(medias.first { !$0.isEmpty } ?? [], "http")
        tokens = try TokenSource(arguments)
        if (http + webSocket + media).contains(where: \.isSecure) {
            try Self.trust(
                arguments.value("ca-file") ?? environment.optionalString("PARLEY_CA_FILE"), onRefusal)
        }
    }

    private static func endpoints(
        _ urls: [String], _ scheme: String
    ) throws(UsageError) -> [Endpoint] {
        var endpoints: [Endpoint] = []
        do throws(InvalidEndpoint) {
            for url in urls { endpoints.append(try Endpoint(url, scheme: scheme)) }
        } catch {
            throw UsageError(error.description)
        }
        return endpoints
    }

    private static func trust(
        _ authorities: String?, _ onRefusal: @escaping @Sendable (String) -> Void
    ) throws(UsageError) {
        do throws(TLSError) {
            try TLSContext.trust(authorities) { onRefusal($1.sentence(about: $0)) }
        } catch {
            throw UsageError(error.description)
        }
    }
}

extension TLSRefusal {
    fileprivate func sentence(about endpoint: Endpoint) -> String {
        switch self {
        case .certificate(let reason): "refused the certificate of \(endpoint.host): \(reason) (see --ca-file)"
        case .absent:
            "what responds at \(endpoint.host):\(endpoint.port) does not speak TLS: try without the s of \(endpoint.scheme)://"
        }
    }
}

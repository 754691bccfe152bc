import ServiceKit

/// Where the system is, as all commands but `token` are told.
struct ConnectionArguments: Sendable {
    static let httpOptions: [CommandDescription.Option] = [
        .init(
            "http", "URL",
            "where ingest is; several by commas or repetition\n(default: PARLEY_HTTP, the system in PARLEY_STATE, or http://127.0.0.1:8080)"
        ),
        .init("ca-file", "FILE", "certificates to trust with https:// (default: PARLEY_CA_FILE, or the system's)"),
        TokenSource.option,
    ]
    static let options =
        [
            CommandDescription.Option(
                "ws", "URL",
                "where fanout is; several by commas or repetition\n(default: PARLEY_WS, the origin of an https:// --http, the system in PARLEY_STATE,\nor ws://127.0.0.1:8081)"
            )
        ] + httpOptions

    let http: [Endpoint]
    let webSocket: [Endpoint]
    let tokens: TokenSource

    init(_ arguments: Arguments) throws(UsageError) {
        var environment = Environment.process
        let system = SystemSettings(environment: environment)
        let named = [arguments.list("http"), environment.list("PARLEY_HTTP", default: ""), system.http]
        http = try Self.endpoints(named.first { !$0.isEmpty } ?? [], "http")
        // Where TLS ends there is a proxy, and it has one origin for both.
        let usual = http.allSatisfy(\.isSecure) ? http.map(\.webSocket.description) : system.webSocket
        let sockets = [arguments.list("ws"), environment.list("PARLEY_WS", default: ""), usual]
        webSocket = try Self.endpoints(sockets.first { !$0.isEmpty } ?? [], "ws")
        tokens = try TokenSource(arguments)
        if (http + webSocket).contains(where: \.isSecure) {
            try TLSContext.trust(arguments.value("ca-file") ?? environment.optionalString("PARLEY_CA_FILE"))
        }
    }

    private static func endpoints(
        _ urls: [String], _ scheme: String
    ) throws(UsageError) -> [Endpoint] {
        var endpoints: [Endpoint] = []
        for url in urls { endpoints.append(try Endpoint(url, scheme: scheme)) }
        return endpoints
    }
}

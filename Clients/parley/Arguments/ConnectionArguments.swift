import Reactor

/// Where the system is, as all commands but `token` are told.
struct ConnectionArguments: Sendable {
    static let options: [CommandDescription.Option] = [
        .init("http", "URL", "where ingest is (default http://127.0.0.1:8080); several by commas or repetition"),
        .init("ws", "URL", "where fanout is (default ws://127.0.0.1:8081); several by commas or repetition"),
        TokenSource.option,
    ]

    let http: [Endpoint]
    let webSocket: [Endpoint]
    let tokens: TokenSource

    init(_ arguments: Arguments) throws(UsageError) {
        http = try Self.endpoints(arguments.list("http"), "http", default: "http://127.0.0.1:8080")
        webSocket = try Self.endpoints(arguments.list("ws"), "ws", default: "ws://127.0.0.1:8081")
        tokens = try TokenSource(arguments)
    }

    private static func endpoints(
        _ urls: [String], _ scheme: String, default url: String
    ) throws(UsageError) -> [Endpoint] {
        var endpoints: [Endpoint] = []
        for url in urls.isEmpty ? [url] : urls { endpoints.append(try Endpoint(url, scheme: scheme)) }
        return endpoints
    }
}

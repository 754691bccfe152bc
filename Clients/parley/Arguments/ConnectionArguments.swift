/// Where the system is, as all commands but `token` are told.
struct ConnectionArguments: Sendable {
    static let httpOptions: [CommandDescription.Option] = [
        .init(
            "http", "URL",
            "where ingest is; several by commas or repetition\n(default: the system in PARLEY_STATE, or http://127.0.0.1:8080)"
        ),
        TokenSource.option,
    ]
    static let options =
        [
            CommandDescription.Option(
                "ws", "URL",
                "where fanout is; several by commas or repetition\n(default: the system in PARLEY_STATE, or ws://127.0.0.1:8081)"
            )
        ] + httpOptions

    let http: [Endpoint]
    let webSocket: [Endpoint]
    let tokens: TokenSource

    init(_ arguments: Arguments) throws(UsageError) {
        let system = SystemSettings(environment: .process)
        http = try Self.endpoints(arguments.list("http"), "http", default: system.http)
        webSocket = try Self.endpoints(arguments.list("ws"), "ws", default: system.webSocket)
        tokens = try TokenSource(arguments)
    }

    private static func endpoints(
        _ urls: [String], _ scheme: String, default usual: [String]
    ) throws(UsageError) -> [Endpoint] {
        var endpoints: [Endpoint] = []
        for url in urls.isEmpty ? usual : urls { endpoints.append(try Endpoint(url, scheme: scheme)) }
        return endpoints
    }
}
